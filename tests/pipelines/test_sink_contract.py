"""What every sink promises, whatever lies behind it: a batch is there once, and whole.

Each sink is driven to the point before it makes a batch visible, and there it dies, or is overtaken by a
second attempt that runs from start to end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Protocol, TypeAlias

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from riverlog.pipelines.sinks.duckdb import DuckDBSink
from riverlog.pipelines.sinks.foreach import BatchSink
from riverlog.pipelines.sinks.markers import Place
from riverlog.pipelines.sinks.options import TopicOptions, topic_options
from riverlog.pipelines.sinks.parquet import ParquetSink, committed_files
from riverlog.pipelines.sinks.postgres import PostgresSink
from riverlog.pipelines.sinks.transaction import TaskFenced, TaskTransaction, write_task
from riverlog.testing.broker_process import BrokerProcess
from tests.committed_reader import committed

pytestmark = pytest.mark.spark

Rows: TypeAlias = Sequence[str]
Moment: TypeAlias = Callable[[], None]
"""What happens when an attempt is about to make its batch visible."""

SINK = "query-of-the-test"
_numbers = count()


class Died(Exception):
    """The attempt ends here, as by kill -9."""


class Attempts(Protocol):
    """One sink, as a test drives it."""

    def write(self, batch: int, rows: Rows) -> None: ...

    def write_until(self, moment: Moment, batch: int, rows: Rows) -> None:
        """Write, with something happening before the batch is visible; being refused is no failure."""

    def read(self) -> list[str]: ...


class TopicAttempts:
    """One task of the topic sink."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._options: TopicOptions = topic_options({"bootstrap": bootstrap, "topic": topic}, is_stream=True)
        self._sink = topic
        self._dead: list[TaskTransaction] = []

    def write(self, batch: int, rows: Rows) -> None:
        write_task(self._options, Place(self._sink, batch, 0), [_batch(rows)])

    def write_until(self, moment: Moment, batch: int, rows: Rows) -> None:
        attempt = TaskTransaction(self._options, Place(self._sink, batch, 0))
        self._dead.append(attempt)  # kept, so that it is not closed in order
        attempt.fence()
        sent = attempt.send([_batch(rows)])
        moment()
        with pytest.raises(TaskFenced):
            attempt.commit(sent)

    def read(self) -> list[str]:
        found = committed(self._options.bootstrap, self._sink)
        return [record.value.decode() for record in found]


class BatchAttempts:
    """A sink for foreachBatch."""

    def __init__(
        self, spark: SparkSession, sink: BatchSink, last_step: str, read: Callable[[], list[str]]
    ) -> None:
        self._spark = spark
        self._sink = sink
        self._last_step = last_step
        self.read = read

    def _frame(self, rows: Rows) -> DataFrame:
        return self._spark.createDataFrame([(row,) for row in rows], "value string")

    def write(self, batch: int, rows: Rows) -> None:
        self._sink.write(self._frame(rows), SINK, batch)

    def write_until(self, moment: Moment, batch: int, rows: Rows) -> None:
        step = getattr(self._sink, self._last_step)

        def interrupted(*arguments: object) -> object:
            setattr(self._sink, self._last_step, step)
            moment()
            return step(*arguments)

        setattr(self._sink, self._last_step, interrupted)
        self.write(batch, rows)


def _batch(rows: Rows) -> pa.RecordBatch:
    return pa.record_batch({"value": list(rows)})


@pytest.fixture(params=["topic", "postgres", "parquet", "duckdb"])
def attempts(request: pytest.FixtureRequest, tmp_path: Path) -> Attempts:
    if request.param == "topic":
        broker: BrokerProcess = request.getfixturevalue("riverlog_broker")
        return TopicAttempts(broker.bootstrap, request.getfixturevalue("riverlog_topic"))
    spark: SparkSession = request.getfixturevalue("riverlog_spark")
    if request.param == "postgres":
        import psycopg

        uri, table = request.getfixturevalue("postgres"), f"rows_{next(_numbers)}"
        with psycopg.connect(uri) as connection:
            connection.execute(f"CREATE TABLE {table} (value text)")
            connection.execute("DROP TABLE IF EXISTS riverlog_sinks")

        def read_table() -> list[str]:
            with psycopg.connect(uri) as connection:
                return [row[0] for row in connection.execute(f"SELECT value FROM {table}").fetchall()]

        return BatchAttempts(spark, PostgresSink(uri, table), "_connected", read_table)
    import duckdb

    if request.param == "parquet":

        def read_files() -> list[str]:
            files = committed_files(tmp_path / "rows")
            return [row[0] for row in duckdb.read_parquet(files).fetchall()] if files else []

        return BatchAttempts(spark, ParquetSink(tmp_path / "rows"), "_publish", read_files)
    path = str(tmp_path / "rows.duckdb")

    def read_duckdb() -> list[str]:
        with duckdb.connect(path) as connection:
            if ("rows",) not in connection.execute("SHOW TABLES").fetchall():
                return []
            return [row[0] for row in connection.execute("SELECT value FROM rows").fetchall()]

    return BatchAttempts(spark, DuckDBSink(path, "rows"), "_connected", read_duckdb)


def _dies() -> None:
    raise Died


def test_batches_follow_each_other_and_one_that_runs_again_is_there_once(attempts: Attempts) -> None:
    attempts.write(0, ["a", "b"])
    attempts.write(0, ["a", "b"])
    attempts.write(1, ["c"])
    attempts.write(1, ["c"])
    attempts.write(4, ["a"])

    assert sorted(attempts.read()) == ["a", "a", "b", "c"]


def test_an_attempt_that_dies_before_its_last_step_leaves_nothing_and_the_next_writes_all(
    attempts: Attempts,
) -> None:
    attempts.write(0, ["a"])
    with pytest.raises(Died):
        attempts.write_until(_dies, 1, ["b", "c"])
    seen = attempts.read() if not isinstance(attempts, TopicAttempts) else ["a"]
    assert seen == ["a"]

    attempts.write(1, ["b", "c"])

    assert sorted(attempts.read()) == ["a", "b", "c"]


def test_a_zombie_that_goes_on_when_its_successor_is_done_writes_nothing(attempts: Attempts) -> None:
    attempts.write_until(lambda: attempts.write(0, ["a", "b"]), 0, ["a", "b"])

    assert sorted(attempts.read()) == ["a", "b"]


def test_a_zombie_that_goes_on_batches_later_writes_nothing(attempts: Attempts) -> None:
    def successors() -> None:
        for batch in range(3):
            attempts.write(batch, [json.dumps(batch)])

    attempts.write_until(successors, 0, ["0"])

    assert sorted(attempts.read()) == ["0", "1", "2"]
