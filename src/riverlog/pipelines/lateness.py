"""Late events, told apart instead of dropped: a second output, and a count.

    events ──▶ mark_late ──▶ is_late = false ──▶ on time: windows, joins ...
                        └──▶ is_late = true  ──▶ a topic of stragglers, looked at, corrected, billed by hand

Spark drops what its watermark has passed and leaves a number behind (`numRowsDroppedByWatermark`). A frame
has one output, so what is marked is parted where it is written: `write_split` in `foreachBatch`. Whatever
else goes by the watermark then reads what was on time, from where it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from riverlog.pipelines.columns import require, require_new, require_some

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OBSERVED = "riverlog_lateness"
"""The name under which `query.lastProgress.observedMetrics` counts `events` and `late`."""


def mark_late(
    *, by: Sequence[str], event_time: str, into: str = "is_late"
) -> Callable[[DataFrame], DataFrame]:
    """Say of each event, in a boolean column, whether the watermark had passed it as its batch began.

    Every event comes out once and at once, those without a time as not late. What Spark's own operators would
    drop is marked; they go by the watermark of the batch before, so they may let through a little of what is
    marked here. `event_time` needs a watermark; the result has none, since it holds what is behind it. `by`
    only says which events go the same way through the shuffle: nothing is kept.
    """
    require_some("by", by)

    def transform(frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F
        from pyspark.sql.types import BooleanType, StructField, StructType

        from riverlog.pipelines.ordered import TIME, bare, quoted, require_watermark, unwatermarked
        from riverlog.pipelines.processors import MarkLate

        require(frame, "by", *by)
        require_watermark(frame, event_time)
        require_new(frame, "into", into)
        timed = frame.withColumns(
            {TIME: F.unix_micros(quoted(event_time)), event_time: unwatermarked(event_time)}
        )
        output = StructType([*bare(frame.schema).fields, StructField(into, BooleanType())])
        marked = timed.groupBy(*(quoted(name) for name in by)).transformWithState(
            MarkLate(frame.columns, into), output, "Append", "EventTime"
        )
        return marked.observe(
            OBSERVED, F.count(F.lit(1)).alias("events"), F.count_if(quoted(into)).alias("late")
        )

    return transform


def write_split(
    on_time: Callable[[DataFrame], Any], late: Callable[[DataFrame], Any], *, flag: str = "is_late"
) -> Callable[[DataFrame, int], None]:
    """Make a function for `foreachBatch` that hands both halves of a batch to their writers, without `flag`.

    The writers are called one after the other. A batch is repeated whole after a failure, so both must write
    in a way that a repetition does not harm, as everything in `foreachBatch`.
    """

    def write(batch: DataFrame, batch_id: int) -> None:  # noqa: ARG001  # Spark's signature
        require(batch, "flag", flag)
        kept = batch.persist()
        try:
            on_time(kept.where(f"not `{flag}`").drop(flag))
            late(kept.where(f"`{flag}`").drop(flag))
        finally:
            kept.unpersist()

    return write
