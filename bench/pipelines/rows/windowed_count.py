"""Events counted by key and tumbling window, from a topic of JSON to a topic of JSON.

    events (key, at, page, cents) ──▶ count by key and 10 s ──▶ {"key":"k17","since":...,"count":...}

Each contender parses the JSON, goes by the events' own times, and writes a count once its window is over.
First it does the same with half as many events of another topic, in the same JVM, as a job does that has run
for a while. What is timed begins when it then submits its job, and ends when the counts that have been read
from the output add up to all events.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import confluent_kafka

from bench.broker import Broker
from bench.connection import Client
from bench.errors import LoadFailed, Miscounted
from bench.isolation import in_own_process
from bench.pipelines import java_program, spark
from bench.pipelines.contest import Contest, Figure, Promise
from bench.pipelines.program import Program
from bench.process import cpu_seconds
from bench.row import Sample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = 5_000_000
WARM_UP_EVENTS = 2_500_000
TOPIC, WARM_UP = "events", "events-before"
PARTITIONS = 4
KEYS = 1000
PAGES, CENTS = 97, 9973
SCHEMA = "key string, at bigint"
WINDOW_MS = 10_000
EVENTS_PER_SECOND = 10_000
"""By the events' own clock."""
BEGINS_MS = 1_700_000_000_000
CLOSING_KEY = "closing"
BEFORE = "-before"
"""Ends the names of what belongs to the job that comes first."""
TICK_SECONDS = 0.5
TURN_SECONDS_MAX = 240.0
SEED = 3
QUEUE_MESSAGES = 1_000_000

RIVERLOG, CONNECTOR = "riverlog on Spark", "Spark's Kafka connector"
STREAMS, FLINK = "Kafka Streams", "Flink SQL"


class Events(NamedTuple):
    """What is in the topic."""

    count: int
    results: int
    """How many counts there must be."""


def fill(port: int, topic: str, count: int) -> Events:
    """Load: write events in the order of their times, and what ends their windows.

    A key stays in one partition.
    """
    chance = random.Random(SEED)
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "linger.ms": 50,
            "queue.buffering.max.messages": QUEUE_MESSAGES,
        }
    )
    keys = [f"k{number}".encode() for number in range(KEYS)]
    numbers = range(KEYS)
    found: set[tuple[int, int]] = set()
    for start in range(0, count, 1000):
        for place, number in enumerate(chance.choices(numbers, k=1000), start):
            at = BEGINS_MS + place * 1000 // EVENTS_PER_SECOND
            found.add((number, at // WINDOW_MS))
            key = keys[number]
            more = (number % PAGES, place % CENTS)
            more = (number % PAGES, place % CENTS)
            value = b'{"key":"%s","at":%d,"page":"/shop/%d","cents":%d}' % (key, at, *more)
            _send(producer, topic, value, key, number % PARTITIONS)
        producer.poll(0)
    _tick(producer, topic)
    if producer.flush(60):
        raise LoadFailed("the broker did not acknowledge all events")
    return Events(count, len(found))


def _send(producer: confluent_kafka.Producer, topic: str, value: bytes, key: bytes, partition: int) -> None:
    while True:
        try:
            producer.produce(topic, value, key, partition)
            return
        except BufferError:
            producer.poll(0.1)


def prepare(broker: Broker, scale: float) -> Events:
    """Write the topics."""
    with Client(broker.port) as client:
        client.create_topics({TOPIC: PARTITIONS, WARM_UP: PARTITIONS})
    in_own_process(fill, broker.port, WARM_UP, int(WARM_UP_EVENTS * scale) // 1000 * 1000)
    return in_own_process(fill, broker.port, TOPIC, int(EVENTS * scale) // 1000 * 1000)


def command(contender: str, port: int, output: str, scratch: str, warm_up: int) -> list[str]:
    """Give the command line of a contender."""
    address = f"127.0.0.1:{port}"
    arguments = [address, WARM_UP, TOPIC, output, str(WINDOW_MS)]
    match contender:
        case _ if contender == STREAMS:
            settings = {
                "application.id": output,
                "auto.offset.reset": "earliest",
                "num.stream.threads": str(spark.cores()),
                "commit.interval.ms": "1000",
                "state.dir": scratch,
            }
            texts = [f"{name}={value}" for name, value in settings.items()]
            return [*java_program.streams_program("WindowedCount"), *arguments, str(warm_up), *texts]
        case _ if contender == FLINK:
            return [
                *java_program.flink_program("FlinkWindowedCount"),
                *(*arguments, str(spark.cores()), "10000"),
            ]
    formats = spark.RIVERLOG if contender == RIVERLOG else spark.KAFKA
    return [sys.executable, "-m", __name__, formats, str(port), output, scratch]


def measure(broker: Broker, events: Events, contender: str, turn: int) -> Sample:
    """Take one turn: start the contender, and read its output until all events are counted."""
    if contender == CONNECTOR:
        spark.connector_jars()
    warm_up = events.count * WARM_UP_EVENTS // EVENTS
    output = f"counts-{turn}-{contender.lower().replace(' ', '-').replace(chr(39), '')}"
    with Client(broker.port) as client:
        client.create_topics({output: 1, f"{output}{BEFORE}": 1})
    with (
        tempfile.TemporaryDirectory(prefix="riverlog-bench-", ignore_cleanup_errors=True) as scratch,
        Program(command(contender, broker.port, output, scratch, warm_up)) as program,
    ):
        program.await_start()
        began, began_cpu = time.perf_counter(), program.cpu_seconds
        began_broker = cpu_seconds(broker.pid)
        results = await_counts(broker.port, output, events, program)
        seconds = time.perf_counter() - began
        millions = events.count / 1e6
        sample = {
            "rate": events.count / seconds / 1e3,
            "cpu": (program.cpu_seconds - began_cpu) / millions,
            "broker_cpu": (cpu_seconds(broker.pid) - began_broker) / millions,
            "memory": program.memory_mb,
        }
    if results != events.results:
        raise Miscounted(f"{contender} gave {results} counts, {events.results} are due")
    return sample


def await_counts(port: int, output: str, events: Events, program: Program) -> int:
    """Read counts until they add up to all events, moving time on meanwhile; give how many there were."""
    address = {"bootstrap.servers": f"127.0.0.1:{port}"}
    consumer = confluent_kafka.Consumer(
        {**address, "group.id": "bench", "isolation.level": "read_committed", "fetch.queue.backoff.ms": 5}
    )
    consumer.assign([confluent_kafka.TopicPartition(output, 0, 0)])
    producer = confluent_kafka.Producer(address)
    deadline = time.monotonic() + TURN_SECONDS_MAX
    counts: dict[tuple[str, int], int] = {}
    tick_at = 0.0
    try:
        while (total := sum(counts.values())) < events.count:
            now = time.monotonic()
            if now > deadline:
                raise LoadFailed(f"{total} of {events.count} events are counted:\n{program.said()}")
            if now >= tick_at:
                program.check()
                tick_at = now + TICK_SECONDS
                _tick(producer, TOPIC)
            for message in consumer.consume(10_000, 0.02):
                if message.error() is not None:
                    continue
                count = json.loads(message.value() or b"{}")
                if count["key"] != CLOSING_KEY:
                    counts[count["key"], count["since"]] = count["count"]
    finally:
        producer.flush(10)
        consumer.close()
    if total != events.count:
        raise Miscounted(f"{total} events are counted, of {events.count}")
    return len(counts)


def _tick(producer: confluent_kafka.Producer, topic: str) -> None:
    """Move the time of every partition past all windows, to what the clock says."""
    at = int(time.time() * 1000)
    value = json.dumps({"key": CLOSING_KEY, "at": at}).encode()
    for partition in range(PARTITIONS):
        producer.produce(topic, value, CLOSING_KEY.encode(), partition)
    producer.poll(0)


def run_on_spark(formats: str, port: int, output: str, scratch: str) -> None:
    """Be the contender that runs on Spark, until ended."""
    session = spark.started(formats)
    first = spark.into_topic(
        counts(decoded(session, formats, port, WARM_UP)),
        formats,
        port,
        f"{output}{BEFORE}",
        str(Path(scratch, "before")),
    )
    first.processAllAvailable()
    first.stop()
    print("STARTED", flush=True)
    events = decoded(session, formats, port, TOPIC)
    query = spark.into_topic(counts(events), formats, port, output, str(Path(scratch, "checkpoint")))
    query.awaitTermination()


def decoded(session: SparkSession, formats: str, port: int, topic: str) -> DataFrame:
    """Read events: riverlog's source decodes JSON itself, Spark does it for its connector."""
    from pyspark.sql import functions as F

    if formats == spark.RIVERLOG:
        decoding = {"valueFormat": "json", "valueSchema": SCHEMA, "columns": "value"}
        records = spark.topic(session.readStream, formats, port, topic, **decoding)
    else:
        records = spark.values(session, formats, port, topic)
        records = records.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("value"))
    return records.select("value.*")


def counts(events: DataFrame) -> DataFrame:
    """Count events by key and window."""
    from pyspark.sql import functions as F

    timed = events.select("key", F.timestamp_millis("at").alias("time"))
    counted = (
        timed.withWatermark("time", "0 seconds")
        .groupBy(F.window("time", f"{WINDOW_MS} milliseconds"), "key")
        .count()
    )
    return counted.select("key", F.unix_millis(F.col("window")["start"]).alias("since"), "count")


def main(arguments: Sequence[str]) -> None:
    """Run as a program of its own."""
    formats, port, output, scratch = arguments
    run_on_spark(formats, int(port), output, scratch)


CONTEST = Contest(
    name="windowed-count",
    title="events counted by key and window, from topic to topic",
    contenders=(RIVERLOG, CONNECTOR, STREAMS, FLINK),
    figures=(
        Figure("rate", "events", "k per s", digits=0),
        Figure("cpu", "CPU, children included", "s per M events"),
        Figure("broker_cpu", "the broker's CPU", "s per M events"),
        Figure("memory", "memory at its peak, children included", "MB", digits=0),
    ),
    promises=(Promise("rate", 380), Promise("rate", 1.0, STREAMS), Promise("rate", 1.0, FLINK)),
    prepare=prepare,
    measure=measure,
)

if __name__ == "__main__":
    main(sys.argv[1:])
