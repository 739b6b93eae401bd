"""Stored queries on a stream, beside the same conditions in SQL."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from riverlog.pipelines import ColumnRefused, Query, match_queries
from riverlog.testing.pipelines import Streams, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "symbol string, price double, size long, headline string"


def test_two_thousand_alerts_find_what_sql_finds(riverlog_streams: Streams) -> None:
    seed = 9
    print(f"seed {seed}")
    chance = random.Random(seed)
    alerts = [
        (f"q{number}", chance.choice("ABCDEFGH"), float(chance.randrange(100)), chance.choice([None, 50]))
        for number in range(2000)
    ]
    ticks = [
        (chance.choice([*"ABCDEFGH", None]), float(chance.randrange(100)), chance.choice([None, 10, 90]), "x")
        for _ in range(40)
    ]
    queries = [
        Query(
            name,
            equals={"symbol": symbol},
            ranges={"price": (low, None)} | ({"size": (size, None)} if size else {}),
        )
        for name, symbol, low, size in alerts
    ]
    source = riverlog_streams.source(SCHEMA)
    output = riverlog_streams.start(source.frame.transform(match_queries(queries)))

    source.feed(*ticks[:20])
    source.feed(*ticks[20:])

    spark = riverlog_streams.spark
    frame = spark.createDataFrame(ticks, SCHEMA)
    stored = spark.createDataFrame(alerts, "query string, wanted string, low double, least long")
    expected = frame.join(
        stored,
        (frame.symbol == stored.wanted)
        & (frame.price >= stored.low)
        & (stored.least.isNull() | (frame["size"] >= stored.least)),
    ).select("symbol", "price", "size", "headline", "query")
    assert sorted(output.rows(), key=repr) == sorted(rows_of(expected), key=repr)
    assert len(output.rows()) > 1000


def test_what_cannot_be_asked_is_refused_by_the_name_of_query_and_column(
    riverlog_spark: SparkSession,
) -> None:
    frame = riverlog_spark.createDataFrame([("A", 1.0, 2, "oil")], SCHEMA)

    with pytest.raises(ColumnRefused, match=r"query 'q' asks of 'user', which is no column.*symbol, price"):
        frame.transform(match_queries([Query("q", {"user": 1})]))
    with pytest.raises(ColumnRefused, match="query 'q' compares 'price', of type double, with 'high'"):
        frame.transform(match_queries([Query("q", ranges={"price": ("high", None)})]))
    with pytest.raises(ColumnRefused, match="query 'q' looks for words in 'size', of type bigint"):
        frame.transform(match_queries([Query("q", words={"size": "oil"})]))
    assert frame.transform(match_queries([])).collect() == []
    assert rows_of(frame.transform(match_queries([Query("q", words={"headline": "oil"})])))[0][-1] == "q"
