"""A topic into Spark: all columns of five million rows of 100 bytes, kept nowhere.

riverlog's source decodes record batches by the column in Python's workers, fetched from the broker or taken
from its files; Spark's own connector is Kafka's Java client, a record at a time in the JVM.
"""

import os
import time
from functools import partial

from bench.broker import Broker
from bench.connection import Client
from bench.errors import LoadFailed
from bench.isolation import in_own_process
from bench.librdkafka import Producer
from bench.pipelines import spark
from bench.pipelines.contest import Contest, Figure, Promise
from bench.process import cpu_seconds, memory
from bench.row import Sample

TOPIC = "read"
PARTITIONS = 4
MESSAGE_BYTES = 100
ROWS = 5_000_000
REPEATS = 2
FILL_SECONDS_MAX = 90.0

OURS, FILES, CONNECTOR = "riverlog", "riverlog, broker's files", "Spark's Kafka connector"


def fill(port: int, count: int) -> int:
    """Load: write the topic."""
    producer = Producer(port, TOPIC, PARTITIONS, MESSAGE_BYTES, {"linger.ms": "50"})
    sent = producer.produce(count, FILL_SECONDS_MAX)
    producer.close()
    return sent


def prepare(broker: Broker, scale: float) -> int:
    """Write the topic, and say how many rows it has."""
    with Client(broker.port) as client:
        client.create_topics({TOPIC: PARTITIONS})
        sent = in_own_process(fill, broker.port, int(ROWS * scale))
        end = client.end_offset(TOPIC, PARTITIONS)
    if sent != end:
        raise LoadFailed(f"{sent} records were sent, {end} are there")
    return end


def read(port: int, broker_pid: int, data: str, contender: str, count: int) -> Sample:
    """Load: read the topic once to see that all is there, then again, timed."""
    from pyspark.sql import functions as F

    formats = spark.KAFKA if contender == CONNECTOR else spark.RIVERLOG
    options = {"directory": data} if contender == FILES else {}
    frame = partial(spark.topic, formats=formats, port=port, name=TOPIC, **options)
    session = spark.started(formats)
    seen = frame(session.read).agg(F.count("*"), F.sum(F.length("value"))).collect()[0]
    if tuple(seen) != (count, count * MESSAGE_BYTES):
        raise LoadFailed(f"{contender} read {seen[0]} rows with {seen[1]} bytes of {count}")
    began, began_cpu = time.perf_counter(), cpu_seconds(os.getpid())
    began_broker = cpu_seconds(broker_pid)
    for _ in range(REPEATS):
        frame(session.read).write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - began
    millions = REPEATS * count / 1e6
    sample = {
        "rows": millions / seconds,
        "cpu": (cpu_seconds(os.getpid()) - began_cpu) / millions,
        "broker_cpu": (cpu_seconds(broker_pid) - began_broker) / millions,
        "memory": memory(os.getpid()).peak_mb,
    }
    session.stop()
    return sample


def measure(broker: Broker, count: int, contender: str, turn: int) -> Sample:  # noqa: ARG001  # one of a kind
    """Take one turn."""
    if contender == CONNECTOR:
        spark.connector_jars()
    return in_own_process(read, broker.port, broker.pid, str(broker.data), contender, count)


CONTEST = Contest(
    name="read",
    title="a topic into Spark, all columns of rows of 100 bytes",
    contenders=(OURS, FILES, CONNECTOR),
    figures=(
        Figure("rows", "rows", "M per s"),
        Figure("cpu", "Spark's CPU, workers included", "s per M rows"),
        Figure("broker_cpu", "the broker's CPU", "s per M rows", digits=3),
        Figure("memory", "memory at its peak, workers included", "MB", digits=0),
    ),
    promises=(Promise("rows", 2.5), Promise("rows", 2.5, CONNECTOR)),
    prepare=prepare,
    measure=measure,
)
