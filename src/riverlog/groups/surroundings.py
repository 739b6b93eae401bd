"""What groups see of the broker around them: its settings, and the topics that exist.

Both change while the broker runs; a decision is made on what they are at its time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from riverlog.config import ConsumerGroupSettings, GroupConfig, GroupSettings, group_config


class Topic(Protocol):
    """A topic that exists."""

    @property
    def name(self) -> str:
        """Its name, which can be used again."""

    @property
    def topic_id(self) -> bytes:
        """Its id, which cannot."""

    @property
    def partitions(self) -> Sequence[object]:
        """As many as it has partitions."""


class Topics(Protocol):
    """The topics that exist at one moment."""

    @property
    def topics(self) -> Mapping[str, Topic]:
        """By name."""

    @property
    def topics_by_id(self) -> Mapping[bytes, Topic]:
        """By id."""


class NoTopics:
    """No topics at all."""

    topics: Mapping[str, Topic] = MappingProxyType({})
    topics_by_id: Mapping[bytes, Topic] = MappingProxyType({})


def _no_overrides(_group_id: str) -> Mapping[str, str]:
    return {}


@dataclass(slots=True)
class Surroundings:
    """The present ones; replaced part by part, by whoever owns the machines."""

    settings: GroupSettings
    consumer: ConsumerGroupSettings = field(default_factory=ConsumerGroupSettings)
    topics: Topics = field(default_factory=NoTopics)
    overrides: Callable[[str], Mapping[str, str]] = _no_overrides
    """A group's own settings, as text."""

    _config: tuple[ConsumerGroupSettings, GroupConfig] | None = None
    """What holds for groups without settings of their own, and what it was worked out from."""

    def config_of(self, group_id: str) -> GroupConfig:
        """Give the settings that hold for one group."""
        overrides = self.overrides(group_id)
        if overrides:
            return group_config(self.consumer, overrides)
        if self._config is None or self._config[0] is not self.consumer:
            self._config = (self.consumer, group_config(self.consumer, {}))
        return self._config[1]
