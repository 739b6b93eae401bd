"""Topics read through Spark, from a live broker: what comes out, and what a query does when things change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from riverlog.client import Admin, GroupAdmin
from riverlog.pipelines import query_lag
from riverlog.testing import broker
from riverlog.testing.broker_process import BrokerProcess
from tests.eventually import eventually

pytestmark = pytest.mark.spark

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
NOON = 1_738_324_800_000
WAIT_SECONDS = 60


@pytest.fixture
def spark(riverlog_spark: SparkSession) -> SparkSession:
    return riverlog_spark


@pytest.fixture
def live(riverlog_broker: BrokerProcess) -> BrokerProcess:
    return riverlog_broker


def write(bootstrap: str, topic: str, values: list[str], *, partition: int = 0, **settings: Any) -> None:
    """Append records that tell their value in the key too."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, **settings})
    for value in values:
        producer.produce(topic, value.encode(), value.encode(), partition=partition)
    assert producer.flush(WAIT_SECONDS) == 0


def frame(spark: SparkSession, bootstrap: str, **options: Any) -> DataFrame:
    return spark.read.format("riverlog").options(bootstrap=bootstrap, **options).load()


def values(frame: DataFrame) -> list[str]:
    rows = frame.select("partition", "offset", "value").collect()
    return [bytes(row.value).decode() for row in sorted(rows)]


class Query:
    """A stream that is started again and again on one checkpoint; what each batch had is kept."""

    def __init__(self, spark: SparkSession, directory: Path, bootstrap: str, **options: Any) -> None:
        self.spark = spark
        self.checkpoint = str(directory / "checkpoint")
        self.options = {"bootstrap": bootstrap, "startingOffsets": "earliest"} | options
        self.batches: list[tuple[int, list[str]]] = []
        self.fails_in: int | None = None
        self.progress: list[dict[str, Any]] = []

    def run(self, **changed: Any) -> list[str]:
        """Read what there is, and give the values of this run."""
        stream = self.spark.readStream.format("riverlog").options(**self.options | changed).load()
        done = len(self.batches)
        query = (
            stream.writeStream.foreachBatch(self._take)
            .option("checkpointLocation", self.checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            assert query.awaitTermination(WAIT_SECONDS)
        finally:
            query.stop()
        self.progress = [dict(each) for each in query.recentProgress]
        return [value for _, batch in self.batches[done:] for value in batch]

    def _take(self, batch: DataFrame, number: int) -> None:
        found = values(batch)
        if number == self.fails_in:
            raise RuntimeError("the batch fails on purpose")
        self.batches.append((number, found))


@pytest.fixture
def query(spark: SparkSession, live: BrokerProcess, tmp_path: Path) -> Callable[..., Query]:
    return lambda **options: Query(spark, tmp_path, live.bootstrap, **options)


def numbered(start: int, end: int) -> list[str]:
    return [f"{number:04d}" for number in range(start, end)]


# Batches


def test_records_come_out_with_all_their_parts(
    spark: SparkSession, live: BrokerProcess, riverlog_topic: str
) -> None:
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": live.bootstrap, "compression.type": codec, "log_level": 0})
        producer.produce(
            riverlog_topic, b"v" * 99, codec.encode(), timestamp=NOON, headers=[("a", b"1"), ("a", None)]
        )
        producer.produce(riverlog_topic, None, None, timestamp=NOON + 1)
        assert producer.flush(WAIT_SECONDS) == 0

    read = frame(spark, live.bootstrap, subscribe=riverlog_topic, includeHeaders="true").orderBy("offset")
    rows = read.selectExpr("*", "unix_millis(timestamp) as millis").collect()

    assert [row.offset for row in rows] == list(range(10))
    for number, codec in enumerate(CODECS):
        full, empty = rows[2 * number : 2 * number + 2]
        assert (bytes(full.key), bytes(full.value)) == (codec.encode(), b"v" * 99)
        assert [(each.key, each.value and bytes(each.value)) for each in full.headers] == [
            ("a", b"1"),
            ("a", None),
        ]
        assert (full.topic, full.partition, full.timestampType) == (riverlog_topic, 0, 0)
        assert (empty.key, empty.value, empty.headers) == (None, None, [])
        assert (full.millis, empty.millis) == (NOON, NOON + 1)


def test_a_batch_reads_a_range_by_offset_and_by_time(
    spark: SparkSession, live: BrokerProcess, riverlog_new_topic: Callable[..., str]
) -> None:
    topic = riverlog_new_topic(partitions=2)
    producer = Producer({"bootstrap.servers": live.bootstrap, "log_level": 0})
    for number in range(20):
        producer.produce(topic, b"%02d" % number, partition=number % 2, timestamp=NOON + 1000 * number)
    assert producer.flush(WAIT_SECONDS) == 0

    def read(**options: Any) -> list[str]:
        return sorted(values(frame(spark, live.bootstrap, **options)))

    by_offset = read(
        subscribe=topic,
        startingOffsets=f'{{"{topic}": {{"0": 2, "1": -2}}}}',
        endingOffsets=f'{{"{topic}": {{"0": -1, "1": 1}}}}',
    )
    assert by_offset == ["01", "04", "06", "08", "10", "12", "14", "16", "18"]
    by_time = read(subscribe=topic, startingTimestamp=NOON + 5000, endingTimestamp=NOON + 8000)
    assert by_time == ["05", "06", "07"]
    assert read(assign=f'{{"{topic}": [1]}}') == [f"{number:02d}" for number in range(1, 20, 2)]
    assert read(subscribePattern=f"{topic[:-1]}.", minPartitions=7, maxRecordsPerPartition=3) == [
        f"{number:02d}" for number in range(20)
    ]
    assert read(subscribe=topic, startingOffsets=f'{{"{topic}": {{"0": 10, "1": 10}}}}') == []


def test_a_choice_of_columns_is_all_that_is_decoded(
    spark: SparkSession, live: BrokerProcess, riverlog_topic: str
) -> None:
    write(live.bootstrap, riverlog_topic, ["a", "b"])
    chosen = frame(spark, live.bootstrap, subscribe=riverlog_topic, columns="value,offset")
    declared = (
        spark.read.format("riverlog")
        .schema("offset bigint")
        .options(bootstrap=live.bootstrap, subscribe=riverlog_topic)
    )

    assert [tuple(row) for row in chosen.collect()] == [(b"a", 0), (b"b", 1)]
    assert [tuple(row) for row in declared.load().collect()] == [(0,), (1,)]


def test_records_of_aborted_and_open_transactions_are_unseen(
    spark: SparkSession, live: BrokerProcess, riverlog_topic: str
) -> None:
    producer = Producer(
        {"bootstrap.servers": live.bootstrap, "transactional.id": riverlog_topic, "log_level": 0}
    )
    producer.init_transactions(WAIT_SECONDS)
    for value, end in (("no", producer.abort_transaction), ("yes", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(riverlog_topic, value)
        assert producer.flush(WAIT_SECONDS) == 0
        end(WAIT_SECONDS)
    producer.begin_transaction()
    producer.produce(riverlog_topic, "open")
    assert producer.flush(WAIT_SECONDS) == 0

    assert values(frame(spark, live.bootstrap, subscribe=riverlog_topic)) == ["yes"]
    seen = values(frame(spark, live.bootstrap, subscribe=riverlog_topic, isolation="read_uncommitted"))
    assert seen == ["no", "yes", "open"]
    producer.abort_transaction(WAIT_SECONDS)


def test_segment_files_of_the_broker_are_read_where_they_are_at_hand(
    spark: SparkSession, live: BrokerProcess, riverlog_topic: str, tmp_path: Path
) -> None:
    write(live.bootstrap, riverlog_topic, numbered(0, 50))
    data = getattr(live, "data", tmp_path)  # a broker that was named may be on another machine
    here = frame(spark, live.bootstrap, subscribe=riverlog_topic, directory=str(data), minPartitions=3)
    elsewhere = frame(spark, live.bootstrap, subscribe=riverlog_topic, directory=str(tmp_path))

    assert values(here) == values(elsewhere) == numbered(0, 50)


def test_an_option_that_is_misspelt_and_a_topic_that_is_not_there_are_named(
    spark: SparkSession, live: BrokerProcess
) -> None:
    with pytest.raises(PySparkException, match="failondatalost"):
        frame(spark, live.bootstrap, subscribe="clicks", failOnDataLost="false")
    with pytest.raises(PySparkException, match=r"nowhere.*UNKNOWN_TOPIC_OR_PARTITION"):
        frame(spark, live.bootstrap, subscribe="nowhere").collect()


# Streams


def test_a_stream_goes_on_where_it_ended_in_batches_of_limited_size(
    live: BrokerProcess, query: Callable[..., Query], riverlog_topic: str
) -> None:
    write(live.bootstrap, riverlog_topic, numbered(0, 25))
    reading = query(subscribe=riverlog_topic, maxOffsetsPerTrigger=10)

    assert reading.run() == numbered(0, 25)
    assert [len(batch) for _, batch in reading.batches] == [10, 10, 5]
    assert reading.progress[0]["sources"][0]["latestOffset"] == f'{{"{riverlog_topic}": {{"0": 25}}}}'
    assert reading.run() == []
    write(live.bootstrap, riverlog_topic, numbered(25, 30))
    assert reading.run() == numbered(25, 30)


def test_a_batch_that_failed_is_repeated_as_it_was_also_the_first(
    live: BrokerProcess, query: Callable[..., Query], riverlog_topic: str
) -> None:
    reading = query(subscribe=riverlog_topic, startingOffsets="latest", minPartitions=3)
    reading.fails_in = 0
    write(live.bootstrap, riverlog_topic, numbered(0, 4))
    with pytest.raises(PySparkException, match="on purpose"):
        reading.run(startingOffsets="earliest")

    write(live.bootstrap, riverlog_topic, numbered(4, 9))
    reading.fails_in = 1
    with pytest.raises(PySparkException, match="on purpose"):
        reading.run()  # asked anew, `latest` would be behind the first batch
    assert reading.batches == [(0, numbered(0, 4))]
    write(live.bootstrap, riverlog_topic, numbered(9, 12))
    reading.fails_in = None
    reading.run()

    assert reading.batches == [(0, numbered(0, 4)), (1, numbered(4, 9)), (2, numbered(9, 12))]


def test_new_partitions_and_new_topics_that_fit_are_read_from_their_start(
    live: BrokerProcess, query: Callable[..., Query], riverlog_new_topic: Callable[..., str]
) -> None:
    first = riverlog_new_topic()
    write(live.bootstrap, first, ["a"])
    reading = query(subscribePattern=f"{first}.*")
    assert reading.run() == ["a"]

    with Admin(live.bootstrap) as admin:
        admin.add_partitions(first, 2)
        admin.create_topic(f"{first}-more")
    write(live.bootstrap, first, ["b"], partition=1)
    write(live.bootstrap, f"{first}-more", ["c"])

    assert sorted(reading.run()) == ["b", "c"]
    assert reading.run() == []


def test_records_that_were_deleted_end_a_query_by_name_or_are_passed_over(
    live: BrokerProcess, query: Callable[..., Query], riverlog_topic: str
) -> None:
    write(live.bootstrap, riverlog_topic, numbered(0, 10))
    reading = query(subscribe=riverlog_topic)
    assert reading.run() == numbered(0, 10)
    write(live.bootstrap, riverlog_topic, numbered(10, 20))
    with Admin(live.bootstrap) as admin:
        admin.delete_records(riverlog_topic, {0: 15})

    with pytest.raises(PySparkException, match=rf"{riverlog_topic}-0: .* offset 10 up to 15 were deleted"):
        reading.run()
    assert reading.run(failOnDataLoss="false") == numbered(15, 20)


def test_a_topic_that_is_gone_ends_a_query_by_name_or_is_left_out(
    live: BrokerProcess, query: Callable[..., Query], riverlog_new_topic: Callable[..., str]
) -> None:
    kept, gone = riverlog_new_topic(), riverlog_new_topic()
    write(live.bootstrap, kept, ["a"])
    write(live.bootstrap, gone, ["b"])
    reading = query(subscribe=f"{kept},{gone}")
    assert sorted(reading.run()) == ["a", "b"]
    with Admin(live.bootstrap) as admin:
        admin.delete_topic(gone)
    write(live.bootstrap, kept, ["c"])

    with pytest.raises(PySparkException, match=f"{gone}-0 is gone"):
        reading.run()
    assert reading.run(failOnDataLoss="false") == ["c"]


def test_a_group_shows_how_far_a_query_has_come(
    live: BrokerProcess, query: Callable[..., Query], riverlog_topic: str
) -> None:
    write(live.bootstrap, riverlog_topic, numbered(0, 12))
    reading = query(subscribe=riverlog_topic, group=riverlog_topic, maxOffsetsPerTrigger=5)
    reading.run()

    with GroupAdmin(live.bootstrap) as admin:
        assert admin.committed(riverlog_topic) == {(riverlog_topic, 0): 12}
    assert [query_lag(each) for each in reading.progress[:3]] == [
        {riverlog_topic: {0: 7}},
        {riverlog_topic: {0: 2}},
        {riverlog_topic: {0: 0}},
    ]


def test_a_group_that_is_in_use_does_not_keep_a_query_from_reading(
    live: BrokerProcess, query: Callable[..., Query], riverlog_topic: str
) -> None:
    write(live.bootstrap, riverlog_topic, numbered(0, 3))
    member = Consumer({"bootstrap.servers": live.bootstrap, "group.id": riverlog_topic, "log_level": 0})
    member.subscribe([riverlog_topic])
    try:
        eventually(lambda: member.poll(0.05) is None and bool(member.assignment()), "the member joins")
        assert query(subscribe=riverlog_topic, group=riverlog_topic).run() == numbered(0, 3)
    finally:
        member.close()


def test_a_stream_outlives_a_broker_that_starts_again(spark: SparkSession, tmp_path: Path) -> None:
    with broker() as own:
        with Admin(own.bootstrap) as admin:
            admin.create_topic("clicks")
        write(own.bootstrap, "clicks", ["a"])
        stream = (
            spark.readStream.format("riverlog")
            .options(bootstrap=own.bootstrap, subscribe="clicks", startingOffsets="earliest")
            .load()
        )
        seen: list[str] = []
        running = (
            stream.writeStream.foreachBatch(lambda batch, _: seen.extend(values(batch)))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )
        try:
            running.processAllAvailable()
            own.kill()
            own.start()
            write(own.bootstrap, "clicks", ["b"])
            running.processAllAvailable()
        finally:
            running.stop()

    assert seen == ["a", "b"]
