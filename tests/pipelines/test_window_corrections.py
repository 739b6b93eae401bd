"""Windows with corrections on a stream, beside Spark's own windows on a batch."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import functions as F

from riverlog.errors import RiverlogError
from riverlog.pipelines import ColumnRefused, correcting_windows
from riverlog.testing.pipelines import Streams, at, rows_of

from .histories import history, seeds

SCHEMA = "shop string, at timestamp, cents int, fee decimal(8,2)"
DELAY = timedelta(minutes=5)
AGGREGATES = {
    "sales": "count(*)",
    "known": "count(cents)",
    "sum": "sum(cents)",
    "mean_fee": "avg(fee)",
    "last": "max(at)",
}


def sale(chance: random.Random, time: datetime) -> tuple[Any, ...]:
    return (chance.choice("ab"), time, chance.choice([None, 5, 70]), Decimal(chance.randrange(500)) / 100)


@pytest.mark.parametrize("seed", seeds(31))
def test_insertions_less_retractions_are_the_windows_of_the_batch(
    riverlog_streams: Streams, seed: int
) -> None:
    made = history(seed, sale, delay=DELAY)
    source = riverlog_streams.source(SCHEMA, event_time="at", delay=DELAY)
    minutes = timedelta(minutes=2)
    operator = correcting_windows(
        minutes, by=["shop"], event_time="at", aggregates=AGGREGATES, early=timedelta(minutes=8)
    )
    output = riverlog_streams.start(source.frame.transform(operator))

    for batch in made.batches:
        source.feed(*batch)
    source.advance("20:00:00")

    view: Counter[tuple[Any, ...]] = Counter()
    operations: Counter[str] = Counter()
    for shop, start, end, operation, *values in output.rows():
        view[shop, start, end, *values] += 1 if operation == "insert" else -1
        operations[operation] += 1
    frame = riverlog_streams.spark.createDataFrame(made.punctual, SCHEMA)
    windows = frame.groupBy("shop", F.window("at", "2 minutes").alias("w"))
    expected = windows.agg(*(F.expr(text).alias(name) for name, text in AGGREGATES.items()))
    shown = rows_of(expected.select("shop", "w.start", "w.end", *AGGREGATES))
    assert +view == Counter(shown)
    assert operations["retract"] > 0
    assert output.dropped() == len(made.late)
    assert output.kept() == 0


def test_a_straggler_takes_the_old_result_back(riverlog_streams: Streams) -> None:
    source = riverlog_streams.source(
        "shop string, at timestamp, cents int", event_time="at", delay=timedelta(hours=1)
    )
    operator = correcting_windows(
        timedelta(minutes=10),
        by=["shop"],
        event_time="at",
        aggregates={"sum": "sum(cents)"},
        early=timedelta(minutes=58),
    )
    output = riverlog_streams.start(source.frame.transform(operator))

    source.feed(("a", "10:05:00", 1))
    source.feed(("a", "10:12:00", 5))
    assert output.take() == [("a", at("10:00:00"), at("10:10:00"), "insert", 1)]
    source.feed(("a", "10:01:00", 2))

    assert [row[3:] for row in output.take()] == [("retract", 1), ("insert", 3)]


def test_what_cannot_be_corrected_is_refused_by_name(riverlog_streams: Streams) -> None:
    frame = riverlog_streams.source(SCHEMA, event_time="at").frame
    minute = timedelta(minutes=1)

    with pytest.raises(RiverlogError, match="early="):
        correcting_windows(minute, by=["shop"], event_time="at", aggregates=AGGREGATES, early=timedelta(0))
    with pytest.raises(ColumnRefused, match="aggregates='euros' names no column"):
        frame.transform(
            correcting_windows(
                minute, by=["shop"], event_time="at", aggregates={"n": "sum(euros)"}, early=minute
            )
        )
