"""From a file, the environment and the flags of a command to the settings in force.

    defaults  <  file  <  environment  <  flags

- A file is `.properties` in Java's syntax, or TOML where its name ends in `.toml`: keys quoted
  ("log.retention.ms" = 60000), dotted, or in nested tables. Kafka's own `server.properties` is accepted.
- Of the environment, RIVERLOG_LOG_RETENTION_MS stands for log.retention.ms. Variables that begin with
  KAFKA_ are not read: they belong to a Kafka, or to its tools, on the same machine. One that begins with
  RIVERLOG_ and resembles no setting belongs to somebody else too, and is named in a warning; one that
  does resemble a setting is a slip, and refused.
- Flags are NAME=VALUE texts (`--set`); `--port` and `--data` are short for `port` and `log.dirs`.

Every problem is found before any is reported. What Kafka knows and riverlog does not honour ends up
in one warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from riverlog.config.effective import BrokerConfig, Given, Layer, Source, effective_config
from riverlog.config.known import ONLY_ACCEPTED, WITHOUT_EFFECT, why_without_effect
from riverlog.config.problems import each_problem, raise_problems, resembling, unknown_setting
from riverlog.config.properties import read_properties
from riverlog.config.table import BROKER_NAMES, ENVIRONMENT_PREFIX, environment_name
from riverlog.errors import ConfigError

FILE_VARIABLE: Final = "RIVERLOG_CONFIG"
"""The variable that names the configuration file where no flag does."""


def load_config(
    *,
    file: str | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
    port: int | None = None,
    data: str | None = None,
) -> BrokerConfig:
    """Read every source and work out the settings.

    `environment` is the process's (os.environ) or a test's. Raises ConfigError, or CombinedConfigError where
    there are several, for unknown names, values that are not accepted and values that contradict each other.
    """
    environment = environment or {}
    problems: list[ConfigError] = []
    foreign: list[str] = []
    file = file or environment.get(FILE_VARIABLE)
    given_by_source: list[Iterable[Given]] = [
        _from_file(file, problems) if file else (),
        _from_environment(environment, problems, foreign),
        _from_flags(flags, problems),
        _from_shortcuts(port, data),
    ]
    layers: list[Layer] = []
    ignored: dict[str, str] = {}
    for source in given_by_source:
        layer: dict[str, Given] = {}
        for given in source:
            _sort_in(given, layer, ignored, problems)
        layers.append(layer)
    config: BrokerConfig | None = None
    try:
        config = effective_config(layers, warnings=[*_warnings(ignored), *_warning_of(foreign)])
    except ConfigError as error:
        problems.extend(each_problem(error))
    raise_problems(problems)
    assert config is not None, "no problem was found"
    return config


def _sort_in(
    given: Given, layer: dict[str, Given], ignored: dict[str, str], problems: list[ConfigError]
) -> None:
    """Put a given value where it belongs: to the settings, the warning or the problems."""
    name = given.name
    reason = why_without_effect(name)
    if name in BROKER_NAMES:
        layer[name] = given
    elif name in ONLY_ACCEPTED:
        accepted, why = ONLY_ACCEPTED[name]
        if given.text.strip() != accepted:
            problems.append(ConfigError(name, given.text, why, source=given.where))
    elif reason:
        ignored[name] = reason
    else:
        known = (*BROKER_NAMES, *WITHOUT_EFFECT)
        problems.append(unknown_setting(name, given.text, known, source=given.where))


def _warnings(ignored: Mapping[str, str]) -> list[str]:
    if not ignored:
        return []
    by_reason: dict[str, list[str]] = {}
    for name, reason in sorted(ignored.items()):
        by_reason.setdefault(reason, []).append(name)
    named = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in by_reason.items())
    count = "1 setting has" if len(ignored) == 1 else f"{len(ignored)} settings have"
    return [f"{count} no effect here: {named}"]


def _from_file(path: str, problems: list[ConfigError]) -> list[Given]:
    try:
        content = Path(path).read_bytes()
        if path.endswith(".toml"):
            return list(_toml(content.decode(), path))
        return [
            Given(key, value, Source.STATIC, f"{path}, line {line}")
            for key, value, line in read_properties(content.decode())
        ]
    except OSError as error:
        problems.append(ConfigError("--config", path, f"a file that can be read ({error.strerror})"))
    except ValueError as error:  # not UTF-8, a broken escape, or not TOML
        problems.append(ConfigError("--config", path, f"a file of settings ({error})"))
    return []


def _toml(content: str, path: str) -> Iterator[Given]:
    import tomllib  # 10 ms that only a start from such a file pays

    for name, value in _flattened("", tomllib.loads(content)):
        yield Given(name, _toml_text(name, value), Source.STATIC, path)


def _flattened(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", value


def _toml_text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    raise ValueError(f"{name} must be a text, a number, a boolean or a list of texts")


def _warning_of(foreign: Sequence[str]) -> list[str]:
    """Name the variables that are not settings."""
    return [f"not settings, and not read: {', '.join(foreign)}"] if foreign else []


def _from_environment(
    environment: Mapping[str, str], problems: list[ConfigError], foreign: list[str]
) -> Iterator[Given]:
    names = {environment_name(name): name for name in (*WITHOUT_EFFECT, *ONLY_ACCEPTED, *BROKER_NAMES)}
    for variable, text in sorted(environment.items()):
        if variable.startswith(ENVIRONMENT_PREFIX) and variable != FILE_VARIABLE:
            where = f"environment variable {variable}"
            if variable in names:
                yield Given(names[variable], text, Source.STATIC, where)
            elif resembling(variable.removeprefix(ENVIRONMENT_PREFIX), _without_prefix(names)):
                problems.append(unknown_setting(variable, text, names, what="variable"))
            else:
                foreign.append(variable)


def _without_prefix(variables: Iterable[str]) -> list[str]:
    """Compare names by what tells them apart: all begin alike, so all resemble each other."""
    return [variable.removeprefix(ENVIRONMENT_PREFIX) for variable in variables]


def _from_flags(flags: Iterable[str], problems: list[ConfigError]) -> Iterator[Given]:
    for flag in flags:
        name, equals, text = flag.partition("=")
        if equals:
            yield Given(name.strip(), text, Source.STATIC, "--set")
        else:
            problems.append(ConfigError("--set", flag, "NAME=VALUE"))


def _from_shortcuts(port: int | None, data: str | None) -> Iterator[Given]:
    """A layer above `--set`, so that `--port` counts beside `--set listeners=...` too."""
    if port is not None:
        yield Given("port", str(port), Source.STATIC, "--port")
    if data is not None:
        yield Given("log.dirs", data, Source.STATIC, "--data")
