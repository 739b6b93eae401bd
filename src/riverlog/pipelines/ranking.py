"""The first N of each group: of a window, of a key, of both.

Spark refuses row numbers on a stream, and has `max_by(..., k)` instead: an aggregate that keeps k rows a
group, on each task before the shuffle and once behind it. So the ranking is done in two phases without being
asked, and no task ever sees more of a group than N rows of each other task:

    task 1   window, key ──▶ best N ┐
    task 2   window, key ──▶ best N ┼──▶ best N of the window
    task 3   window, key ──▶ best N ┘

The top ten movers of the day are therefore two steps of Spark's: aggregate by (window, symbol), then `top_n`
by window. Spark chains the two on a stream in output mode `append`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from riverlog.errors import RiverlogError
from riverlog.pipelines.columns import ColumnRefused, require, require_new, require_some

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

N_MAX = 100_000
"""Spark's own bound on `max_by(..., k)`."""


def top_n(
    n: int, *, by: Sequence[str], order: Sequence[str], ascending: bool = False, rank: str = "rank"
) -> Callable[[DataFrame], DataFrame]:
    """Keep the first `n` rows of each group `by`, with their place (from 1) in column `rank`.

    Rows are ordered by the columns `order`, largest first unless `ascending`; a null is smaller than any
    value. Rows that are equal in all of these are ordered by their other columns, so that the result does
    not depend on the order of arrival; two equal rows take two places.

    On a stream this is an aggregation: with a window or an event time with watermark among `by`, in output
    mode `append`, a ranking is put out once, when the watermark passes its window, and late rows are dropped
    by Spark; in `update` a changed ranking is put out again as a whole. State: n rows a group, until the
    watermark passes it.
    """
    if not 1 <= n <= N_MAX:
        raise RiverlogError(f"n={n} is not accepted: 1 to {N_MAX} rows of a group")
    require_some("by", by)
    require_some("order", order)

    def transform(frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        require(frame, "by", *by)
        require(frame, "order", *order)
        require_new(frame, "rank", rank)
        rest = [name for name in frame.columns if name not in by]
        maps = [name for name in rest if frame.schema[name].dataType.typeName() in ("map", "variant")]
        if maps:
            raise ColumnRefused(
                f"column {maps[0]!r} is a map or variant, which has no order: leave it out first"
            )
        placed = [*order, *(name for name in rest if name not in order)]
        row = F.struct(*(F.col(f"`{name}`") for name in placed))
        best = (F.min_by if ascending else F.max_by)(row, row, n)
        groups = frame.groupBy(*(F.col(f"`{name}`") for name in by)).agg(best.alias("_best"))
        ranked = groups.select(*by, F.posexplode("_best").alias("_place", "_row"))
        return ranked.select(
            *(
                F.col(f"`{name}`") if name in by else F.col("_row")[name].alias(name)
                for name in frame.columns
            ),
            (F.col("_place") + 1).alias(rank),
        )

    return transform
