"""The first N of each group, beside sorting by hand."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from riverlog.errors import RiverlogError
from riverlog.pipelines import ColumnRefused, top_n
from riverlog.testing.pipelines import DAY, Streams, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]


def by_hand(rows: list[Row], n: int, ascending: bool) -> list[Row]:
    """(group, value, name): the first n of each group by value, then name."""
    ranked = []
    for group in {row[0] for row in rows}:
        ordered = sorted(
            (row for row in rows if row[0] == group), key=by_value_and_name, reverse=not ascending
        )
        ranked += [(*row, place) for place, row in enumerate(ordered[:n], 1)]
    return sorted(ranked, key=repr)


def by_value_and_name(row: Row) -> tuple[Any, ...]:
    """A null is smaller than any value."""
    return (row[1] is not None, row[1] or 0, row[2])


@pytest.mark.parametrize("ascending", [False, True])
def test_the_first_of_each_group_are_those_of_sorting(riverlog_spark: SparkSession, ascending: bool) -> None:
    chance = random.Random(7)
    rows = [(chance.choice("ab"), chance.choice([None, *range(9)]), chance.choice("xyz")) for _ in range(60)]
    frame = riverlog_spark.createDataFrame(rows, "group string, value int, name string")

    best = frame.transform(top_n(4, by=["group"], order=["value"], ascending=ascending)).collect()

    assert sorted((tuple(row) for row in best), key=repr) == by_hand(rows, 4, ascending)


def top_movers(trades: DataFrame) -> DataFrame:
    first, last = F.min_by("price", "at"), F.max_by("price", "at")
    moves = trades.groupBy(F.window("at", "1 day").alias("day"), "symbol")
    moved = moves.agg(F.round((last - first) / first * 100, 3).alias("percent"))
    return moved.transform(top_n(2, by=["day"], order=["percent"])).select(
        "day.start", "rank", "symbol", "percent"
    )


def test_top_movers_of_each_day_are_those_of_the_batch_whatever_the_order(riverlog_streams: Streams) -> None:
    seed = 11
    print(f"seed {seed}")
    chance = random.Random(seed)
    trades = [
        (symbol, DAY + timedelta(seconds=second), 100.0 + chance.randrange(-50, 50))
        for second in range(0, 3 * 86400, 9000)
        for symbol in chance.sample("ABCDE", 3)
    ]
    source = riverlog_streams.source(
        "symbol string, at timestamp, price double", event_time="at", delay=timedelta(days=9)
    )
    shuffled = trades + chance.sample(trades, 9)
    chance.shuffle(shuffled)

    output = riverlog_streams.start(top_movers(source.frame))
    source.feed(*shuffled[:50])
    source.feed(*shuffled[50:])
    assert output.rows() == []
    source.advance("2026-01-09T00:00:00")

    spark = riverlog_streams.spark
    expected = top_movers(spark.createDataFrame(trades, "symbol string, at timestamp, price double"))
    assert sorted(output.rows()) == sorted(rows_of(expected))
    assert len(output.rows()) == 6


def test_what_cannot_be_ranked_is_refused_by_name(riverlog_spark: SparkSession) -> None:
    frame = riverlog_spark.createDataFrame([], "group string, value int, more map<string,int>")

    with pytest.raises(RiverlogError, match="n=0"):
        top_n(0, by=["group"], order=["value"])
    with pytest.raises(ColumnRefused, match="by='group': a list"):
        top_n(1, by="group", order=["value"])
    with pytest.raises(ColumnRefused, match="order='price' names no column"):
        frame.transform(top_n(1, by=["group"], order=["price"]))
    with pytest.raises(ColumnRefused, match="'more' is a map"):
        frame.transform(top_n(1, by=["group"], order=["value"]))
