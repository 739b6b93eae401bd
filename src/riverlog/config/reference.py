"""The reference page of settings, written from the table: `docs/reference/settings.md`.

    python -m riverlog.config.reference > docs/reference/settings.md

A test compares the page with the table, so neither can be changed alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from riverlog.config.known import ONLY_ACCEPTED, PLUGIN_PREFIXES, WITHOUT_EFFECT
from riverlog.config.setting import Dynamic, Setting
from riverlog.config.settings import BrokerSettings
from riverlog.config.table import ROWS, Row

_INTRODUCTION: Final = """\
# Settings

<!-- Written by `python -m riverlog.config.reference`: change the table in src/riverlog/config instead. -->

Settings carry Apache Kafka's names, defaults and bounds (those of version 4.3). A default that differs
names Kafka's beside it, and *riverlog's own* marks what Kafka does not have.

## Where a value comes from

From weakest to strongest; a stronger place wins, whichever of a setting's names it uses:

1. the default;
2. the file given by `--config FILE` or `RIVERLOG_CONFIG`: Java's `.properties` syntax, in which Kafka's own
   `server.properties` is accepted, or TOML where the name ends in `.toml`
   ([examples](../examples/riverlog.properties) [of both](../examples/riverlog.toml));
3. the environment: `RIVERLOG_LOG_RETENTION_MS` stands for `log.retention.ms`, and so for every setting.
   Variables that begin with `KAFKA_` are not read: they belong to a Kafka, or its tools, on the same
   machine;
4. flags: `--set NAME=VALUE`, as often as needed;
5. `--port N`, short for `port`, and `--data DIRECTORY`, short for `log.dirs`;
6. what was altered while the broker runs, for all brokers, then for one.

Where one place gives a setting under several names, the first named below counts: `log.retention.ms` before
`.minutes` before `.hours`. `riverlog config show` says where each value came from.

All values are checked before the broker starts, and every problem is reported at once. A name that nobody
knows is refused. A name that Kafka knows and riverlog does not honour is listed in one warning at the
start, and [at the end of this page](#known-to-kafka-without-effect-here).

**Live** says whether a setting may change while the broker runs, through `kafka-configs` or any admin
client: *yes* for all brokers or for one, *start* only by starting again. A setting with a topic name may
also be set for a single topic, at any time, under that name.
"""


def settings_page() -> str:
    """Write the whole page."""
    return "\n".join((_INTRODUCTION, *_sections(), *_without_effect()))


def _sections() -> Iterator[str]:
    for section in fields(BrokerSettings):
        described = section.default_factory.__doc__
        title = section.name.replace("_", " ").capitalize()
        yield f"## {title}\n"
        yield f"{(described or '').splitlines()[0]}\n"
        yield "| Setting | What it does | Default | Accepted | Live |"
        yield "|---|---|---|---|---|"
        for row in ROWS:
            if row.section == section.name:
                yield f"| {' | '.join(_cells(row))} |"
        yield ""


def _cells(row: Row) -> tuple[str, ...]:
    declared = row.setting
    return (
        "<br>".join(_names(row)),
        declared.doc + (" *riverlog's own.*" if declared.is_ours else ""),
        _default(declared),
        _accepted(row),
        "start" if declared.dynamic is Dynamic.READ_ONLY and declared.name else "yes",
    )


def _names(row: Row) -> Iterator[str]:
    names = [f"`{name}`" for name in row.names]
    if names:
        yield f"**{names[0]}**"
        yield from (f"or {name}" for name in names[1:])
    if row.setting.topic_name:
        yield f"topic: `{row.setting.topic_name}`"


def _default(declared: Setting) -> str:
    text = declared.kind.format(declared.default)
    if text is None:
        shown = "none"
    else:
        readable = _readable(declared.default, declared.kind.unit)
        shown = (f"`{text}`" if text else "empty") + (f" ({readable})" if readable else "")
    return shown + (f"; Kafka's: {declared.kafka_default}" if declared.kafka_default else "")


def _accepted(row: Row) -> str:
    declared = row.setting
    lines = [declared.kind.accepted + (f" ({declared.kind.unit})" if declared.kind.unit else "")]
    if declared.topic_kind is not declared.kind:
        lines.append(f"for a topic: {declared.topic_kind.accepted}")
    lines += [
        f"`{alternative.name}`: {alternative.kind.accepted}"
        for alternative in declared.alternatives
        if not alternative.is_same
    ]
    return "<br>".join(lines).replace("|", "\\|")


_SCALES: Final = {
    "ms": ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")),
    "bytes": ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")),
    "minutes": ((1440, "d"), (60, "h")),
}


def _readable(value: object, unit: str) -> str:
    """Say a whole number of a larger unit: 604800000 ms are 7 d. Nothing where it does not come out even."""
    if not isinstance(value, int) or value <= 0:
        return ""
    return next((f"{value // size} {name}" for size, name in _SCALES.get(unit, ()) if value % size == 0), "")


def _without_effect() -> Iterator[str]:
    yield "## Known to Kafka, without effect here\n"
    yield "These are accepted in a file, a flag or a variable, and named in the warning.\n"
    by_reason: dict[str, list[str]] = {}
    for name, reason in WITHOUT_EFFECT.items():
        by_reason.setdefault(reason, []).append(f"`{name}`")
    for reason, names in by_reason.items():
        yield f"- **{reason[0].upper()}{reason[1:]}**: {', '.join(names)}"
    prefixes = ", ".join(f"`{prefix}*`" for prefix in PLUGIN_PREFIXES)
    yield f"- **Plug-ins are not loaded**: {prefixes}"
    yield "\nThese are refused unless they have the one value that keeps its promise:\n"
    for name, (accepted, why) in ONLY_ACCEPTED.items():
        yield f"- `{name}`: {f'`{accepted}`' if accepted else 'empty'}; {why}"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(settings_page())
