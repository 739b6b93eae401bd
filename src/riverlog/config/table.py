"""The table of settings, collected from the dataclasses: a row per setting, found by any of its names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from riverlog.config.kinds import Kind
from riverlog.config.setting import Dynamic, Setting
from riverlog.config.settings import BrokerSettings

ENVIRONMENT_PREFIX: Final = "RIVERLOG_"


class Row(NamedTuple):
    """One setting with its place: `getattr(settings, section).attribute`."""

    section: str
    attribute: str
    setting: Setting

    @property
    def names(self) -> tuple[str, ...]:
        """The broker's names for it; where several are given, the first one counts."""
        if self.setting.name is None:
            return ()
        return (self.setting.name, *(alternative.name for alternative in self.setting.alternatives))

    def kind_of(self, name: str) -> Kind[Any]:
        """Say what values the setting takes under one of its names."""
        for alternative in self.setting.alternatives:
            if alternative.name == name:
                return alternative.kind
        return self.setting.kind

    def dynamic_of(self, name: str) -> Dynamic:
        """Say whether the setting may change live under that name: only under its first."""
        return self.setting.dynamic if name == self.setting.name else Dynamic.READ_ONLY

    def default_text(self, name: str) -> str | None:
        """Write the default as that name shows it; None where another name carries the default."""
        setting = self.setting
        for alternative in setting.alternatives:
            if alternative.name == name and not alternative.is_same:
                return alternative.default_text
        if any(alternative.default_text is not None for alternative in setting.alternatives):
            return None
        text: str | None = setting.kind.format(setting.default)
        return text

    def value_from(self, name: str, text: str) -> Any:
        """Read the setting's value from text given under one of its names; raise ValueError if refused."""
        for alternative in self.setting.alternatives:
            if alternative.name == name:
                return alternative.convert(alternative.kind.parse(text))
        return self.setting.kind.parse(text)


def _rows() -> Iterator[Row]:
    for section in fields(BrokerSettings):
        for field in fields(section.default_factory):  # type: ignore[arg-type]  # it is the section's class
            yield Row(section.name, field.name, field.metadata["setting"])


ROWS: Final[tuple[Row, ...]] = tuple(_rows())
"""Every setting, in the order of the sections and their fields."""

BROKER_NAMES: Final[Mapping[str, Row]] = MappingProxyType({name: row for row in ROWS for name in row.names})
"""Every name that a file, flag or variable may use, with its setting."""


def environment_name(name: str) -> str:
    """Give the environment variable of a setting: `log.retention.ms` -> `RIVERLOG_LOG_RETENTION_MS`."""
    return ENVIRONMENT_PREFIX + name.upper().replace(".", "_")
