"""Rows of a key in order of event time, for a pure machine: what windows, patterns and versions share.

    rows, any order ──▶ pending ──(watermark W)──▶ those with time <= W, sorted ──▶ machine ──▶ results
                                                                                      │ ▲
                                                                                      ▼ │
                                                                                     state

Spark drops a row whose time is not above the watermark of the batch before, and a step hands over whatever
is not above that of this batch. So the machine sees each key's rows once and in order, however they arrived:
its results are final, and equal to those of a batch over the same rows. Rows of equal time are ordered by
content.

Kept per key: rows that the watermark has not passed, and what the machine keeps. A machine names the time at
which it wants to let go of something; a timer brings that about though no row may ever come again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    LongType,
    MapType,
    StructField,
    StructType,
    TimestampType,
)

from riverlog.pipelines.columns import ColumnRefused, require_time
from riverlog.pipelines.steps import Machine, Values

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        ListState,
        StatefulProcessorHandle,
        TimerValues,
    )

TIME = "_us"
"""The column that rows are ordered by: microseconds since 1970."""
RESERVED = (TIME, "_side", "_event", "_version", "_hits")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WATERMARK = "spark.watermarkDelayMs"
"""Where Spark notes on a column that it has a watermark."""
STORED_TIME = DecimalType(20, 6)


class InOrder(StatefulProcessor):
    """Spark's side of a machine: keeps what is pending, hands over what is due, sets timers."""

    def __init__(
        self,
        machine: Machine,
        taken: Sequence[str],
        pending: StructType,
        state: StructType,
        results: Sequence[str],
    ) -> None:
        self._machine = machine
        self._taken = list(taken)
        self._pending_schema = pending
        self._state_schema = state
        self._row = Row(*results)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark's call at the start of a task."""
        self._handle = handle
        self._pending = handle.getListState("pending", self._pending_schema)
        self._state = handle.getListState("state", self._state_schema)

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Keep rows until the watermark has passed them."""
        waiting = [tuple(row[name] for name in self._taken) for row in rows]
        if waiting:
            self._pending.appendList(waiting)
            self._wake_at(min(row[0] for row in waiting))
        return iter(())

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Hand over what the watermark has passed."""
        watermark_us = timerValues.getCurrentWatermarkInMs() * 1000
        pending = list(self._pending.get())
        due = sorted((row for row in pending if row[0] <= watermark_us), key=lambda row: (row[0], repr(row)))
        state = list(self._state.get())
        if not due and not state:
            return
        if due:
            later = [row for row in pending if row[0] > watermark_us]
            put_rows(self._pending, later)
            if later:
                self._wake_at(min(row[0] for row in later))
        step = self._machine.step(state, due, watermark_us)
        put_rows(self._state, step.state)
        if step.wake_us is not None:
            self._wake_at(step.wake_us)
        for result in step.results:
            yield self._row(*key, moment(result[0]), *result[1:])

    def _wake_at(self, time_us: int) -> None:
        # Timers are in milliseconds: rounded up, so that the row is due when its timer is.
        self._handle.registerTimer(-(-time_us // 1000))


def in_order(
    frame: DataFrame,
    machine: Machine,
    *,
    by: Sequence[str],
    event_time: str,
    columns: Sequence[str],
    state: StructType,
    results: StructType,
) -> DataFrame:
    """Run a machine over a stream: per key `by`, rows (`_us`, *columns) in order.

    `frame` has a column `_us`, and `event_time` with a watermark; a row where that is null is never late. The
    result has the columns `by`, `event_time`, which is the first value of each result and carries the
    watermark on, then `results`.
    """
    assert WATERMARK in frame.schema[event_time].metadata, "an operator asks for it by `require_watermark`"
    keys = [frame.schema[name] for name in by]
    pending = StructType([StructField(TIME, LongType()), *(frame.schema[name] for name in columns)])
    output = StructType([*keys, StructField(event_time, TimestampType()), *results.fields])
    processor = InOrder(
        machine, [TIME, *columns], bare(pending), bare(state), [field.name for field in output]
    )
    grouped = frame.where(F.col(TIME).isNotNull()).groupBy(*(quoted(name) for name in by))
    return grouped.transformWithState(
        processor, bare(output), "Append", "EventTime", eventTimeColumnName=event_time
    )


def require_watermark(frame: DataFrame, event_time: str) -> None:
    """Refuse a stream that is never late: it would be kept for ever."""
    require_time(frame, "event_time", event_time)
    for name in RESERVED:
        if name in frame.columns:
            raise ColumnRefused(
                f"{name!r} is a name of the operator's own: call that column of the frame other"
            )
    if WATERMARK not in frame.schema[event_time].metadata:
        raise ColumnRefused(
            f"event_time={event_time!r} has no watermark, so nothing would ever be final: "
            f'call .withWatermark("{event_time}", ...) on the frame first'
        )


def quoted(name: str) -> Column:
    """Give a column by a name that may hold dots."""
    return F.col(f"`{name}`")


def moment(time_us: int) -> datetime:
    """Give microseconds since 1970 as a time that Spark takes for a timestamp."""
    return EPOCH + timedelta(microseconds=time_us)


def stored(kind: DataType) -> DataType:
    """Give the type in which a value is kept: read from Spark's state, a timestamp would be local time."""
    match kind:
        case TimestampType():
            return STORED_TIME
        case ArrayType():
            return ArrayType(stored(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(stored(kind.keyType), stored(kind.valueType), kind.valueContainsNull)
        case StructType():
            return StructType([StructField(each.name, stored(each.dataType), each.nullable) for each in kind])
    return kind


def cast_columns(frame: DataFrame, kinds: dict[str, DataType]) -> DataFrame:
    """Cast the columns that are of another type."""
    changed = {
        name: quoted(name).cast(kind) for name, kind in kinds.items() if frame.schema[name].dataType != kind
    }
    return frame.withColumns(changed) if changed else frame


def unwatermarked(event_time: str) -> Column:
    """Give a time as an expression: Spark then forgets that it has a watermark, and drops nothing by it."""
    return F.timestamp_micros(F.unix_micros(quoted(event_time)))


def bare(schema: StructType) -> StructType:
    """Leave out what Spark noted on the columns, such as a watermark, and let every column be null."""
    return StructType([StructField(field.name, field.dataType) for field in schema])


def put_rows(state: ListState, rows: list[Values]) -> None:
    """Replace the rows of a list in state; none at all is its removal."""
    if rows:
        state.put(rows)
    else:
        state.clear()
