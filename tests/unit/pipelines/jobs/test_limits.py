"""How far a query may read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riverlog.pipelines.jobs.limited_source import LimitedReader
from riverlog.pipelines.jobs.limits import HOLD, ends_of, is_held, limited, until
from riverlog.pipelines.jobs.state_directory import VersionState
from riverlog.pipelines.source.offsets import Offsets
from riverlog.types import TopicPartition

ONE, TWO = TopicPartition("clicks", 0), TopicPartition("clicks", 1)
START = Offsets({ONE: 5, TWO: 5})


def test_a_batch_ends_where_reading_is_to_end() -> None:
    assert limited(START, Offsets({ONE: 9, TWO: 9}), {ONE: 7, TWO: 20}) == Offsets({ONE: 7, TWO: 9})


def test_a_batch_never_ends_before_its_start() -> None:
    assert limited(START, Offsets({ONE: 9, TWO: 9}), {ONE: 3, TWO: 3}) is START


def test_nothing_is_read_of_a_partition_that_is_not_named() -> None:
    assert limited(START, Offsets({ONE: 9, TWO: 9}), {ONE: 9}) == Offsets({ONE: 9, TWO: 5})


def test_a_partition_that_is_new_waits_until_it_may_be_read() -> None:
    end = Offsets({ONE: 5, TWO: 5, TopicPartition("clicks", 2): 4}, {TopicPartition("clicks", 2): 0})

    assert limited(START, end, {ONE: 5, TWO: 5}) is START


def test_a_first_batch_keeps_where_it_begins() -> None:
    first = Offsets({ONE: 9, TWO: 9}, {ONE: 2, TWO: 2})

    assert limited(Offsets({ONE: 2, TWO: 2}), first, {ONE: 7, TWO: 1}) == Offsets(
        {ONE: 7, TWO: 2}, {ONE: 2, TWO: 2}
    )


def test_limits_are_told_by_source() -> None:
    limits = until({"clicks": {"clicks": {0: 7}}})

    assert ends_of(limits, "clicks") == {ONE: 7}
    assert ends_of(limits, "views") is None
    assert not is_held(limits)
    assert is_held(HOLD)


class Growing:
    """A reader whose topic has grown to ten."""

    def latestOffset(self, start: dict[str, Any], limit: object) -> dict[str, Any]:  # noqa: N802  # Spark's name
        return {"clicks": {"0": 10}}

    def commit(self, end: dict[str, Any]) -> None:
        """Take note."""


def test_a_reader_asks_for_its_limits_each_time(tmp_path: Path) -> None:
    state = VersionState(tmp_path, "shop", "clicks", 1)
    reader = LimitedReader(Growing(), state.limits, "clicks")
    start = {"clicks": {"0": 4}}

    def end() -> dict[str, Any]:
        return reader.latestOffset(start, None)  # type: ignore[arg-type]  # the fake takes no limit

    assert end() == {"clicks": {"0": 10}}
    state.limit(HOLD)
    assert end() is start
    state.limit(until({"clicks": {"clicks": {0: 6}}}))
    assert end() == {"clicks": {"0": 6}}
    state.limit(until({"clicks": {"clicks": {0: 4}}}))
    assert end() is start
    state.limit(None)
    assert end() == {"clicks": {"0": 10}}
