"""Sliding windows on a stream beside SQL's own on a batch."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from riverlog.pipelines import ColumnRefused, sliding
from riverlog.testing.pipelines import Streams, rows_of

from .histories import history, seeds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "card string, at timestamp, cents int, fee decimal(8,2), note timestamp"
DELAY = timedelta(minutes=5)
OPERATOR = sliding(
    timedelta(minutes=2),
    by=["card"],
    event_time="at",
    aggregates={
        "payments": "count(*)",
        "known": "count(cents)",
        "spent": "sum(cents)",
        "mean": "avg(cents)",
        "least": "min(cents)",
        "fees": "sum(fee)",
        "mean_fee": "avg(fee)",
        "last_note": "max(note)",
    },
)


def payment(chance: random.Random, time: datetime) -> tuple[Any, ...]:
    fee = Decimal(chance.randrange(500)) / 100
    return (chance.choice(["a", "b", None]), time, chance.choice([None, 5, 70, 900]), fee, time - DELAY)


@pytest.mark.parametrize("seed", seeds(1))
def test_a_stream_in_disorder_gives_what_sql_gives_for_the_batch(
    riverlog_streams: Streams, seed: int
) -> None:
    made = history(seed, payment, delay=DELAY)
    source = riverlog_streams.source(SCHEMA, event_time="at", delay=DELAY)
    output = riverlog_streams.start(source.frame.transform(OPERATOR))

    for batch in made.batches:
        source.feed(*batch)
    source.advance("20:00:00")

    batch_frame = riverlog_streams.spark.createDataFrame(made.punctual, SCHEMA)
    expected = batch_frame.transform(OPERATOR)
    assert output.dropped() == len(made.late)
    assert output.kept() == 0
    assert sorted(output.rows(), key=repr) == sorted(rows_of(expected), key=repr)


def test_spark_aggregates_what_a_sliding_window_gives_as_it_becomes_final(riverlog_streams: Streams) -> None:
    source = riverlog_streams.source("card string, at timestamp, cents int", event_time="at")
    slid = source.frame.transform(
        sliding(timedelta(minutes=1), by=["card"], event_time="at", aggregates={"spent": "sum(cents)"})
    )
    peaks = slid.groupBy(F.window("at", "10 minutes")).agg(F.max("spent").alias("peak")).select("peak")
    output = riverlog_streams.start(peaks)

    source.feed(("a", "10:00:30", 1), ("a", "10:00:00", 2), ("a", "10:05:00", 1))
    source.advance("10:09:00")
    source.advance("10:20:00")
    source.advance("10:21:00")

    assert output.rows() == [(3,)]


def test_what_cannot_slide_is_refused_by_name(
    riverlog_streams: Streams, riverlog_spark: SparkSession
) -> None:
    never_final = riverlog_streams.source("card string, at timestamp, cents int").frame
    frame = riverlog_spark.createDataFrame([], "card string, at string, cents int")
    minute = timedelta(minutes=1)

    with pytest.raises(ColumnRefused, match=r"event_time='at' has no watermark.*withWatermark"):
        never_final.transform(sliding(minute, by=["card"], event_time="at", aggregates={"n": "count(*)"}))
    taken = riverlog_streams.source("card string, at timestamp, _us long", event_time="at").frame
    with pytest.raises(ColumnRefused, match="'_us' is a name of the operator's own"):
        taken.transform(sliding(minute, by=["card"], event_time="at", aggregates={"n": "count(*)"}))
    with pytest.raises(ColumnRefused, match="event_time='at' is of type string"):
        frame.transform(sliding(minute, by=["card"], event_time="at", aggregates={"n": "count(*)"}))
    with pytest.raises(ColumnRefused, match="aggregates='euros' names no column"):
        never_final.transform(sliding(minute, by=["card"], event_time="at", aggregates={"n": "sum(euros)"}))
    with pytest.raises(ColumnRefused, match="aggregates='cents' is a column"):
        never_final.transform(sliding(minute, by=["card"], event_time="at", aggregates={"cents": "count(*)"}))
