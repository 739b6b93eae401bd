"""Conversions from the coarser units."""

from __future__ import annotations

import dataclasses

from riverlog.config.kinds import Boolean
from riverlog.config.setting import Setting, from_hours, from_minutes, setting


def test_hours_and_minutes_become_milliseconds() -> None:
    assert (from_hours(168), from_minutes(2)) == (604_800_000, 120_000)


def test_no_limit_stays_no_limit_in_any_unit() -> None:
    assert (from_hours(-1), from_minutes(-1)) == (-1, -1)


def test_a_field_carries_its_declaration() -> None:
    @dataclasses.dataclass(frozen=True)
    class Example:
        is_on: bool = setting("example.enable", Boolean(), True, doc="Turn it\n    on.")

    declared = dataclasses.fields(Example)[0].metadata["setting"]

    assert Example().is_on
    assert isinstance(declared, Setting)
    assert (declared.name, declared.default, declared.doc) == ("example.enable", True, "Turn it on.")
    assert declared.topic_kind is declared.kind
