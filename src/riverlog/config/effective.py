"""The settings in force: layers of given values, and what comes out of them.

    strongest  dynamic, this broker  >  dynamic, cluster  >  flags  >  environment  >  file  >  default

A layer holds what one source gave: name -> text, with the place it came from. A stronger layer wins
under whichever name it uses: a flag `log.retention.hours` beats a file's `log.retention.ms`. Within one
layer the finer unit counts, as in Apache Kafka: `.ms` before `.minutes` before `.hours`.

Nothing here knows files, variables or the clock; the same layers always give the same settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any, NamedTuple

from riverlog.config.checks import check_broker_settings
from riverlog.config.problems import raise_problems
from riverlog.config.settings import BrokerSettings
from riverlog.config.table import BROKER_NAMES, ROWS, Row
from riverlog.errors import ConfigError


class Source(IntEnum):
    """The number by which DescribeConfigs names where a value comes from."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_CLUSTER = 3
    STATIC = 4
    DEFAULT = 5
    CLIENT_METRICS = 7
    GROUP = 8


class Given(NamedTuple):
    """A value as somebody gave it."""

    name: str
    text: str
    source: Source
    where: str
    """For people: a file and line, a variable, a flag."""


Layer = Mapping[str, Given]
"""What one source gave, by name."""


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """A broker's settings together with the story of each value."""

    settings: BrokerSettings
    static_layers: tuple[Layer, ...]
    """What the start was given, weakest first; the defaults are no layer."""
    dynamic_layers: tuple[Layer, ...] = ()
    """What was altered since, for the cluster and for this broker."""
    warnings: tuple[str, ...] = ()
    """What the operator should read at the start."""

    def chain(self, row: Row) -> list[Given]:
        """List what was given for a setting under its names, the value in force first.

        A value under a finer name that a stronger layer overruled is left out: `log.retention.ms` of a
        file, where a flag said `log.retention.hours`.
        """
        return _chain(row, (*self.static_layers, *self.dynamic_layers))


def effective_config(
    static_layers: Iterable[Layer],
    dynamic_layers: Iterable[Layer] = (),
    warnings: Iterable[str] = (),
) -> BrokerConfig:
    """Work out the settings that layers of known names lead to.

    Raises ConfigError for a value that is not accepted; CombinedConfigError where there are several.
    """
    static_layers, dynamic_layers = tuple(static_layers), tuple(dynamic_layers)
    layers = (*static_layers, *dynamic_layers)
    problems = [problem for layer in layers for problem in (*_refused(layer), *_contradicted(layer))]
    raise_problems(problems)
    changed: dict[str, dict[str, Any]] = {}
    for row in ROWS:
        chain = _chain(row, layers)
        if chain:
            changed.setdefault(row.section, {})[row.attribute] = row.value_from(chain[0].name, chain[0].text)
    settings = _without_controller_listeners(_with_values(changed))
    raise_problems(check_broker_settings(settings, _places(layers)))
    return BrokerConfig(settings, static_layers, dynamic_layers, tuple(warnings))


def _chain(row: Row, layers: Sequence[Layer]) -> list[Given]:
    names = row.names
    chain: list[Given] = []
    for layer in reversed(layers):
        chain += [layer[name] for name in names if name in layer]
        if chain:
            names = row.names[row.names.index(chain[0].name) :]
    return chain


def _refused(layer: Layer) -> Iterator[ConfigError]:
    """Check every given value, those that are overruled too: each is somebody's mistake."""
    for given in layer.values():
        kind = BROKER_NAMES[given.name].kind_of(given.name)
        try:
            kind.parse(given.text)
        except ValueError:
            yield ConfigError(given.name, given.text, kind.accepted, source=given.where)


def _contradicted(layer: Layer) -> Iterator[ConfigError]:
    """Check that two names for the same thing do not say different things in one place."""
    for given in layer.values():
        row = BROKER_NAMES[given.name]
        first = layer.get(row.names[0])
        is_same = any(other.is_same for other in row.setting.alternatives if other.name == given.name)
        if is_same and first and given.text.strip() != first.text.strip():
            accepted = f"the same as {first.name}, which is {first.text}"
            yield ConfigError(given.name, given.text, accepted, source=given.where)


def _with_values(changed: Mapping[str, Mapping[str, Any]]) -> BrokerSettings:
    settings = BrokerSettings()
    sections = {name: replace(getattr(settings, name), **values) for name, values in changed.items()}
    assert sections.keys() <= {field.name for field in fields(settings)}
    return replace(settings, **sections)


def _without_controller_listeners(settings: BrokerSettings) -> BrokerSettings:
    network = settings.network
    closed = {name.upper() for name in network.controller_listener_names}
    if not closed:
        return settings
    advertised = network.advertised_listeners
    network = replace(
        network,
        listeners=tuple(listener for listener in network.listeners if listener.name not in closed),
        advertised_listeners=advertised
        and tuple(listener for listener in advertised if listener.name not in closed),
    )
    return replace(settings, network=network)


def _places(layers: Iterable[Layer]) -> dict[str, str]:
    """Say for each attribute of the settings where its value came from, for the texts of the checks."""
    places: dict[str, str] = {}
    for layer in layers:
        for given in layer.values():
            places[BROKER_NAMES[given.name].setting.name or ""] = given.where
    return places
