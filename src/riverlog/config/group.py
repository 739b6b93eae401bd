"""A group's own settings: the broker's defaults overlaid by what was set for the group (KIP-848).

    group_config(broker.consumer_groups, {"consumer.session.timeout.ms": "50000"}).session_timeout_ms == 50000

A value has to lie between the broker's bounds when it is set. Should the bounds change later, it counts as
the nearest one that they allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from riverlog.config.kinds import Kind
from riverlog.config.settings import ConsumerGroupSettings
from riverlog.config.table import BROKER_NAMES


class GroupConfig(NamedTuple):
    """The settings that hold for one group."""

    session_timeout_ms: int
    """A member that is silent for this long is taken out."""
    heartbeat_interval_ms: int
    """How often members are told to report."""
    assignment_interval_ms: int
    """How long an assignment is kept before the next one is worked out."""


class GroupName(NamedTuple):
    """A setting of groups, and what stands behind it."""

    name: str
    default: str
    """The broker's setting that holds where the group has none of its own."""
    lowest: str
    highest: str

    @property
    def kind(self) -> Kind[Any]:
        """What values it has."""
        return BROKER_NAMES[self.default].setting.kind


GROUP_NAMES: Final = {
    f"consumer.{what}": GroupName(
        f"consumer.{what}",
        f"group.consumer.{what}",
        f"group.consumer.min.{what}",
        f"group.consumer.max.{what}",
    )
    for what in ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")
}


def group_config(settings: ConsumerGroupSettings, overrides: Mapping[str, str]) -> GroupConfig:
    """Work out a group's settings."""
    return GroupConfig(*(_value(settings, name, overrides) for name in GROUP_NAMES.values()))


def broker_value(settings: ConsumerGroupSettings, name: str) -> int:
    """Give the value of one of the broker's settings for such groups."""
    value: int = getattr(settings, BROKER_NAMES[name].attribute)
    return value


def _value(settings: ConsumerGroupSettings, name: GroupName, overrides: Mapping[str, str]) -> int:
    if name.name not in overrides:
        return broker_value(settings, name.default)
    value: int = name.kind.parse(overrides[name.name])
    return max(broker_value(settings, name.lowest), min(value, broker_value(settings, name.highest)))
