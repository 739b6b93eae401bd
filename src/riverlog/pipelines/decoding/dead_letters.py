"""Bad records: kept in a topic of their own, with where they were and why, instead of stopping a query.

    decoded ──▶ good_records ──▶ columns without `bad`: windows, joins, sinks ...
           └──▶ dead_letters ──▶ key, value, headers: as records of a dead-letter topic

As a query of its own it goes with whatever the good ones go through:

    dead_letters(clicks).writeStream.format("riverlog").option("topic", "clicks-dead") ... .start()

Where a query ends in `foreachBatch` anyway, `write_decoded` writes both halves of a batch, read once.

A dead letter has the key, value and headers of the record, and further headers as text:

    riverlog.error.topic, riverlog.error.partition, riverlog.error.offset, riverlog.error.reason
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from riverlog.pipelines.columns import require
from riverlog.pipelines.decoding.decode import BAD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HEADER_PREFIX = "riverlog.error."


def good_records(decoded: DataFrame, *, bad: str = BAD) -> DataFrame:
    """Keep what could be decoded, without the column `bad`."""
    require(decoded, "bad", bad)
    return decoded.where(f"`{bad}` is null").drop(bad)


def dead_letters(decoded: DataFrame, *, bad: str = BAD) -> DataFrame:
    """Make the bad records into records for a dead-letter topic: key, value and headers."""
    from pyspark.sql import functions as F

    require(decoded, "bad", bad)
    found = decoded.where(f"`{bad}` is not null").select(f"`{bad}`.*")
    told = F.array(
        *(
            F.struct(
                F.lit(f"{HEADER_PREFIX}{name}").alias("key"),
                F.col(name).cast("string").cast("binary").alias("value"),
            )
            for name in ("topic", "partition", "offset", "reason")
        )
    )
    own = F.coalesce(F.col("headers"), F.array().cast("array<struct<key: string, value: binary>>"))
    return found.select("key", "value", F.concat(own, told).alias("headers"))


def write_decoded(
    good: Callable[[DataFrame, int], Any], dead: Callable[[DataFrame, int], Any], *, bad: str = BAD
) -> Callable[[DataFrame, int], None]:
    """Make a function for `foreachBatch` that hands good records and dead letters to their writers.

    Each writer is called as `foreachBatch` calls one. The dead letters come first, so that none is missing
    of a batch whose good records are written. A batch is repeated whole after a failure, so both must write
    in a way that a repetition does not harm.
    """

    def write(batch: DataFrame, batch_id: int) -> None:
        kept = batch.persist()
        try:
            dead(dead_letters(kept, bad=bad), batch_id)
            good(good_records(kept, bad=bad), batch_id)
        finally:
            kept.unpersist()

    return write
