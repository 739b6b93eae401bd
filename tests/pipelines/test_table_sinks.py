"""Tables that a stream keeps: newest row by key, retractions, types; in PostgreSQL and in DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession

from riverlog.errors import RiverlogError
from riverlog.pipelines.columns import ColumnRefused
from riverlog.pipelines.sinks import DuckDBSink, PostgresSink

pytestmark = pytest.mark.spark

Frame = Callable[..., DataFrame]


@pytest.fixture
def frame(riverlog_spark: SparkSession) -> Frame:
    return lambda schema, *rows: riverlog_spark.createDataFrame(list(rows), schema)


@pytest.fixture
def table(postgres: str) -> str:
    with psycopg.connect(postgres) as connection:
        connection.execute("DROP TABLE IF EXISTS totals, riverlog_sinks")
        connection.execute(
            "CREATE TABLE totals (page text PRIMARY KEY, clicks bigint, note text DEFAULT 'new')"
        )
    return "totals"


def rows_in(uri: str, query: str = "SELECT page, clicks FROM totals ORDER BY page") -> list[Any]:
    with psycopg.connect(uri) as connection:
        return connection.execute(query).fetchall()


def test_the_newest_row_of_a_key_stays(postgres: str, table: str, frame: Frame) -> None:
    sink = PostgresSink(postgres, f"public.{table}", key=["page"])

    sink.write(frame("page string, clicks long", ("a", 1), ("b", 1)), "s", 0)
    sink.write(frame("page string, clicks long", ("a", 5), ("c", None)), "s", 1)

    assert rows_in(postgres) == [("a", 5), ("b", 1), ("c", None)]
    assert rows_in(postgres, "SELECT DISTINCT note FROM totals") == [("new",)]


def test_what_is_retracted_is_deleted_before_what_is_inserted(
    postgres: str, table: str, frame: Frame
) -> None:
    sink = PostgresSink(postgres, table, key=["page"], operation="operation")
    schema = "page string, clicks long, operation string"

    sink.write(frame(schema, ("a", 1, "insert"), ("b", 1, None)), "s", 0)
    sink.write(frame(schema, ("a", 2, "insert"), ("a", 1, "retract"), ("b", 1, "delete")), "s", 1)

    assert rows_in(postgres) == [("a", 2)]


def test_a_batch_that_fails_half_way_leaves_nothing(postgres: str, table: str, frame: Frame) -> None:
    sink = PostgresSink(postgres, table)
    schema = "page string, clicks long"

    with pytest.raises(psycopg.errors.UniqueViolation):
        sink.write(frame(schema, ("a", 1), ("a", 2)), "s", 0)
    sink.write(frame(schema, ("a", 3)), "s", 0)

    assert rows_in(postgres) == [("a", 3)]


def test_values_arrive_as_they_are(postgres: str, table: str, riverlog_spark: SparkSession) -> None:
    with psycopg.connect(postgres) as connection:
        connection.execute("DROP TABLE IF EXISTS kinds")
        columns = "t text, b bytea, n numeric, d date, y bool, at timestamptz, f float, l int[]"
        connection.execute(f"CREATE TABLE kinds ({columns})")
    query = r"""SELECT 'a	\\N"é' AS t, X'00ff' AS b, 1.50BD AS n, date'2026-01-02' AS d, true AS y,
                       timestamp'2026-01-02 03:04:05.678901Z' AS at, double('inf') AS f, array(1, 2) AS l"""
    sent = riverlog_spark.sql(query)

    PostgresSink(postgres, "kinds").write(sent, "s", 0)

    [row] = rows_in(postgres, "SELECT t, b, n::text, d::text, y, at AT TIME ZONE 'UTC', f, l FROM kinds")
    expected = sent.collect()[0]
    assert (row[0], row[1], row[2], row[3], row[4]) == (
        expected["t"],
        b"\x00\xff",
        "1.50",
        "2026-01-02",
        True,
    )
    assert str(row[5]) == "2026-01-02 03:04:05.678901"
    assert row[6:] == (float("inf"), [1, 2])


def test_a_key_that_is_no_column_is_refused(postgres: str, table: str, frame: Frame, tmp_path: Path) -> None:
    rows = frame("page string", ("a",))

    with pytest.raises(ColumnRefused, match="key='id'"):
        PostgresSink(postgres, table, key=["id"]).write(rows, "s", 0)
    with pytest.raises(ColumnRefused, match="key='id'"):
        DuckDBSink(tmp_path / "d", "t", key=["id"]).write(rows, "s", 0)
    with pytest.raises(RiverlogError, match="wants a `key`"):
        PostgresSink(postgres, table, operation="operation")
    with pytest.raises(RiverlogError, match="a list of names"):
        DuckDBSink(tmp_path / "d", "t", key="page")


def test_duckdb_keeps_the_newest_row_of_a_key_too(frame: Frame, tmp_path: Path) -> None:
    sink = DuckDBSink(tmp_path / "shop.duckdb", "my totals", key=["page"])

    sink.write(frame("page string, clicks long", ("a", 1), ("b", 1)), "s", 0)
    sink.write(frame("clicks long, page string", (5, "a")), "s", 1)
    sink.write(frame("clicks long, page string", (5, "a")), "s", 1)

    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        found = connection.execute('SELECT page, clicks FROM "my totals" ORDER BY page').fetchall()
    assert found == [("a", 5), ("b", 1)]
