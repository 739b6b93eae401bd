"""From a record's way into one topic to its answer out of another, in micro-batches.

    schedule ──▶ {"key", "sent"} ──▶ topic ──▶ Spark ──▶ topic ──▶ read: now - sent

`stateless` parses and passes each event on. `aggregating` counts by key and gives each key that has changed,
with the time of its newest event: what is told of is the age of that event when its count is read. A batch
begins when the last one has ended; nothing waits for a trigger.
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import confluent_kafka

from bench.broker import Broker
from bench.connection import Client
from bench.errors import LoadFailed
from bench.pipelines import spark
from bench.pipelines.contest import Contest, Figure
from bench.pipelines.program import Program
from bench.process import cpu_seconds
from bench.row import Sample
from bench.rows.latency import percentile

RATE = 1000
KEYS = 100
WARM_UP_SECONDS = 15.0
SECONDS = 20.0
FIRST_SECONDS_MAX = 60.0
KINDS = ("stateless", "aggregating")
OURS, CONNECTOR = "riverlog", "Spark's Kafka connector"


def prepare(broker: Broker, scale: float) -> float:  # noqa: ARG001  # each turn has topics of its own
    """Say for how long to measure."""
    return SECONDS * scale


def measure(broker: Broker, seconds: float, contender: str, turn: int) -> Sample:
    """Take one turn: both kinds of query."""
    if contender == CONNECTOR:
        spark.connector_jars()
    sample: dict[str, float] = {}
    for kind in KINDS:
        formats = spark.KAFKA if contender == CONNECTOR else spark.RIVERLOG
        topics = (f"{kind}-{formats}-{turn}-in", f"{kind}-{formats}-{turn}-out")
        with Client(broker.port) as client:
            client.create_topics(dict.fromkeys(topics, 1))
        sample |= _measure(broker, kind, formats, topics, seconds)
    return sample


def _measure(broker: Broker, kind: str, formats: str, topics: tuple[str, str], seconds: float) -> Sample:
    command = [sys.executable, "-m", __name__, formats, str(broker.port), kind, *topics]
    with (
        tempfile.TemporaryDirectory(prefix="riverlog-bench-", ignore_cleanup_errors=True) as scratch,
        Program([*command, scratch]) as program,
    ):
        program.await_start()
        drive(broker.port, topics, WARM_UP_SECONDS, program)
        began_cpu, began_broker = program.cpu_seconds, cpu_seconds(broker.pid)
        ages = drive(broker.port, topics, seconds, program)
        return {
            f"{kind}_p50": percentile(ages, 0.50) * 1e3,
            f"{kind}_p99": percentile(ages, 0.99) * 1e3,
            f"{kind}_cpu": (program.cpu_seconds - began_cpu) / seconds,
            f"{kind}_broker_cpu": (cpu_seconds(broker.pid) - began_broker) / seconds,
            f"{kind}_memory": program.memory_mb,
        }


def drive(port: int, topics: tuple[str, str], seconds: float, program: Program) -> list[float]:
    """Send on a schedule, and give the ages of what is read at the other end meanwhile."""
    address = {"bootstrap.servers": f"127.0.0.1:{port}"}
    producer = confluent_kafka.Producer({**address, "linger.ms": 0})
    consumer = confluent_kafka.Consumer(
        {**address, "group.id": "bench", "isolation.level": "read_committed", "fetch.queue.backoff.ms": 1}
    )
    end = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topics[1], 0), 10)[1]
    consumer.assign([confluent_kafka.TopicPartition(topics[1], 0, end)])
    ages: list[float] = []
    began = time.monotonic()
    sent = 0
    try:
        while (now := time.monotonic()) < began + seconds or not ages:
            if now > began + seconds + FIRST_SECONDS_MAX:
                raise LoadFailed(f"nothing came out:\n{program.said()}")
            while sent < min(now - began, seconds) * RATE:
                value = json.dumps({"key": f"k{sent % KEYS}", "sent": time.time()})
                producer.produce(topics[0], value.encode())
                sent += 1
            producer.poll(0)
            messages = consumer.consume(1000, 0.001)
            read = time.time()
            ages += [
                read - json.loads(message.value() or b"")["sent"]
                for message in messages
                if message.error() is None
            ]
    finally:
        producer.flush(10)
        consumer.close()
    program.check()
    return ages


def run_on_spark(formats: str, port: int, kind: str, topics: tuple[str, str], scratch: str) -> None:
    """Be the query, until ended."""
    from pyspark.sql import functions as F

    session = spark.started(formats)
    session.conf.set("spark.sql.streaming.pollingDelay", "1ms")
    records = spark.values(session, formats, port, topics[0])
    value = F.from_json(F.col("value").cast("string"), "key string, sent double")
    events = records.select(value.alias("event")).select("event.*")
    mode = "append"
    if kind == "aggregating":
        events = events.groupBy("key").agg(F.max("sent").alias("sent"), F.count("*").alias("count"))
        mode = "update"
    print("STARTED", flush=True)
    checkpoint = str(Path(scratch, "checkpoint"))
    spark.into_topic(events, formats, port, topics[1], checkpoint, mode).awaitTermination()


def main(arguments: Sequence[str]) -> None:
    """Run as a program of its own."""
    formats, port, kind, *topics, scratch = arguments
    run_on_spark(formats, int(port), kind, (topics[0], topics[1]), scratch)


CONTEST = Contest(
    name="latency",
    title=f"latency of micro-batches from topic to topic, {RATE:,} events a second",
    contenders=(OURS, CONNECTOR),
    figures=tuple(
        figure
        for kind in KINDS
        for figure in (
            Figure(f"{kind}_p50", f"{kind}, p50", "ms", digits=0),
            Figure(f"{kind}_p99", f"{kind}, p99", "ms", digits=0),
            Figure(f"{kind}_cpu", f"{kind}, CPU, children included", "cores"),
            Figure(f"{kind}_broker_cpu", f"{kind}, the broker's CPU", "cores", digits=3),
            Figure(f"{kind}_memory", f"{kind}, memory at its peak", "MB", digits=0),
        )
    ),
    prepare=prepare,
    measure=measure,
    runs=2,
)

if __name__ == "__main__":
    main(sys.argv[1:])
