"""NEXMark's queries q0 to q8 as jobs on Spark, each from a topic of all events to a topic of answers.

Each query reads all events, also those that it has no use for, as the others do who measure this. It is timed
from its start until its answers are in their topic. They run one after the other in one session; the first
runs once more before, uncounted.
"""

import os
import tempfile
import time
from pathlib import Path

import confluent_kafka

from bench.broker import Broker
from bench.connection import Client
from bench.errors import LoadFailed
from bench.isolation import Load, in_own_process
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
WARM_UP = "warm-up"
TURN_SECONDS_MAX = 900.0
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


def answer(port: int, count: int, turn: int) -> Sample:
    """Load: run the queries over the topic, one after the other; the first one twice."""
    from pyspark.sql import functions as F

    from bench.pipelines.nexmark.queries import QUERIES as FUNCTIONS

    session = spark.started(spark.RIVERLOG)
    sample: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="riverlog-bench-", ignore_cleanup_errors=True) as scratch:
        for name in (WARM_UP, *QUERIES):
            records = spark.values(session, spark.RIVERLOG, port, TOPIC)
            value = F.from_json(F.col("value").cast("string"), generator.SCHEMA)
            events = records.select(value.alias("event")).select("event.*")
            answers = FUNCTIONS[QUERIES[0] if name == WARM_UP else name](events)
            began, began_cpu = time.perf_counter(), cpu_seconds(os.getpid())
            checkpoint = str(Path(scratch, name))
            running = spark.into_topic(answers, spark.RIVERLOG, port, f"{name}-{turn}", checkpoint)
            running.processAllAvailable()
            seconds = time.perf_counter() - began
            sample[f"{name}_rate"] = count / seconds / 1e3
            sample[f"{name}_cpu"] = (cpu_seconds(os.getpid()) - began_cpu) / count * 1e6
            running.stop()
        sample["memory"] = memory(os.getpid()).peak_mb
    session.stop()
    return sample


def measure(broker: Broker, count: int, contender: str, turn: int) -> Sample:  # noqa: ARG001  # one of a kind
    """Take one turn: all queries."""
    with Client(broker.port) as client:
        client.create_topics({f"{name}-{turn}": 1 for name in (WARM_UP, *QUERIES)})
        with Load(answer, broker.port, count, turn) as load:
            sample = dict(load.result(TURN_SECONDS_MAX))
        for query in QUERIES:
            sample[f"{query}_answers"] = client.end_offset(f"{query}-{turn}")
    return sample


CONTEST = Contest(
    name="nexmark",
    title="NEXMark's queries, from topic to topic",
    contenders=(OURS,),
    figures=(
        *(
            figure
            for query in QUERIES
            for figure in (
                Figure(f"{query}_rate", f"{query}, events", "k per s", digits=0),
                Figure(f"{query}_cpu", f"{query}, CPU", "s per M events"),
                Figure(f"{query}_answers", f"{query}, answers", "records", digits=0),
            )
        ),
        Figure("memory", "memory at its peak, children included", "MB", digits=0),
    ),
    prepare=prepare,
    measure=measure,
    runs=1,
)
