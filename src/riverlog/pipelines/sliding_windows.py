"""Sliding windows per event: for each event, aggregates over the interval that ends with it.

    events of a key    a ──── b ─ c ─────────── d
    window of c        [──────────┤
    window of d                   [─────────────┤

Spark's windows lie on a grid (`window`, `session_window`); SQL's `RANGE BETWEEN ... PRECEDING AND CURRENT
ROW` lies on the event, and Spark refuses it on a stream. Here it is, with the same meaning: on a batch frame
SQL's own is used, on a stream the results are the same for every event that was not late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from riverlog.pipelines.aggregates import SlidingMachine, parse
from riverlog.pipelines.columns import microseconds, require, require_new, require_some, require_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def sliding(
    preceding: timedelta, *, by: Sequence[str], event_time: str, aggregates: Mapping[str, str]
) -> Callable[[DataFrame], DataFrame]:
    """Add to each event the aggregates of its key's events in [its time - `preceding`, its time].

    `aggregates` maps new columns to `count(*)`, or to `count`, `sum`, `avg`, `min` or `max` of a column,
    with SQL's meaning of null: `{"spent": "sum(cents)", "payments": "count(*)"}`. Events of the same time
    are in each other's windows. Floats may differ from a batch in the last digit, as sums in another order
    do.

    On a stream `event_time` needs a watermark. An event comes out once, when the watermark has passed it,
    and is final; later ones are dropped by Spark, and counted in `numRowsDroppedByWatermark`. Events without
    a time are left out. State per key: events of the last `preceding`, and those the watermark has not
    passed.
    """
    preceding_us = microseconds("preceding", preceding)
    require_some("by", by)
    parsed = {name: parse(name, text) for name, text in aggregates.items()}

    def transform(frame: DataFrame) -> DataFrame:
        require(frame, "by", *by)
        require_time(frame, "event_time", event_time)
        require(frame, "aggregates", *(each.column for each in parsed.values() if each.column is not None))
        require_new(frame, "aggregates", *aggregates)
        if frame.isStreaming:
            return _on_stream(frame)
        return _on_batch(frame)

    def _on_batch(frame: DataFrame) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        time = F.unix_micros(F.col(f"`{event_time}`"))
        window = (
            Window.partitionBy(*(f"`{name}`" for name in by)).orderBy(time).rangeBetween(-preceding_us, 0)
        )
        timed = frame.where(time.isNotNull())
        return timed.withColumns({name: F.expr(text).over(window) for name, text in aggregates.items()})

    def _on_stream(frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F
        from pyspark.sql.types import DecimalType, LongType, StructField, StructType

        from riverlog.pipelines.ordered import TIME, cast_columns, in_order, quoted, require_watermark, stored

        require_watermark(frame, event_time)
        empty = frame.sparkSession.createDataFrame([], frame.schema)
        found = empty.agg(*(F.expr(text).alias(name) for name, text in aggregates.items())).schema
        carried = [field for field in frame.schema if field.name not in (*by, event_time)]
        wanted = list(dict.fromkeys(each.column for each in parsed.values()))
        # `count(*)` counts the times, which are never null here.
        taken = [TIME if name is None else f"_of_{name}" for name in wanted]
        copies = {f"_of_{name}": quoted(name) for name in wanted if name is not None}
        prepared = frame.withColumns({TIME: F.unix_micros(quoted(event_time)), **copies})
        kinds = {
            name: stored(prepared.schema[name].dataType) for name in (*(f.name for f in carried), *copies)
        }
        prepared = cast_columns(prepared, kinds)
        columns = [*(field.name for field in carried), *copies]
        places = [0 if name == TIME else 1 + columns.index(name) for name in taken]
        specified = []
        for name, each in parsed.items():
            kind = found[name].dataType
            scale = kind.scale if each.function == "avg" and isinstance(kind, DecimalType) else None
            specified.append((each.function, wanted.index(each.column), scale))
        machine = SlidingMachine(preceding_us, specified, places)
        state = StructType(
            [
                StructField(TIME, LongType()),
                *(StructField(f"v{n}", prepared.schema[name].dataType) for n, name in enumerate(taken)),
            ]
        )
        results = StructType(
            [
                *(prepared.schema[name] for name in columns),
                *(StructField(field.name, stored(field.dataType)) for field in found),
            ]
        )
        out = in_order(
            prepared, machine, by=by, event_time=event_time, columns=columns, state=state, results=results
        )
        restored = {field.name: field.dataType for field in (*carried, *found)}
        return cast_columns(out, restored).select(*(quoted(name) for name in (*frame.columns, *aggregates)))

    return transform
