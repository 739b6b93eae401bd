"""What an example is: its topics, its pipeline, data to feed it, and what must come out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = dict[str, Any]
"""A row by the names of its columns; a time is a `datetime` with its zone, in whole milliseconds."""

FAR = datetime(2026, 12, 31, tzinfo=UTC)
"""The time of events that close a stream: later than any other, so that the watermark passes all of those."""


class Input(NamedTuple):
    """A topic of JSON objects that a pipeline reads."""

    topic: str
    schema: str
    """Columns and types in SQL's words."""
    key: str
    """The column that keys a record, where its arrival says no other key."""


class Arrival(NamedTuple):
    """One record as it arrives; without a row it is a tombstone."""

    topic: str
    row: Row | None
    key: object = None


def unchanged(rows: Sequence[Row]) -> list[Row]:
    """Give the rows as they are: for a result that is never taken back."""
    return list(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A pipeline with its data and its check.

    `pipeline` takes a frame for each of `inputs`, in their order. `events(seed, count)` gives about `count`
    records in the order in which they arrive; `expected` computes from them, in plain Python, the rows that
    the pipeline must have put out once `closing` has been fed as well.
    """

    name: str
    title: str
    inputs: tuple[Input, ...]
    output: str
    """The topic of the results."""
    pipeline: Callable[..., DataFrame]
    events: Callable[[int, int], list[Arrival]]
    expected: Callable[[Sequence[Arrival]], list[Row]]
    line: Callable[[Row], str]
    """A result in words, for people."""
    closing: tuple[Arrival, ...] = ()
    settled: Callable[[Sequence[Row]], list[Row]] = unchanged
    """What the results put out so far amount to."""
    goes_by_arrival: bool = False
    """The result depends on what has arrived: whoever checks it feeds a topic, lets the pipeline come to
    rest, and only then feeds the other."""


def comparable(rows: Sequence[Row]) -> list[Row]:
    """Give rows in a form and order in which two results are compared: times in UTC, nulls left out."""
    plain = [{name: _comparable(value) for name, value in row.items() if value is not None} for row in rows]
    return sorted(plain, key=lambda row: repr(sorted(row.items())))


def text_of(time: datetime) -> str:
    """Give a time as JSON carries it, the way Spark writes it: `2026-03-02T09:00:00.000Z`."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03}Z"


def rows_on(topic: str, arrivals: Sequence[Arrival]) -> list[Row]:
    """Give the rows that arrive on a topic; tombstones carry none."""
    return [arrival.row for arrival in arrivals if arrival.topic == topic and arrival.row is not None]


def _comparable(value: Any) -> Any:
    match value:
        case datetime():
            return text_of(value)
        case list() | tuple():
            return [_comparable(each) for each in value]
    return value
