"""NEXMark's queries q0 to q8 as jobs on Spark, each from a topic of all events to a topic of answers.

Each query reads all events, also those that it has no use for, as the others do who measure this. It is timed
from its start until its answers are in their topic, in a new session, so that each finds a cold JVM.
"""

import os
import tempfile
import time
from pathlib import Path

import confluent_kafka

from bench.broker import Broker
from bench.connection import Client
from bench.errors import LoadFailed
from bench.isolation import in_own_process
from bench.pipelines import spark
from bench.pipelines.contest import Contest, Figure
from bench.pipelines.nexmark import generator
from bench.process import cpu_seconds, memory
from bench.row import Sample

TOPIC = "auction-events"
PARTITIONS = 4
EVENTS = 1_000_000
SEED = 9
QUERIES = tuple(f"q{number}" for number in range(9))
OURS = "riverlog on Spark"


def fill(port: int, count: int) -> int:
    """Load: write the events, every partition in the order of their times."""
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "linger.ms": 50,
            "queue.buffering.max.messages": 2_000_000,
            "queue.buffering.max.kbytes": 1_000_000,
        }
    )
    sent = 0
    for value in generator.events(SEED, count):
        producer.produce(TOPIC, value, partition=sent % PARTITIONS)
        sent += 1
        if sent % 1000 == 0:
            producer.poll(0)
    if producer.flush(60):
        raise LoadFailed("the broker did not acknowledge all events")
    return sent


def prepare(broker: Broker, scale: float) -> int:
    """Write the topic, and say how many events it has."""
    with Client(broker.port) as client:
        client.create_topics({TOPIC: PARTITIONS})
    return in_own_process(fill, broker.port, int(EVENTS * scale))


def answer(port: int, query: str, count: int, turn: int) -> Sample:
    """Load: run one query over the topic."""
    from pyspark.sql import functions as F

    from bench.pipelines.nexmark.queries import QUERIES as FUNCTIONS

    session = spark.started(spark.RIVERLOG)
    records = spark.values(session, spark.RIVERLOG, port, TOPIC)
    events = records.select(
        F.from_json(F.col("value").cast("string"), generator.SCHEMA).alias("event")
    ).select("event.*")
    with tempfile.TemporaryDirectory(prefix="riverlog-bench-", ignore_cleanup_errors=True) as scratch:
        began, began_cpu = time.perf_counter(), cpu_seconds(os.getpid())
        running = spark.into_topic(
            FUNCTIONS[query](events), spark.RIVERLOG, port, f"{query}-{turn}", str(Path(scratch, query))
        )
        running.processAllAvailable()
        seconds = time.perf_counter() - began
        cpu = cpu_seconds(os.getpid()) - began_cpu
        running.stop()
        peak = memory(os.getpid()).peak_mb
    session.stop()
    return {
        f"{query}_rate": count / seconds / 1e3,
        f"{query}_cpu": cpu / count * 1e6,
        f"{query}_memory": peak,
    }


def measure(broker: Broker, count: int, contender: str, turn: int) -> Sample:  # noqa: ARG001  # one of a kind
    """Take one turn: all queries."""
    with Client(broker.port) as client:
        client.create_topics({f"{query}-{turn}": 1 for query in QUERIES})
        sample: dict[str, float] = {}
        for query in QUERIES:
            sample |= in_own_process(answer, broker.port, query, count, turn)
            sample[f"{query}_answers"] = client.end_offset(f"{query}-{turn}")
    return sample


CONTEST = Contest(
    name="nexmark",
    title="NEXMark's queries, from topic to topic",
    contenders=(OURS,),
    figures=tuple(
        figure
        for query in QUERIES
        for figure in (
            Figure(f"{query}_rate", f"{query}, events", "k per s", digits=0),
            Figure(f"{query}_cpu", f"{query}, CPU", "s per M events"),
            Figure(f"{query}_memory", f"{query}, memory at its peak", "MB", digits=0),
            Figure(f"{query}_answers", f"{query}, answers", "records", digits=0),
        )
    ),
    prepare=prepare,
    measure=measure,
    runs=1,
)
