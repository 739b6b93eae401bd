"""A pipeline that changes while its checkpoint stays."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from riverlog.pipelines import sliding, upgradable_state
from riverlog.testing.pipelines import Streams, at, rows_of


def spent(frame: DataFrame) -> DataFrame:
    return frame.transform(
        sliding(timedelta(hours=1), by=["card"], event_time="at", aggregates={"spent": "sum(cents)"})
    )


def run(frame: DataFrame, checkpoint: Path) -> list[Any]:
    """Do all there is to do from a checkpoint on, then end: what is in memory does not outlive it."""
    rows: list[Any] = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: rows.extend(rows_of(batch)))
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.processAllAvailable()
    query.stop()
    return rows


def test_state_survives_a_column_that_is_added(riverlog_streams: Streams, tmp_path: Path) -> None:
    source = riverlog_streams.source(
        "card string, at timestamp, cents int, place string", event_time="at", delay=timedelta(minutes=30)
    )
    source.feed(("c", "10:00:00", 1, "x"), ("c", "10:10:00", 2, "x"))
    source.advance("10:05:00")

    with upgradable_state(riverlog_streams.spark):
        before = run(spent(source.frame.drop("place")), tmp_path)
    source.feed(("c", "10:20:00", 4, "y"))
    source.advance("10:30:00")
    after = run(spent(source.frame), tmp_path)

    assert before == [("c", at("10:00:00"), 1, 1)]
    assert sorted(row[1:] for row in after) == [(at("10:10:00"), 2, None, 3), (at("10:20:00"), 4, "y", 7)]
