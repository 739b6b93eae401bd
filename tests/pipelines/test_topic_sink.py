"""The sink of topics under Spark: batches that run again, tasks that fail, frames that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from riverlog.client import UnknownTopic
from riverlog.pipelines.sinks import TopicSink
from riverlog.pipelines.sinks.foreach import BatchSink
from riverlog.pipelines.sinks.markers import Place
from riverlog.pipelines.sinks.options import topic_options
from riverlog.pipelines.sinks.transaction import write_task
from riverlog.testing import broker
from riverlog.testing.broker_process import BrokerProcess
from riverlog.testing.pipelines import Streams
from tests.committed_reader import committed

pytestmark = pytest.mark.spark


Written = Callable[[], list[Any]]


@pytest.fixture
def written(riverlog_broker: BrokerProcess, riverlog_topic: str) -> Written:
    """The values in the topic, as a reader of committed records sees them, in order of their content."""
    return lambda: sorted(
        json.loads(record.value) for record in committed(riverlog_broker.bootstrap, riverlog_topic)
    )


@pytest.fixture
def options(riverlog_broker: BrokerProcess, riverlog_topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": riverlog_broker.bootstrap, "topic": riverlog_topic}


class Counting:
    """A query that counts words by minute, topic-shaped: it can be stopped, started, and made to forget."""

    def __init__(self, streams: Streams, options: dict[str, str], directory: Path) -> None:
        self.words = streams.source("word string, at timestamp", event_time="at")
        counted = self.words.frame.groupBy(F.window("at", "1 minute"), "word").count()
        self.rows = counted.select(
            F.col("word").alias("key"),
            F.to_json(F.array("word", F.col("count").cast("string"))).alias("value"),
        )
        self._options = options
        self._checkpoint = directory

    def run(self, way: Callable[[DataFrame, int], Any] | None = None) -> None:
        """Process all there is, and stop."""
        writer = self.rows.writeStream.trigger(availableNow=True).option(
            "checkpointLocation", str(self._checkpoint)
        )
        if way is None:
            query = writer.format("riverlog").options(**self._options).start()
        else:
            query = writer.outputMode("update").foreachBatch(way).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()

    def forget_the_last_commit(self) -> None:
        """As if the driver had died after the sink was done and before Spark noted it."""
        commits = self._checkpoint / "commits"
        last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)


@pytest.fixture
def counting(riverlog_streams: Streams, options: dict[str, str], tmp_path: Path) -> Counting:
    return Counting(riverlog_streams, options, tmp_path / "checkpoint")


def test_a_batch_that_runs_again_is_in_the_topic_once_and_its_state_goes_on(
    counting: Counting, written: Written
) -> None:
    counting.words.feed(("a", "10:00:01"), ("b", "10:00:02"), ("a", "10:00:03"), ("a", "10:01:01"))
    counting.words.advance("10:01:00")
    counting.run()
    first = written()
    assert first == [["a", "2"], ["b", "1"]]

    counting.forget_the_last_commit()
    counting.words.feed(("a", "10:01:05"))
    counting.words.advance("10:02:00")
    counting.run()

    assert written() == sorted([*first, ["a", "2"]])


def test_the_mode_update_is_had_through_foreach_batch(
    counting: Counting, written: Written, options: dict[str, str]
) -> None:
    sink = TopicSink(options["topic"], bootstrap=options["kafka.bootstrap.servers"])
    counting.words.feed(("a", "10:00:01"))
    counting.run(sink)
    counting.words.feed(("a", "10:00:02"), ("b", "10:00:02"))
    counting.run(sink)
    counting.forget_the_last_commit()
    counting.run(TopicSink(options["topic"], bootstrap=options["kafka.bootstrap.servers"]))

    assert written() == [["a", "1"], ["a", "2"], ["b", "1"]]


def test_two_sinks_of_one_name_in_one_query_are_refused(counting: Counting, options: dict[str, str]) -> None:
    one, other = (TopicSink(options["topic"], bootstrap=options["kafka.bootstrap.servers"]) for _ in range(2))

    def both(frame: DataFrame, batch: int) -> None:
        one(frame, batch)
        other(frame, batch)

    counting.words.feed(("a", "10:00:01"))
    with pytest.raises(PySparkException, match="give one of them a `name`"):
        counting.run(both)


def test_a_sink_outside_of_a_query_is_refused(riverlog_spark: SparkSession, options: dict[str, str]) -> None:
    sink: BatchSink = TopicSink(options["topic"], bootstrap=options["kafka.bootstrap.servers"])

    with pytest.raises(Exception, match="pass it to foreachBatch"):
        sink(riverlog_spark.range(1).selectExpr("'x' AS value"), 0)


def test_a_task_that_failed_is_written_when_it_runs_again_and_the_others_are_there_once(
    riverlog_spark: SparkSession, written: Written, options: dict[str, str], tmp_path: Path
) -> None:
    broken, folder = tmp_path / "broken", tmp_path / "in"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.json").write_text(json.dumps({"n": number}) + "\n")
    broken.touch()

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if broken.exists() and 3 in batch.column("n").to_pylist():
                raise RuntimeError("as if the worker had died")
            yield batch

    read = riverlog_spark.readStream.schema("n long").json(str(folder))
    riverlog_spark.conf.set("riverlog_spark.sql.files.maxPartitionBytes", "1")
    try:
        rows = read.mapInArrow(fail_once, "n long").selectExpr("to_json(array(n)) AS value")
        writer = (
            rows.writeStream.format("riverlog")
            .options(**options)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
        )
        query = writer.start()
        with pytest.raises(PySparkException, match="as if the worker had died"):
            query.awaitTermination()
        before = written()
        broken.unlink()
        writer.start().awaitTermination()
    finally:
        riverlog_spark.conf.unset("riverlog_spark.sql.files.maxPartitionBytes")

    assert [3] not in before
    assert written() == [[0], [1], [2], [3]]


def test_a_batch_is_written_with_all_that_a_record_may_say(
    riverlog_spark: SparkSession, riverlog_new_topic: Callable[..., str], riverlog_broker: BrokerProcess
) -> None:
    one, other = riverlog_new_topic(partitions=2), riverlog_new_topic(partitions=2)
    frame = riverlog_spark.sql(
        f"""SELECT 'k' AS key, 'v' AS value, '{one}' AS topic, 1 AS partition,
                   timestamp'2026-01-01' AS timestamp,
                   array(struct('h' AS key, binary('x') AS value)) AS headers
            UNION ALL SELECT null, null, '{other}', 0, null, null"""
    )

    frame.write.format("riverlog").mode("append").option("bootstrap", riverlog_broker.bootstrap).save()

    assert [tuple(each) for each in committed(riverlog_broker.bootstrap, one, 2)] == [(1, b"k", b"v")]
    assert len(committed(riverlog_broker.bootstrap, other, 2)) == 1


def test_a_numbered_write_whose_tasks_may_change_is_refused(
    riverlog_spark: SparkSession, options: dict[str, str]
) -> None:
    numbered = {**options, "sinkId": options["topic"], "batchId": "0"}
    frame = riverlog_spark.range(1).selectExpr("'x' AS value")
    frame.write.format("riverlog").mode("append").options(**numbered).save()
    riverlog_spark.conf.set("spark.sql.adaptive.enabled", "true")
    try:
        with pytest.raises(PySparkException, match=r"spark\.sql\.adaptive\.enabled=false"):
            frame.write.format("riverlog").mode("append").options(**numbered).save()
        frame.write.format("riverlog").mode("append").options(**options).save()
    finally:
        riverlog_spark.conf.set("spark.sql.adaptive.enabled", "false")


def test_a_stream_without_state_keeps_its_tasks_unless_somebody_insists(
    riverlog_spark: SparkSession, options: dict[str, str], written: Written, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"n": 1}\n')
    rows = riverlog_spark.readStream.schema("n long").json(str(tmp_path / "in")).repartition("n")
    values = rows.selectExpr("to_json(array(n)) AS value")

    def run(checkpoint: str) -> None:
        writer = values.writeStream.format("riverlog").options(**options).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / checkpoint)).start().awaitTermination()

    streams = "spark.sql.adaptive.streaming.stateless.enabled"
    riverlog_spark.conf.set("spark.sql.adaptive.enabled", "true")
    try:
        run("one")
        riverlog_spark.conf.set(streams, "true")
        with pytest.raises(PySparkException, match="may change the tasks of this query"):
            run("other")
    finally:
        riverlog_spark.conf.set("spark.sql.adaptive.enabled", "false")
        riverlog_spark.conf.set(streams, "false")

    assert written() == [[1]]


def test_a_function_for_foreach_batch_may_shuffle(
    counting: Counting, written: Written, options: dict[str, str], riverlog_spark: SparkSession
) -> None:
    sink = TopicSink(options["topic"], bootstrap=options["kafka.bootstrap.servers"])
    counting.words.feed(("a", "10:00:01"))
    riverlog_spark.conf.set("spark.sql.adaptive.enabled", "true")
    try:
        counting.run(lambda frame, batch: sink(frame.repartition("key"), batch))
    finally:
        riverlog_spark.conf.set("spark.sql.adaptive.enabled", "false")

    assert written() == [["a", "1"]]


def test_a_frame_that_cannot_be_written_is_refused_before_anything_runs(
    riverlog_spark: SparkSession, options: dict[str, str]
) -> None:
    frame = riverlog_spark.range(1).selectExpr("'x' AS value", "id AS amount")

    with pytest.raises(PySparkException, match="nowhere: amount"):
        frame.write.format("riverlog").mode("append").options(**options).save()
    with pytest.raises(PySparkException, match="topc='totals'"):
        frame.write.format("riverlog").mode("append").options(**options, topc="totals").save()


def test_a_topic_that_is_not_there_is_named() -> None:
    batch = pa.record_batch({"value": ["x"]})
    with broker(auto_create_topics_enable="false") as running:
        options = topic_options({"bootstrap": running.bootstrap, "topic": "nowhere"}, is_stream=True)

        with pytest.raises(UnknownTopic, match="'nowhere' does not exist"):
            write_task(options, Place("s", 0, 0), [batch])
