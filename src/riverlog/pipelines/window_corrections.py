"""Windows whose results come early and are corrected while events may still be late.

A watermark makes one choice for all: wait for stragglers, and every result is late; or do not, and they are
lost. Spark publishes a window once, or in `update` mode again and again without saying what a result
replaces. Here a result comes early, and what a straggler changes is said as a retraction of the old row and
an insertion of the new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from riverlog.errors import RiverlogError
from riverlog.pipelines.aggregates import parse
from riverlog.pipelines.columns import microseconds, require, require_some, require_time
from riverlog.pipelines.corrections import CorrectingWindows
from riverlog.pipelines.table_views import OPERATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

START, END = "window_start", "window_end"


def correcting_windows(
    width: timedelta, *, by: Sequence[str], event_time: str, aggregates: Mapping[str, str], early: timedelta
) -> Callable[[DataFrame], DataFrame]:
    """Aggregate by key and window of `width`; publish `early` before the watermark has passed, and correct.

    The delay of the frame's watermark says how late an event may be, such as an hour; `early` how much of
    that the first result does not wait for, such as 58 minutes: it then comes when the newest event is two
    minutes past the window's end. `aggregates` are written as for `sliding`.

    Out come `by`, `window_start`, `window_end`, `operation` and the aggregates: `insert` with the first
    result, and for each batch that changes it `retract` with the old values and `insert` with the new. The
    last insertion is the window over all events that were not late. Later events are dropped by Spark and
    counted; events without a time are left out. State per key: the aggregates of windows that the watermark
    has not passed.
    """
    width_us = microseconds("width", width)
    early_us = microseconds("early", early)
    require_some("by", by)
    if not aggregates:
        raise RiverlogError("aggregates={} is not accepted: name at least one, as in {'n': 'count(*)'}")
    parsed = {name: parse(name, text) for name, text in aggregates.items()}

    def transform(frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F
        from pyspark.sql.types import (
            BooleanType,
            DecimalType,
            LongType,
            NumericType,
            StringType,
            StructField,
            StructType,
        )

        from riverlog.pipelines.correction_processor import Correct
        from riverlog.pipelines.ordered import TIME, bare, cast_columns, quoted, require_watermark, stored

        require(frame, "by", *by)
        require_time(frame, "event_time", event_time)
        require(frame, "aggregates", *(each.column for each in parsed.values() if each.column is not None))
        require_watermark(frame, event_time)
        wanted = list(dict.fromkeys(each.column for each in parsed.values()))
        empty = frame.sparkSession.createDataFrame([], frame.schema)
        found = empty.agg(*(F.expr(text).alias(name) for name, text in aggregates.items())).schema
        # What is counted where no column is asked for: the time, which is never null here.
        values = {
            f"_v{place}": F.unix_micros(quoted(event_time)) if name is None else quoted(name)
            for place, name in enumerate(wanted)
        }
        prepared = frame.where(quoted(event_time).isNotNull()).select(
            *(quoted(name) for name in dict.fromkeys((*by, event_time))),
            F.unix_micros(quoted(event_time)).alias(TIME),
            *(column.alias(name) for name, column in values.items()),
        )
        prepared = cast_columns(prepared, {name: stored(prepared.schema[name].dataType) for name in values})
        nothing = frame.sparkSession.createDataFrame([], prepared.schema)
        state = [StructField("start", LongType()), StructField("published", BooleanType())]
        for place, name in enumerate(values):
            kind = prepared.schema[name].dataType
            summed = nothing.agg(F.sum(name)).schema[0].dataType if isinstance(kind, NumericType) else kind
            state += [StructField(f"number{place}", LongType()), StructField(f"total{place}", summed)]
            state += [StructField(f"least{place}", kind), StructField(f"most{place}", kind)]
        specified: list[tuple[str, int, int | None]] = []
        for name, each in parsed.items():
            kind = found[name].dataType
            scale = kind.scale if each.function == "avg" and isinstance(kind, DecimalType) else None
            specified.append((each.function, wanted.index(each.column), scale))
        output = StructType(
            [
                *(StructField(name, frame.schema[name].dataType) for name in by),
                StructField(OPERATION, StringType()),
                StructField(TIME, LongType()),
                *(StructField(field.name, stored(field.dataType)) for field in found),
            ]
        )
        machine = CorrectingWindows(width_us, early_us, specified, len(wanted))
        processor = Correct(machine, [TIME, *values], StructType(state), output.names)
        changes = prepared.groupBy(*(quoted(name) for name in by)).transformWithState(
            processor, bare(output), "Append", "EventTime"
        )
        restored = cast_columns(changes, {field.name: field.dataType for field in found})
        return restored.select(
            *(quoted(name) for name in by),
            F.timestamp_micros(quoted(TIME)).alias(START),
            F.timestamp_micros(quoted(TIME) + width_us).alias(END),
            OPERATION,
            *(quoted(name) for name in aggregates),
        )

    return transform
