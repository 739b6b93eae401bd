"""Settings that change while the broker runs: pure functions over the stored overrides.

Overrides are kept elsewhere, as dictionaries name -> text:

    a topic's             {"retention.ms": "60000"}         on top of the broker's defaults
    a group's             {"consumer.session.timeout.ms": "60000"}       the same
    the cluster's         {"log.retention.ms": "60000"}     for every broker
    one broker's          the same names                    for it alone, and stronger

A few of a broker's are numbers that mean nothing here (`known.KEPT_WHEN_ALTERED`): kept, and passed over.

`alter_topic`, `alter_group` and `alter_broker` work out what the overrides become, or refuse the change as a
whole.
`with_dynamic` turns them into settings: make a new BrokerConfig and hand its sections to the rooms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from math import isfinite
from typing import Final, NamedTuple

from riverlog.config.effective import BrokerConfig, Given, Layer, Source, effective_config
from riverlog.config.group import GROUP_NAMES, broker_value, group_config
from riverlog.config.kinds import Kind, ListKind, split_list
from riverlog.config.known import KEPT_WHEN_ALTERED, why_without_effect
from riverlog.config.problems import raise_problems, unknown_setting
from riverlog.config.setting import Dynamic
from riverlog.config.settings import ConsumerGroupSettings
from riverlog.config.table import BROKER_NAMES
from riverlog.config.topic import TOPIC_NAMES, TopicSettings, topic_settings
from riverlog.errors import ConfigError

DYNAMIC_NAMES: Final = frozenset(
    name for name, row in BROKER_NAMES.items() if row.dynamic_of(name) is not Dynamic.READ_ONLY
)
"""The broker's settings that may change live, by the one name under which each may."""


class Operation(IntEnum):
    """What IncrementalAlterConfigs asks for, by its number there."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    """One change to one setting. DELETE takes no value, APPEND and SUBTRACT take list items."""

    name: str
    operation: Operation
    value: str | None = None


def with_dynamic(config: BrokerConfig, cluster: Mapping[str, str], broker: Mapping[str, str]) -> BrokerConfig:
    """Overlay the dynamic overrides on what the start was given; earlier dynamic ones are dropped.

    Raises ConfigError for a name that may not change live or a value that is not accepted.
    """
    cluster, broker = _with_effect(cluster), _with_effect(broker)
    overrides = {**cluster, **broker}
    raise_problems([_refusal(name, text) for name, text in overrides.items() if name not in DYNAMIC_NAMES])
    layers = (
        _layer(cluster, Source.DYNAMIC_CLUSTER, "altered for the cluster"),
        _layer(broker, Source.DYNAMIC_BROKER, "altered for this broker"),
    )
    return effective_config(config.static_layers, layers, config.warnings)


def alter_topic(
    defaults: TopicSettings, overrides: Mapping[str, str], changes: Iterable[Change]
) -> dict[str, str]:
    """Work out a topic's overrides after some changes.

    Raises ConfigError when a name is unknown, a value is not accepted, or the outcome contradicts itself.
    Deleting what is not set is no error, even under an unknown name: so it can always be got rid of.
    """
    altered = dict(overrides)
    for change in changes:
        if change.operation is Operation.DELETE:
            altered.pop(change.name, None)
        elif change.name not in TOPIC_NAMES:
            raise unknown_setting(change.name, change.value, TOPIC_NAMES, what="topic setting")
        else:
            attribute, declared = TOPIC_NAMES[change.name]
            kind = declared.topic_kind
            inherited = kind.format(getattr(defaults, attribute))
            altered[change.name] = _changed(change, kind, altered.get(change.name, inherited))
    topic_settings(defaults, altered)
    return altered


def alter_group(
    settings: ConsumerGroupSettings, overrides: Mapping[str, str], changes: Iterable[Change]
) -> dict[str, str]:
    """Work out a group's overrides after some changes.

    Raises ConfigError when a name is unknown, a value is not accepted or outside the broker's bounds, or a
    session would end before a heartbeat is due. Deleting what is not set is no error.
    """
    altered = dict(overrides)
    for change in changes:
        if change.operation is Operation.DELETE:
            altered.pop(change.name, None)
            continue
        if change.name not in GROUP_NAMES:
            raise unknown_setting(change.name, change.value, GROUP_NAMES, what="group setting")
        name = GROUP_NAMES[change.name]
        text = altered[change.name] = _changed(change, name.kind, altered.get(change.name))
        lowest, highest = broker_value(settings, name.lowest), broker_value(settings, name.highest)
        if not lowest <= name.kind.parse(text) <= highest:
            raise ConfigError(
                change.name,
                text,
                f"a value from {name.lowest}, which is {lowest}, to {name.highest}, which is {highest}",
            )
    config = group_config(settings, altered)
    if config.session_timeout_ms <= config.heartbeat_interval_ms:
        raise ConfigError(
            "consumer.session.timeout.ms",
            config.session_timeout_ms,
            f"more than consumer.heartbeat.interval.ms, which is {config.heartbeat_interval_ms}",
        )
    return altered


def alter_broker(
    config: BrokerConfig,
    cluster: Mapping[str, str],
    broker: Mapping[str, str],
    changes: Iterable[Change],
    *,
    for_cluster: bool,
) -> dict[str, str]:
    """Work out the cluster's overrides (`for_cluster`), or else this broker's, after some changes.

    Raises ConfigError when a name is unknown or may not change live, a value is not accepted, or the
    settings that would result contradict each other.
    """
    altered = dict(cluster if for_cluster else broker)
    for change in changes:
        if change.operation is Operation.DELETE:
            altered.pop(change.name, None)
        elif change.name in KEPT_WHEN_ALTERED:
            altered[change.name] = _kept(change)
        elif change.name not in DYNAMIC_NAMES:
            raise _refusal(change.name, change.value)
        else:
            row = BROKER_NAMES[change.name]
            beneath = with_dynamic(config, {} if for_cluster else cluster, {}).settings
            inherited = row.setting.kind.format(getattr(getattr(beneath, row.section), row.attribute))
            altered[change.name] = _changed(change, row.setting.kind, altered.get(change.name, inherited))
    with_dynamic(config, altered if for_cluster else cluster, broker if for_cluster else altered)
    return altered


def _changed(change: Change, kind: Kind[object], current: str | None) -> str:
    """Give the text that an override becomes by SET, APPEND or SUBTRACT."""
    if change.value is None:
        raise ConfigError(change.name, None, kind.accepted)
    if change.operation is Operation.SET:
        text = change.value
    elif not isinstance(kind, ListKind):
        verb = change.operation.name
        raise ConfigError(change.name, change.value, f"SET or DELETE: {verb} is for lists, and this is none")
    else:
        text = ",".join(_LIST_CHANGES[change.operation](split_list(current or ""), split_list(change.value)))
    try:
        return kind.canonical(text) or ""
    except ValueError:
        raise ConfigError(change.name, change.value, kind.accepted) from None


_LIST_CHANGES: Final[dict[Operation, Callable[[list[str], list[str]], list[str]]]] = {
    Operation.APPEND: lambda current, items: current + [item for item in items if item not in current],
    Operation.SUBTRACT: lambda current, items: [item for item in current if item not in items],
}


def _kept(change: Change) -> str:
    """Give the text to keep of a number that means nothing here."""
    text = (change.value or "").strip()
    try:
        is_number = change.operation is Operation.SET and isfinite(float(text))
    except ValueError:
        is_number = False
    if not is_number:
        raise ConfigError(change.name, change.value, "a number")
    return text


def _with_effect(overrides: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in overrides.items() if name not in KEPT_WHEN_ALTERED}


def _layer(overrides: Mapping[str, str], source: Source, where: str) -> Layer:
    return {name: Given(name, text, source, where) for name, text in overrides.items()}


def _refusal(name: str, value: str | None) -> ConfigError:
    """Say why a broker's setting cannot be altered."""
    reason = why_without_effect(name)
    if reason:
        return ConfigError(name, value, f"a setting that has an effect; this one has none, since {reason}")
    if name not in BROKER_NAMES:
        return unknown_setting(name, value, DYNAMIC_NAMES)
    first = BROKER_NAMES[name].names[0]
    if first in DYNAMIC_NAMES:
        return ConfigError(
            name, value, f"{first}, the name under which this may change while the broker runs"
        )
    return ConfigError(
        name, value, "a setting that may change while the broker runs; this one is read at the start"
    )
