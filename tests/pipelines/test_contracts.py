"""Contracts of real plans: what Spark makes of a frame, as `contract` tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from riverlog.pipelines import sliding
from riverlog.pipelines.jobs.comparison import Level, compare
from riverlog.pipelines.jobs.contract import Contract, Output, contract_of, readable
from riverlog.pipelines.jobs.plan import plans_of
from riverlog.pipelines.jobs.preparing import EVOLUTION

Read = Callable[[str], DataFrame]


@pytest.fixture
def read(riverlog_spark: SparkSession, tmp_path: Path) -> Iterator[Read]:
    """Give named streams with a watermark of ten seconds."""
    riverlog_spark.conf.set(EVOLUTION, "true")
    reader = riverlog_spark.readStream.schema("page string, at timestamp, cents int")
    yield lambda name: reader.name(name).json(str(tmp_path)).withWatermark("at", "10 seconds")
    riverlog_spark.conf.unset(EVOLUTION)


def contract(frame: DataFrame) -> Contract:
    columns = tuple((field.name, field.dataType.simpleString()) for field in frame.schema.fields)
    return contract_of(*plans_of(frame), Output("totals", (), "append", columns), columns_read={})


def per_minute(frame: DataFrame, function: str = "sum(cents)", length: str = "1 minute") -> DataFrame:
    return frame.groupBy(F.window("at", length), "page").agg(F.expr(function).alias("total"))


def test_an_aggregation_is_told_with_its_window_and_its_state(read: Read) -> None:
    found = contract(per_minute(read("clicks").withColumnRenamed("page", "p").withColumnRenamed("p", "page")))

    (operator,) = found.operators
    assert [readable(key) for key in operator.keys] == ["window(clicks→at, 1 minute)", "clicks→page"]
    assert [(each.text, each.state) for each in operator.state] == [("sum(clicks→cents)", "sum:bigint")]
    assert [(each.column, each.delay) for each in found.watermarks] == [("clicks→at", "10 seconds")]
    assert [(each.name, each.format) for each in found.sources] == [("clicks", "json")]


def test_the_same_code_gives_the_same_contract_each_time(read: Read) -> None:
    assert contract(per_minute(read("clicks"))) == contract(per_minute(read("clicks")))


@pytest.mark.parametrize(
    ("function", "length", "words"),
    [
        ("avg(cents)", "1 minute", "aggregation changed from sum(cents) to avg(cents)"),
        ("sum(cents * 2)", "1 minute", "aggregation changed from sum(cents) to sum((cents * 2))"),
        ("sum(cents)", "5 minutes", "from window(at, 1 minute), page to window(at, 5 minutes), page"),
    ],
)
def test_a_change_of_the_aggregation_is_found(read: Read, function: str, length: str, words: str) -> None:
    found = compare(
        contract(per_minute(read("clicks"))), contract(per_minute(read("clicks"), function, length))
    )

    assert found.level is Level.REPLAY
    assert words in found.differences[0].reason


def test_what_changes_before_the_aggregation_is_safe(read: Read) -> None:
    found = compare(
        contract(per_minute(read("clicks"))), contract(per_minute(read("clicks").where("cents > 3")))
    )

    assert found.level is Level.SAFE
    assert "Filter (cents > 3) in addition" in found.differences[0].reason


def test_a_sliding_window_is_told_with_both_its_lengths(read: Read) -> None:
    frame = read("clicks").groupBy(F.window("at", "5 minutes", "1 minute")).count()

    (operator,) = contract(frame).operators

    assert readable(operator.keys[0]) == "window(clicks→at, 5 minutes, 1 minute)"


def joined(read: Read, *columns: str) -> Contract:
    views = read("views").select(F.col("page").alias("seen"), F.col("at").alias("seen_at"), "cents")
    nearby = "page = seen and seen_at between at and at + interval 1 minute"
    return contract(read("clicks").drop("cents").join(views, F.expr(nearby)).select(*columns))


def test_a_join_keeps_what_is_used_after_it(read: Read) -> None:
    one, other = joined(read, "page"), joined(read, "page", "cents")

    (operator,) = one.operators
    assert operator.kind == "join of two streams"
    assert "clicks→page = views→page" in operator.keys[0]
    assert [each.state for each in operator.state] == [
        "page string, at timestamp",
        "seen string, seen_at timestamp",
    ]
    assert compare(one, other).level is Level.REPLAY


def test_deduplication_is_told_by_its_columns(read: Read) -> None:
    plain = contract(read("clicks").dropDuplicates(["page"]))
    within = contract(read("clicks").dropDuplicatesWithinWatermark(["page"]))

    assert [(each.kind, each.keys) for each in plain.operators] == [("deduplication", ("clicks→page",))]
    assert within.operators[0].kind == "deduplication within the watermark"


def test_an_operator_of_ours_keeps_its_state_in_avro(read: Read) -> None:
    spent = sliding(timedelta(hours=1), by=["page"], event_time="at", aggregates={"spent": "sum(cents)"})

    one = contract(read("clicks").transform(spent))
    other = contract(read("clicks").withColumn("place", F.lit("x")).transform(spent))

    assert one.encoding == "avro"
    assert one.operators[0].keys == ("clicks→page",)
    assert compare(one, other).level is Level.SAFE
