"""A shop's clicks on a broker, and an app over them in two versions: totals, then averages."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from riverlog.client import Admin, ConsumedRecord, Producer
from riverlog.pipelines import App, follow
from riverlog.pipelines.jobs.app_run import AppRun, Plan
from riverlog.pipelines.jobs.board import Board
from riverlog.pipelines.jobs.preparing import Cluster, spark_for
from riverlog.pipelines.jobs.records import Known, Status

START = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS_MAX = 90
PAGES = 3
SCHEMA = "page string, at timestamp, cents int"
SETTINGS = {"spark.sql.shuffle.partitions": "1"}


def click(number: int) -> dict[str, Any]:
    """One click each second."""
    at = START + timedelta(seconds=number)
    return {"page": f"p{number % PAGES}", "at": at.isoformat(), "cents": number}


def per_minute(topic: str, aggregate: str) -> Callable[[Any], DataFrame]:
    """A query: an aggregate per page and minute."""

    def query(context: Any) -> DataFrame:
        clicks = context.topic(topic, schema=SCHEMA).withWatermark("at", "10 seconds")
        totals = clicks.groupBy(F.window("at", "1 minute"), "page").agg(F.expr(aggregate).alias("cents"))
        return totals.select(F.col("window.start").alias("minute"), "page", "cents")

    return query


def windows(count: int, aggregate: Callable[[list[int]], float]) -> dict[tuple[str, str], float]:
    """The same by hand, of the first `count` clicks: those windows that the watermark has passed."""
    watermark = START + timedelta(seconds=count - 1 - 10)
    kept: dict[tuple[datetime, str], list[int]] = defaultdict(list)
    for number in range(count):
        minute = START + timedelta(minutes=number // 60)
        if minute + timedelta(minutes=1) <= watermark:
            kept[minute, f"p{number % PAGES}"].append(number)
    return {
        (minute.strftime("%Y-%m-%dT%H:%M:%S.000Z"), page): aggregate(cents)
        for (minute, page), cents in kept.items()
    }


@dataclass
class Shop:
    """Everything that a test of jobs needs, with names of its own on a broker that is shared."""

    spark: SparkSession
    bootstrap: str
    state: Path
    topic: str
    output: str
    board: Board
    statuses: list[Status] = field(default_factory=list)
    clicked: int = 0

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.bootstrap)

    def click(self, count: int) -> None:
        """Let customers click, one a second."""
        with Producer(self.bootstrap) as producer:
            for number in range(self.clicked, self.clicked + count):
                producer.send(self.topic, json.dumps(click(number)).encode(), key=str(number).encode())
        self.clicked += count

    def app(self, **versions: str) -> App:
        """The app with versions of its query: `v1="sum(cents)"`."""
        app = App("shop")
        for version, aggregate in versions.items():
            declare = app.query(
                f"per-{self.output}", output=self.output, key=("minute", "page"), version=int(version[1:])
            )
            declare(per_minute(self.topic, aggregate))
        return app

    def sparks(self) -> AbstractContextManager[SparkSession]:
        """Spark as jobs want it, for a `with` block."""
        return spark_for("shop", master=None, settings=SETTINGS)

    def run(self, app: App, *, until_caught_up: bool = True) -> AppRun:
        """An app's run that is not started."""
        plan = Plan("app.py", str(self.state), until_caught_up=until_caught_up, interval_seconds=0.5)
        return AppRun(app, plan, self.cluster, Board(self.bootstrap), self.statuses.append)

    def catch_up(self, app: App) -> None:
        """Run an app over what is there."""
        with self.sparks() as spark:
            self.run(app).run(spark)

    @contextmanager
    def running(self, app: App) -> Iterator[AppRun]:
        """Run an app beside the block, which it outlives only if the block stopped it already."""
        run = self.run(app, until_caught_up=False)
        failures: list[BaseException] = []

        def work() -> None:
            try:
                with self.sparks() as spark:
                    run.run(spark)
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield run
        finally:
            run.ask_to_stop()
            thread.join(SECONDS_MAX)
            assert not thread.is_alive(), "the app did not stop"
        assert not failures, failures

    def waits_for(self, is_so: Callable[[Mapping[str, Status]], bool]) -> None:
        """Return once the topic of statuses says so."""
        own = f"shop/per-{self.output}"

        def is_so_or_failed(known: Known) -> bool:
            failed = [each.error for each in known.statuses.values() if each.name == own and each.error]
            assert not failed, failed
            return is_so({key: each for key, each in known.statuses.items() if each.name == own})

        assert self.board.wait_for(is_so_or_failed, SECONDS_MAX), self.board.known.statuses

    def status_of(self, version: int) -> Status:
        """What a version of the query last said."""
        found = self.board.refresh().status("shop", f"per-{self.output}", version)
        assert found is not None
        return found

    def read(self) -> list[ConsumedRecord]:
        """What a reader who comes now finds under the output's readable name."""
        with follow(self.output, self.bootstrap, stops_at_end=True) as follower:
            return list(follower)


@contextmanager
def open_shop(
    spark: SparkSession, bootstrap: str, state: Path, name: str, partitions: int = 2
) -> Iterator[Shop]:
    """Make a shop with topics named after a test."""
    topic, output = f"{name}-clicks", f"{name}-totals"
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, partitions=partitions)
    with Board(bootstrap) as board:
        yield Shop(spark, bootstrap, state, topic, output, board)


def values(records: list[ConsumedRecord]) -> list[tuple[tuple[str, str], float]]:
    """Key and value of each record of the output."""
    read = [json.loads(record.value or b"") for record in records]
    return [((each["minute"], each["page"]), each["cents"]) for each in read]
