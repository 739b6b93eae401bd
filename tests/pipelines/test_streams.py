"""The streams that tests feed: what Spark makes of a feed, of a watermark, and of a late row."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from riverlog.errors import RiverlogError
from riverlog.testing.pipelines import Streams, at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def per_minute(orders: DataFrame) -> DataFrame:
    windows = orders.groupBy("customer", F.window("at", "1 minute"))
    return windows.agg(F.sum("cents").alias("cents")).select("customer", "cents")


def test_a_window_is_final_once_the_watermark_is_advanced(riverlog_streams: Streams) -> None:
    orders = riverlog_streams.source(
        "customer string, at timestamp, cents long", event_time="at", delay=timedelta(seconds=10)
    )
    totals = riverlog_streams.start(per_minute(orders.frame))

    orders.feed(("ada", "10:00:05", 100), ("ada", "10:00:50", 20))
    assert totals.take() == []
    orders.advance("10:01:00")

    assert totals.take() == [("ada", 120)]
    assert totals.take() == []


def test_a_row_behind_the_watermark_is_dropped_and_counted(riverlog_streams: Streams) -> None:
    orders = riverlog_streams.source("customer string, at timestamp, cents long", event_time="at")
    totals = riverlog_streams.start(per_minute(orders.frame))

    orders.feed(("ada", "10:00:05", 100))
    orders.advance("10:01:00")
    orders.feed(("ada", "10:00:50", 20), {"customer": "bob", "at": at("10:01:10"), "cents": 1})
    orders.advance("10:02:00")

    assert sorted(totals.rows()) == [("ada", 100), ("bob", 1)]
    assert totals.dropped() == 1


def test_what_a_pipeline_raises_reaches_the_test(riverlog_streams: Streams) -> None:
    numbers = riverlog_streams.source("n int")
    riverlog_streams.start(numbers.frame.select(F.raise_error(F.lit("not this one"))))

    with pytest.raises(Exception, match="not this one"):
        numbers.feed((1,))


def test_a_source_without_event_time_refuses_to_advance(riverlog_streams: Streams) -> None:
    with pytest.raises(RiverlogError, match="no event_time"):
        riverlog_streams.source("n int").advance("10:00:00")


def test_an_event_time_that_is_no_column_is_named(riverlog_streams: Streams) -> None:
    with pytest.raises(RiverlogError, match=r"event_time='when' names no column, of: n, at"):
        riverlog_streams.source("n int, at timestamp", event_time="when")


def test_the_session_of_the_run_is_the_one_that_pipelines_get(riverlog_spark: SparkSession) -> None:
    from riverlog.pipelines import session

    partitions = riverlog_spark.conf.get("spark.sql.shuffle.partitions")
    assert session() is riverlog_spark
    assert riverlog_spark.conf.get("spark.sql.shuffle.partitions") == partitions
    assert "RocksDB" in riverlog_spark.conf.get("spark.sql.streaming.stateStore.providerClass", "")
    assert riverlog_spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
