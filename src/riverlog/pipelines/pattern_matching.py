"""A pattern over the events of a key, found on a stream.

    events ──▶ Spark: which steps does each satisfy? ──▶ those that satisfy any ──▶ in order ──▶ automaton
    ──▶ matches

Conditions are SQL and run inside Spark; only events that satisfy one of them reach Python, as a number whose
bits are the steps. What a pattern means is said in `patterns.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from riverlog.pipelines.columns import ColumnRefused, require, require_some, require_time
from riverlog.pipelines.nfa import PatternMachine
from riverlog.pipelines.patterns import Pattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BEGAN = "began_at"


def match_pattern(
    pattern: Pattern, *, by: Sequence[str], event_time: str, columns: Sequence[str] | None = None
) -> Callable[[DataFrame], DataFrame]:
    """Find a pattern in the events of each key `by`: a row for each match.

    A match has the columns `by`; `event_time`, when it was complete; `began_at`, the time of its first
    event; and for each step that takes events a column of its name: a struct of the event, null where an
    optional step took none, or an array of structs where it may take several. `columns` says what is kept of
    an event, all if not given.

    On a stream `event_time` needs a watermark. Matches come out once the watermark has passed their end, and
    are final; late events are dropped by Spark and counted, and take part in nothing. Events of equal time
    are ordered by content. State per key: runs that may still match, none older than `within`, and the
    events that the watermark has not passed and that satisfy some step.
    """
    require_some("by", by)

    def transform(frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F
        from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType

        from riverlog.pipelines.ordered import TIME, in_order, quoted, require_watermark, stored

        require(frame, "by", *by)
        require_time(frame, "event_time", event_time)
        if columns is not None:
            require(frame, "columns", *columns)
        require_watermark(frame, event_time)
        kept = list(columns if columns is not None else [name for name in frame.columns if name not in by])
        if not kept:
            raise ColumnRefused("columns=[]: name what is kept of an event that a step takes")
        taking = [each for each in pattern.steps if not each.is_absent]
        for each in taking:
            if each.name in (*by, event_time, BEGAN):
                raise ColumnRefused(f"step {each.name!r} has the name of a column of the result: rename it")

        event_was = StructType([StructField(name, frame.schema[name].dataType) for name in kept])
        event = StructType([StructField(field.name, stored(field.dataType)) for field in event_was])
        bits = [
            F.when(F.expr(each.where), F.lit(1 << place).cast("long")).otherwise(F.lit(0).cast("long"))
            for place, each in enumerate(pattern.steps)
        ]
        hits = bits[0]
        for bit in bits[1:]:
            hits = hits + bit
        packed = F.struct(*(quoted(field.name).cast(field.dataType).alias(field.name) for field in event))
        prepared = frame.select(
            *(quoted(name) for name in dict.fromkeys((*by, event_time))),
            F.unix_micros(quoted(event_time)).alias(TIME),
            hits.alias("_hits"),
            packed.alias("_event"),
        )
        state = StructType(
            [
                *(StructField(name, LongType()) for name in ("run", "number", "began")),
                *(StructField(name, IntegerType()) for name in ("at", "taken", "step")),
                StructField("event", event),
            ]
        )
        results = StructType(
            [
                StructField(BEGAN, LongType()),
                *(StructField(each.name, ArrayType(event)) for each in taking),
            ]
        )
        found = in_order(
            # With the time in it, Spark does not move this below the watermark: every event moves that.
            prepared.where((F.col("_hits") != 0) | quoted(event_time).isNull()),
            PatternMachine(pattern),
            by=by,
            event_time=event_time,
            columns=["_hits", "_event"],
            state=state,
            results=results,
        )
        shown = {BEGAN: F.timestamp_micros(quoted(BEGAN))}
        for each in taking:
            events = quoted(each.name).cast(ArrayType(event_was))
            shown[each.name] = events if each.at_most > 1 else F.get(events, F.lit(0))
        return found.withColumns(shown)

    return transform
