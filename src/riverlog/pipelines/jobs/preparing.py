"""From an app's file to queries that can be started, and what stands against it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from riverlog.pipelines.jobs.app import App, AppRefused, Query
from riverlog.pipelines.jobs.comparison import Verdict, compare
from riverlog.pipelines.jobs.context import Context
from riverlog.pipelines.jobs.contract import Contract, contract_of
from riverlog.pipelines.jobs.plan import plans_of
from riverlog.pipelines.jobs.real_time import refusals
from riverlog.pipelines.jobs.state_directory import VersionState
from riverlog.pipelines.jobs.writing import frame_of, output_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
SETTINGS = {
    EVOLUTION: "true",
    # What a busy query did between two looks at it.
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    # How long Spark may take to end a query that it was told to stop.
    "spark.sql.streaming.stopTimeout": "30s",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """How to reach the log."""

    servers: str
    timeout_seconds: float = 10.0
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query whose function has been called: nothing runs yet."""

    query: Query
    given: Any
    contract: Contract
    state: VersionState

    def verdict(self) -> Verdict | None:
        """Compare it with what its checkpoint was made by; None where there is none that holds anything."""
        kept = self.state.contract()
        return None if kept is None or self.state.progress().planned < 0 else compare(kept, self.contract)


@contextmanager
def spark_for(name: str, *, master: str | None, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Run Spark for jobs, or lend them the one that runs in this program, which is then left as it was."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from riverlog.pipelines.jars import kept, with_jars
    from riverlog.pipelines.jobs.limited_source import register
    from riverlog.pipelines.spark_session import session

    # A session is active for a thread alone; Spark itself is for the program.
    lent = None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()
    chosen = {**SETTINGS, **settings}
    if lent is not None:
        _loan.take(lent, chosen)
    # What Spark loads is settled with its start, before the app is known.
    spark = session(
        name, master=master, settings=with_jars(chosen, kept(os.environ)) if lent is None else chosen
    )
    register(spark)
    # Spark looks for formats that are written in Python in the session of the thread, which may be a new one.
    SparkSession._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)
    try:
        yield spark
    finally:
        if lent is None:
            spark.stop()
        else:
            _loan.give_back(spark)


class _Loan:
    """Settings of a session that is lent to several, in threads of their own: the last one puts them back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before: dict[str, str | None] = {}

    def take(self, spark: SparkSession, settings: Iterable[str]) -> None:
        """Take note of settings that are about to be changed."""
        with self._lock:
            self._users += 1
            for setting in settings:
                if setting not in self._before:
                    self._before[setting] = spark.conf.get(setting, None)

    def give_back(self, spark: SparkSession) -> None:
        """Let go of the session."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            before, self._before = self._before, {}
            for setting, value in before.items():
                if value is None:
                    spark.conf.unset(setting)
                else:
                    spark.conf.set(setting, value)


_loan = _Loan()


def prepare(spark: SparkSession, query: Query, state: VersionState, cluster: Cluster) -> Prepared:
    """Call a query's function and take down its contract. Raises `AppRefused` naming the query."""
    context = Context(spark, query, bootstrap=cluster.servers, limits=state.limits)
    given = query.function(context)
    frame = frame_of(query, given)
    analysed, optimised = plans_of(frame)
    against = refusals(query.title, analysed, optimised) if query.is_real_time else []
    if against:
        raise AppRefused("\n".join(against))
    contract = contract_of(analysed, optimised, output_of(query, frame), columns_read=context.columns_read)
    return Prepared(query, given, contract, state)


def selected(app: App, names: list[str]) -> list[str]:
    """Give the queries that were asked for, or all; raise `AppRefused` for one that is not there."""
    for name in names:
        app.versions(name)
    return [name for name in app.names() if not names or name in names]


def version_of(app: App, name: str, version: int | None) -> Query:
    """Give one version of a query, the newest unless named. Raises `AppRefused`."""
    found = app.versions(name)
    if version is None:
        return found[-1]
    for query in found:
        if query.version == version:
            return query
    raise AppRefused(
        f"query {name} has no version {version} in the file; it has: "
        f"{', '.join(str(each.version) for each in found)}"
    )
