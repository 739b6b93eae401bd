"""Examples that run for real: from topic to topic of a cluster, fed as they go, and checked in the end.

    events ──▶ producer ──▶ topics ──▶ Spark: the example's pipeline ──▶ topic ──▶ printed as they arrive
       └──▶ expected(), in plain Python ──────────────────────────────────┴──▶ the same rows?

Each example is a query of its own on the one Spark, with threads for feeding and for following it. Queries
are started by the thread that made the session: in another one Spark does not find formats written in Python.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from riverlog.client import Admin, Producer, Span, SpanReader
from riverlog.errors import RiverlogError
from riverlog.examples.example import Arrival, Example, Input, Row, comparable
from riverlog.examples.records import key_of, row_of, steps, value_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PARTITIONS = 2
STEPS = 8
SHOWN_PER_BATCH = 3
FLUSH_SECONDS = 10.0

Say = Callable[[str], None]


class ExampleFailed(RiverlogError):
    """A query of an example that stopped by itself: names the example and what Spark said."""


class Outcome(NamedTuple):
    """What an example has shown."""

    example: Example
    records: int
    results: int
    missing: list[Row]
    """Rows that were expected and are not there."""
    surplus: list[Row]
    """Rows that are there and were not expected."""

    @property
    def is_as_expected(self) -> bool:
        """Whether what came out is what a computation over all records gives."""
        return not self.missing and not self.surplus


class Live:
    """One example on a cluster: its topics, its query, what it is fed."""

    def __init__(
        self,
        spark: SparkSession,
        servers: str,
        example: Example,
        directory: Path,
        arrivals: Sequence[Arrival],
    ) -> None:
        self._spark = spark
        self._servers = servers
        self._example = example
        self._arrivals = arrivals
        self._checkpoint = directory / example.name
        self._inputs = {each.topic: each for each in example.inputs}
        self._is_over = threading.Event()
        with Admin(servers) as admin:
            for topic in self._inputs:
                admin.create_topic(topic, partitions=PARTITIONS)
            admin.create_topic(example.output, partitions=1)
        self._query = self._start()

    def run(self, seconds: float, say: Say) -> Outcome:
        """Feed the query for so many seconds, print what comes out, and check it."""
        follower = threading.Thread(target=self._follow, args=(say,))
        follower.start()
        try:
            self._feed(seconds)
            self._settle()
        finally:
            self._is_over.set()
            follower.join()
            self.stop()
        return self._outcome()

    def stop(self) -> None:
        """End the query, if it runs."""
        self._query.stop()

    def _start(self) -> StreamingQuery:
        frames = [self._topic(each) for each in self._example.inputs]
        results = self._example.pipeline(*frames)
        writer = results.selectExpr("to_json(struct(*)) as value").writeStream.format("riverlog")
        return (
            writer.option("bootstrap", self._servers)
            .option("topic", self._example.output)
            .option("checkpointLocation", str(self._checkpoint))
            .queryName(self._example.name)
            .start()
        )

    def _topic(self, topic: Input) -> DataFrame:
        """Read a topic as the columns that its values have."""
        from pyspark.sql import functions as F

        records = (
            self._spark.readStream.format("riverlog")
            .option("bootstrap", self._servers)
            .option("subscribe", topic.topic)
            .option("startingOffsets", "earliest")
            .load()
        )
        value = F.from_json(F.col("value").cast("string"), topic.schema)
        return records.select(value.alias("value")).select("value.*")

    def _feed(self, seconds: float) -> None:
        """Send what arrives in steps, at an even pace; at the end what closes the stream."""
        turns = self._turns()
        pause = seconds / STEPS / len(turns)
        with Producer(self._servers) as producer:
            for turn in turns:
                for step in steps(turn, max(1, STEPS // len(turns))):
                    self._send(producer, step)
                    self._is_over.wait(pause)
                if self._example.goes_by_arrival:
                    self._settle()
            self._send(producer, self._example.closing)

    def _turns(self) -> list[list[Arrival]]:
        if not self._example.goes_by_arrival:
            return [list(self._arrivals)]
        by_topic = itertools.groupby(self._arrivals, key=lambda arrival: arrival.topic)
        return [list(turn) for _, turn in by_topic]

    def _send(self, producer: Producer, arrivals: Sequence[Arrival]) -> None:
        for arrival in arrivals:
            topic = self._inputs[arrival.topic]
            producer.send(topic.topic, key=key_of(arrival, topic), value=value_of(arrival))
        producer.flush(FLUSH_SECONDS)

    def _settle(self) -> None:
        """Wait until the query has done all there is to do."""
        from pyspark.errors import StreamingQueryException

        try:
            self._query.processAllAvailable()
        except StreamingQueryException as error:
            raise ExampleFailed(f"example {self._example.name!r} stopped: {error}") from error

    def _follow(self, say: Say) -> None:
        """Print results as they arrive: a few of each batch, and how many more there were."""
        for rows in self._batches(None):
            for row in rows[:SHOWN_PER_BATCH]:
                say(f"  {self._example.name:<19} {self._example.line(row)}")
            if len(rows) > SHOWN_PER_BATCH:
                say(f"  {self._example.name:<19} ... and {len(rows) - SHOWN_PER_BATCH} more")
            if not rows and self._is_over.is_set():
                return

    def _batches(self, end: int | None) -> Iterator[list[Row]]:
        with closing(SpanReader(self._servers, self._example.output, {0: Span(0, end)})) as reader:
            for batch in reader.batches():
                yield [row_of(record.value) for record in batch if record.value is not None]

    def _outcome(self) -> Outcome:
        with Admin(self._servers) as admin:
            end = admin.bounds(self._example.output)[0].latest
        rows = [row for batch in self._batches(end) for row in batch]
        found = comparable(self._example.settled(rows))
        expected = comparable(self._example.expected(self._arrivals))
        missing, surplus = difference(expected, found), difference(found, expected)
        return Outcome(self._example, len(self._arrivals), len(rows), missing, surplus)


def play(
    spark: SparkSession,
    servers: str,
    chosen: Sequence[Example],
    directory: Path,
    *,
    seed: int,
    count: int,
    seconds: float,
    say: Say,
) -> list[Outcome]:
    """Run examples beside each other, from topic to topic, and give what each has shown."""
    with ExitStack() as stack:
        lives = []
        for each in chosen:
            lives.append(Live(spark, servers, each, directory, each.events(seed, count)))
            stack.callback(lives[-1].stop)
        pool = stack.enter_context(ThreadPoolExecutor(len(lives)))
        running = [pool.submit(live.run, seconds, say) for live in lives]
        return [each.result() for each in running]


def difference(rows: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    """Give the rows that are not among the others, each as often as it is missing there."""
    left = list(others)
    alone = []
    for row in rows:
        if row in left:
            left.remove(row)
        else:
            alone.append(row)
    return alone
