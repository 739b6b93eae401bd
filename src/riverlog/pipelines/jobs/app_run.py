"""An app that runs: its queries in one Spark, watched and published, until they end or are told to.

prepare all ──▶ refuse, naming every reason ──▶ lock, make topics, start all ──▶ look, publish, obey ──▶ stop
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from riverlog.client import BrokerUnreachable, DeliveryFailed, TopicExists, UnknownTopic
from riverlog.errors import RequestRefused, RiverlogError
from riverlog.pipelines.jobs.app import App, AppRefused, Query
from riverlog.pipelines.jobs.board import Board
from riverlog.pipelines.jobs.choosing import choose, current_version, refusal
from riverlog.pipelines.jobs.comparison import Level
from riverlog.pipelines.jobs.measuring import lag_of, per_second, reason_of
from riverlog.pipelines.jobs.pointers import Leg, Pointer
from riverlog.pipelines.jobs.preparing import Cluster, Prepared, prepare, selected
from riverlog.pipelines.jobs.real_time import core_refusal
from riverlog.pipelines.jobs.records import (
    FAILED,
    FINISHED,
    RUNNING,
    STARTING,
    STOPPED,
    Command,
    Known,
    Status,
)
from riverlog.pipelines.jobs.running import STOP_SECONDS_MAX, Running, deadline_in, start
from riverlog.pipelines.jobs.state_directory import VersionState, versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("riverlog.pipelines.jobs")

STOP = "stop"
"""The action of a command that ends queries."""
LOOK_SECONDS = 0.5
"""How often commands and failures are looked for, whatever the interval of progress."""


class QueryFailed(RiverlogError):
    """A query ended with an error: names it and gives Spark's reason."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to run, and how."""

    file: str
    state: str
    queries: Sequence[str] = ()
    accepted: Sequence[str] = ()
    until_caught_up: bool = False
    interval_seconds: float = 5.0
    stop_seconds: float = STOP_SECONDS_MAX


class AppRun:
    """One run of an app; `run` does all of it, `ask_to_stop` may be called from a signal."""

    def __init__(
        self, app: App, plan: Plan, cluster: Cluster, board: Board, report: Callable[[Status], None]
    ) -> None:
        self._app = app
        self._plan = plan
        self._cluster = cluster
        self._board = board
        self._report = report
        self._stopping = threading.Event()
        self._running: list[Running] = []
        self._statuses: dict[str, Status] = {}
        self._seen: set[str] = set()
        self._is_cut_off = False

    def ask_to_stop(self) -> None:
        """Let all queries end at the end of their batch."""
        self._stopping.set()

    def run(self, spark: SparkSession) -> None:
        """Run until all queries have ended. Raises `AppRefused`, `QueryIsRunning` or `QueryFailed`."""
        known = self._board.refresh()
        self._seen = {command.id for command in known.commands.values()}
        queries = self._choose(known)
        with ExitStack() as held:
            for query in queries:
                held.enter_context(self._state(query).locked())
            if self._choose(self._board.refresh()) != queries:
                raise AppRefused("readers were brought to another version just now: start again")
            prepared = self._prepare(spark, queries)
            for query in queries:
                if query.output is not None:
                    make_topic(self._board, query)
            try:
                for each in prepared:
                    self._start(spark, each)
                    self._point_at(each.query, known)
                self._watch()
            finally:
                self._stop(list(self._running), "")

    # Before the start

    def _choose(self, known: Known) -> list[Query]:
        """Choose a version of each query that is wanted. Raises `AppRefused` where none may run."""
        chosen, refusals = [], []
        for name in selected(self._app, list(self._plan.queries)):
            try:
                chosen.append(self._chosen(name, known))
            except AppRefused as error:
                refusals.append(str(error))
        if self._plan.until_caught_up:
            refusals += [
                f"query {each.title} runs in real time, until it is stopped: name the others with --query, "
                "or leave --until-caught-up"
                for each in chosen
                if each.is_real_time
            ]
        if refusals:
            raise AppRefused("\n".join(refusals))
        return chosen

    def _prepare(self, spark: SparkSession, queries: Sequence[Query]) -> list[Prepared]:
        """Build the queries. Raises `AppRefused` naming all that do not fit their checkpoints."""
        prepared, refusals = [], []
        for query in queries:
            try:
                each = prepare(spark, query, self._state(query), self._cluster)
            except AppRefused as error:
                refusals.append(str(error))
                continue
            except Exception as error:  # the user's function may raise anything
                raise QueryFailed(f"query {query.title} could not be built: {_reason(error)}") from error
            verdict = each.verdict()
            is_accepted = query.name in self._plan.accepted
            if verdict is not None and not (is_accepted and verdict.level is Level.MIGRATION):
                refusals.append(refusal(self._plan.file, query.name, query.version, verdict))
            prepared.append(each)
        refusals.append(
            core_refusal(self._read_in_real_time(prepared), spark.sparkContext.defaultParallelism)
        )
        if any(refusals):
            raise AppRefused("\n".join(filter(None, refusals)))
        return prepared

    def _read_in_real_time(self, prepared: Sequence[Prepared]) -> dict[str, int]:
        """Count the partitions whose readers hold on to a core, by the query's source."""
        found = {}
        for each in prepared:
            for source in each.contract.sources if each.query.is_real_time else ():
                try:
                    topics = [self._board.admin.bounds(topic) for topic in source.reads.split(",")]
                except UnknownTopic:
                    continue  # Spark itself says so
                found[f"{each.query.name}.{source.name}"] = sum(len(parts) for parts in topics)
        return found

    def _state(self, query: Query) -> VersionState:
        return VersionState(self._plan.state, query.app, query.name, query.version)

    def _chosen(self, name: str, known: Known) -> Query:
        found = {query.version: query for query in self._app.versions(name)}
        output = next((query.output for query in found.values() if query.output), None)
        pointer = known.pointer(output) if output else None
        if pointer is not None and (pointer.app, pointer.query) != (self._app.name, name):
            raise AppRefused(
                f"{name}: the output {output} is that of {pointer.app}/{pointer.query}: give it another name"
            )
        current = current_version(
            None if pointer is None else pointer.version, versions(self._plan.state, self._app.name, name)
        )
        choice = choose(self._plan.file, name, found.keys(), current)
        if choice.version is None:
            raise AppRefused(choice.refusal)
        return found[choice.version]

    def _point_at(self, query: Query, known: Known) -> None:
        """Let readers find the first version of an output that was started."""
        if query.output is not None and known.pointer(query.output) is None:
            legs = (Leg(query.version, {}),)
            self._board.publish(Pointer(query.output, query.app, query.name, legs, now_ms()))

    # While it runs

    def _start(self, spark: SparkSession, prepared: Prepared) -> None:
        query = prepared.query
        status = Status(
            app=query.app,
            query=query.name,
            version=query.version,
            state=STARTING,
            output=query.topic,
            host=socket.gethostname(),
            process=os.getpid(),
            interval_ms=int(self._plan.interval_seconds * 1000),
            started_ms=now_ms(),
            updated_ms=now_ms(),
        )
        self._statuses[query.title] = status
        try:
            running = start(spark, prepared, self._cluster, until_caught_up=self._plan.until_caught_up)
        except Exception as error:
            reason = _reason(error)
            self._say(replace(status, state=FAILED, error=reason))
            raise QueryFailed(f"query {query.title} could not be started: {reason}") from error
        self._running.append(running)
        self._say(replace(status, state=RUNNING))

    def _watch(self) -> None:
        told_at = time.monotonic()
        while self._running:
            self._stopping.wait(min(LOOK_SECONDS, self._plan.interval_seconds))
            if self._stopping.is_set():
                return
            self._end_those_that_ended()
            now = time.monotonic()
            if now - told_at >= self._plan.interval_seconds:
                for running in self._running:
                    self._say(self._measured(running, now - told_at))
                told_at = now
            with self._without_cluster():
                self._obey()

    def _obey(self) -> None:
        for command in list(self._board.refresh().commands.values()):
            if command.id in self._seen or command.app != self._app.name or command.action != STOP:
                continue
            self._seen.add(command.id)
            asked = [each for each in self._running if _is_for(command, each)]
            self._stop(asked, command.id)

    def _end_those_that_ended(self) -> None:
        for running in [each for each in self._running if not each.is_active]:
            self._running.remove(running)
            failure = running.failure()
            status = self._measured(running, self._plan.interval_seconds)
            self._say(replace(status, state=FAILED if failure else FINISHED, error=failure))
            if failure:
                raise QueryFailed(f"query {running.title} failed: {failure}")

    def _stop(self, those: list[Running], command: str) -> None:
        deadline = deadline_in(self._plan.stop_seconds)
        for running in those:
            running.hold()
        for running in those:
            self._running.remove(running)
            is_at_rest = running.stop(deadline)
            failure = running.failure()
            note = failure or ("" if is_at_rest else "stopped in the middle of a batch, which runs again")
            status = replace(self._measured(running, 0), state=FAILED if failure else STOPPED, error=note)
            self._say(replace(status, obeyed=command))

    def _measured(self, running: Running, seconds: float) -> Status:
        running.look()
        tally, before = running.tally, self._statuses[running.title]
        topics = {topic: dict(parts) for topic, parts in tally.ends.items()}
        newest = {}
        with self._without_cluster():
            for topic in topics:
                bounds = self._board.admin.bounds(topic)
                newest[topic] = {index: each.latest for index, each in bounds.items()}
        return replace(
            before,
            batch=tally.batch,
            rows_in=tally.rows_in,
            rows_in_per_second=per_second(before.rows_in, tally.rows_in, seconds) or 0.0,
            rows_out=tally.rows_out,
            rows_out_per_second=per_second(before.rows_out, tally.rows_out, seconds),
            lag=lag_of(topics, newest),
            late_rows=tally.late_rows,
            bad_rows=tally.bad_rows,
            watermark=tally.watermark,
            batch_ms=tally.batch_ms,
        )

    def _say(self, status: Status) -> None:
        dated = replace(status, updated_ms=now_ms())
        self._statuses[f"{status.query} v{status.version}"] = dated
        self._report(dated)
        with self._without_cluster():
            self._board.publish(dated)

    @contextmanager
    def _without_cluster(self) -> Iterator[None]:
        """Let queries go on where nothing can be asked or told: Spark waits for the cluster itself."""
        try:
            yield
        except (BrokerUnreachable, DeliveryFailed, RequestRefused) as error:
            if not self._is_cut_off:
                _log.warning("status is not published and commands are not heard: %s", error)
            self._is_cut_off = True
        else:
            self._is_cut_off = False


def make_topic(board: Board, query: Query) -> None:
    """Make the topic of a version's output, unless it is there."""
    try:
        board.admin.create_topic(query.topic, partitions=query.partitions)
    except TopicExists:
        pass  # from an earlier run


def now_ms() -> int:
    """Give the time as records carry it."""
    return int(time.time() * 1000)


def _reason(error: Exception) -> str:
    """Spark's own account of it; for anything else its kind too, which often says most."""
    told = reason_of(str(error))
    is_spark_s = type(error).__module__.startswith("pyspark")
    return told if is_spark_s or isinstance(error, RiverlogError) else f"{type(error).__name__}: {told}"


def _is_for(command: Command, running: Running) -> bool:
    query = running.prepared.query
    return command.is_for(query.app, query.name)
