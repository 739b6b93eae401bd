"""A topic as Arrow: riverlog.columnar beside clients that hand out records one by one, reading the same log.

All is told of the reading process, in rows a second and in its own CPU: whole record batches with all columns
from columnar, and of the others every record with its value. Compiling is not counted (it happens once for an
installation), loading what was compiled is a figure of its own.

Here it is riverlog's own reader that is measured, so this load imports it, unlike all others.
"""

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.broker import Broker
from bench.connection import Client
from bench.errors import LoadFailed
from bench.isolation import in_own_process
from bench.librdkafka import Producer
from bench.process import wait_until_quiet
from bench.row import Figure, Row, Sample, System, no_more_than

TOPIC = "columnar"
MESSAGE_BYTES = 100
RECORDS = 4_000_000
SLOW_SHARE = 10  # of the records, what a client in plain Python is given
CONSUME_MESSAGES = 10_000
CONSUME_SECONDS_MAX = 60.0
FILL_SECONDS_MAX = 60.0
MEMORY_BYTES = 64 * 1024 * 1024
REPEATS = 5
CPU_SECONDS_PER_MILLION_MAX = 0.4  # 2.5 million rows a second on one core


class Reading(NamedTuple):
    """How many rows were read, and what it took."""

    rows: int
    seconds: float
    cpu_seconds: float


class Start(NamedTuple):
    """What it takes a new process to have columnar ready."""

    seconds: float


def fill(port: int, count: int) -> int:
    """Load: write the log that is then read, with librdkafka's defaults, but larger batches."""
    producer = Producer(port, TOPIC, 1, MESSAGE_BYTES, {"linger.ms": "50"})
    sent = producer.produce(count, FILL_SECONDS_MAX)
    producer.close()
    return sent


def timed(read: Callable[[], int]) -> Reading:
    """Time one way of reading."""
    start, start_cpu = time.perf_counter(), time.process_time()
    rows = read()
    return Reading(rows, time.perf_counter() - start, time.process_time() - start_cpu)


def start(data: str) -> Start:
    """Load: from nothing imported to a first row."""
    begun = time.perf_counter()
    from riverlog.columnar import read_segments

    next(iter(read_segments(data, end=1)))
    return Start(time.perf_counter() - begun)


def from_memory(data: str) -> Reading:
    """Load: decode again and again what lies in memory, as a fetch reply would bring it."""
    from riverlog.columnar.batches import RECORDS_BYTES_TARGET, Collector, checked_batches
    from riverlog.columnar.schema import COLUMNS
    from riverlog.types import TopicPartition

    place = TopicPartition(TOPIC, 0)
    with open(Path(data) / f"{0:020d}.log", "rb") as file:
        held = file.read(MEMORY_BYTES)

    def decode() -> int:
        rows = 0
        position = 0
        while True:
            end = min(position + RECORDS_BYTES_TARGET, len(held))
            walk = checked_batches(held, position, end, place, expected_offset=0)
            if not walk.batches:
                return rows
            collector = Collector(place, COLUMNS)
            for at, header in walk.batches:
                collector.add(held, at, header)
            batch = collector.take(0, 2**62)
            assert batch is not None
            rows += batch.num_rows
            position = walk.end

    decode()
    return timed(lambda: sum(decode() for _ in range(REPEATS)))


def from_broker(port: int, end: int) -> Reading:
    """Load: the whole topic, by fetch."""
    from riverlog.columnar import read

    bootstrap = f"127.0.0.1:{port}"
    rows_of(read(TOPIC, end=1, bootstrap=bootstrap))
    return timed(lambda: rows_of(read(TOPIC, end=end, bootstrap=bootstrap)))


def from_segments(data: str, end: int) -> Reading:
    """Load: the whole topic, from its files."""
    from riverlog.columnar import read_segments

    rows_of(read_segments(data, end=1))
    return timed(lambda: rows_of(read_segments(data, end=end)))


def rows_of(batches: Iterable[Any]) -> int:
    """Count the rows, and let go of each batch."""
    return sum(batch.num_rows for batch in batches)


def confluent(port: int, end: int) -> Reading:
    """Load: confluent-kafka's Consumer.consume, ten thousand messages a call."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{port}", "group.id": "bench"})

    def consume() -> int:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        rows = size = 0
        deadline = time.monotonic() + CONSUME_SECONDS_MAX
        while rows < end and time.monotonic() < deadline:
            for message in consumer.consume(CONSUME_MESSAGES, 1.0):
                size += len(message.value() or b"")
                rows += 1
        return checked(rows, size)

    reading = timed(consume)
    consumer.close()
    return reading


def kafka_python(port: int, end: int) -> Reading:
    """Load: kafka-python's consumer, as many messages a poll as it likes."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=f"127.0.0.1:{port}", max_poll_records=CONSUME_MESSAGES)
    partition = TopicPartition(TOPIC, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)

    def poll() -> int:
        rows = size = 0
        deadline = time.monotonic() + CONSUME_SECONDS_MAX
        while rows < end and time.monotonic() < deadline:
            for messages in consumer.poll(1000).values():
                size += sum(len(message.value) for message in messages)
                rows += len(messages)
        return checked(rows, size)

    reading = timed(poll)
    consumer.close()
    return reading


def checked(rows: int, size: int) -> int:
    """Hold what was read against what was written."""
    if size != rows * MESSAGE_BYTES:
        raise LoadFailed(f"{rows} records came with {size} bytes")
    return rows


def measure(broker: Broker, scale: float) -> Sample:
    """Fill a topic once, and read it in each way."""
    count = max(100_000, int(RECORDS * scale))
    with Client(broker.port) as client:
        client.create_topics({TOPIC: 1})
        sent = in_own_process(fill, broker.port, count)
        end = client.end_offset(TOPIC)
        if sent != end:
            raise LoadFailed(f"{sent} records were sent, {end} are there")
        data = str(broker.data / f"{TOPIC}-0")
        wait_until_quiet(broker.pid)
        ways: dict[str, partial[Reading]] = {
            "memory": partial(from_memory, data),
            "fetch": partial(from_broker, broker.port, end),
            "segments": partial(from_segments, data, end),
            "confluent": partial(confluent, broker.port, end // 2),
            "kafka_python": partial(kafka_python, broker.port, end // SLOW_SHARE),
        }
        sample = {"start": in_own_process(start, data).seconds}
        for name, way in ways.items():
            reading = in_own_process(way.func, *way.args)
            sample[name] = reading.rows / reading.seconds / 1e6
            sample[f"{name}_cpu"] = reading.cpu_seconds / reading.rows * 1e6
        client.delete_topic(TOPIC)
    return sample


def _figures() -> Iterable[Figure]:
    titles = {
        "memory": "columnar, from memory",
        "fetch": "columnar, from the broker",
        "segments": "columnar, from segment files",
        "confluent": "confluent-kafka consume",
        "kafka_python": "kafka-python",
    }
    for name, title in titles.items():
        budget = no_more_than(CPU_SECONDS_PER_MILLION_MAX) if "columnar" in title else None
        yield Figure(name, title, "M rows/s")
        yield Figure(f"{name}_cpu", f"{title}, its CPU", "s per M rows", budget, digits=3)
    yield Figure("start", "import, and the first row", "s")


ROW = Row(
    name="columnar",
    title="a topic of 100 B messages as Arrow, beside clients that give records",
    figures=tuple(_figures()),
    measure=measure,
    systems=(System.SUBJECT,),
)
