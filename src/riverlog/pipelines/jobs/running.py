"""One query that runs: started on its state, watched, and stopped at the end of a batch.

How it stops: its sources are told to give nothing further (`limits`), Spark finishes what it has begun and
says that it has nothing to do, and only then it is ended. Where that takes longer than it may, the batch is
left as it is; its next start runs it again with the same rows, and the sink knows what it has of it.

In real time rows pass without a pause: there a query is ended right after Spark has noted how far it came,
and what passed since is written a second time by the next start.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from riverlog.pipelines.jobs.limits import HOLD
from riverlog.pipelines.jobs.measuring import Tally, reason_of
from riverlog.pipelines.jobs.preparing import EVOLUTION, Cluster, Prepared
from riverlog.pipelines.jobs.real_time import BATCH_DURATION
from riverlog.pipelines.jobs.writing import writer_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

STOP_SECONDS_MAX = 60.0
"""How long a batch may take to end before its query is stopped in the middle of it."""
_SLICE_SECONDS = 0.05

_starting = threading.Lock()


class Running:
    """A query that was started; `stop` ends it."""

    def __init__(self, prepared: Prepared, handle: StreamingQuery) -> None:
        self.prepared = prepared
        self.handle = handle
        self.tally = Tally()

    @property
    def title(self) -> str:
        """The query as people are told of it."""
        return self.prepared.query.title

    @property
    def is_active(self) -> bool:
        """Whether Spark still runs it."""
        return bool(self.handle.isActive)

    def look(self) -> None:
        """Take in what Spark has said of it since the last look."""
        told = self.handle._jsq.recentProgress()
        fresh: list[Mapping[str, Any]] = []
        for index in range(len(told) - 1, -1, -1):
            document = json.loads(told[index].json())
            if document["batchId"] < self.tally.batch:
                break
            fresh.append(document)
        self.tally.take(reversed(fresh))

    def failure(self) -> str:
        """Why it ended, empty where it did not fail."""
        error = self.handle.exception()
        return "" if error is None else reason_of(str(error))

    def stop(self, deadline: float) -> bool:
        """End it at the end of a batch; say whether that was reached before the deadline (of `monotonic`)."""
        self.hold()
        try:
            is_real_time = self.prepared.query.is_real_time
            is_at_rest = self._notes_before(deadline) if is_real_time else self._rests_before(deadline)
            self.look()
            self.handle.stop()
        finally:
            self.prepared.state.limit(None)
        return is_at_rest

    def hold(self) -> None:
        """Let its sources give nothing further; `stop` then has less to wait for."""
        self.prepared.state.limit(HOLD)

    def _rests_before(self, deadline: float) -> bool:
        """Wait until Spark has nothing left to do."""
        waiting = threading.Thread(target=self._settle, name=f"riverlog-settle-{self.title}", daemon=True)
        waiting.start()
        while waiting.is_alive() and self.is_active:
            is_pausing = self.prepared.query.trigger is not None and not self.handle.status["isTriggerActive"]
            if is_pausing and self._is_settled():
                return True  # the next batch is not due for a while, and nothing is left for it
            if monotonic() > deadline:
                return is_pausing
            waiting.join(_SLICE_SECONDS)
        return True

    def _notes_before(self, deadline: float) -> bool:
        """Wait until Spark has noted how far a query in real time has come."""
        state = self.prepared.state
        noted = state.progress().done
        while self.is_active and state.progress().done == noted:
            if monotonic() > deadline:
                return False
            sleep(_SLICE_SECONDS)
        return True

    def _is_settled(self) -> bool:
        moves = self.prepared.contract.moves_with_watermark
        return self.prepared.state.progress().is_settled(moves_with_watermark=moves)

    def _settle(self) -> None:
        try:
            self.handle.processAllAvailable()
        except Exception:  # its failure is told by `failure`; it is stopped under us otherwise
            pass


def start(
    spark: SparkSession,
    prepared: Prepared,
    cluster: Cluster,
    *,
    limits: Mapping[str, Any] | None = None,
    until_caught_up: bool = False,
) -> Running:
    """Start a query on its state, which the caller has locked; its contract is kept from here on."""
    query, state = prepared.query, prepared.state
    state.limit(limits)
    writer = writer_of(query, prepared.given, bootstrap=cluster.servers, properties=cluster.properties)
    writer = writer.queryName(f"{query.app}/{query.title}")
    writer = writer.option("checkpointLocation", str(state.checkpoint))
    if query.is_real_time:
        duration = query.trigger or BATCH_DURATION
        writer = writer.trigger(realTime=duration)  # type: ignore[call-overload]  # no overload knows it yet
    elif until_caught_up:
        writer = writer.trigger(availableNow=True)
    elif query.trigger is not None:
        writer = writer.trigger(processingTime=query.trigger)
    # Before anything is in the checkpoint: it is never without.
    state.keep_contract(prepared.contract)
    with _state_contract(spark, prepared):
        handle = writer.start()
    return Running(prepared, handle)


@contextmanager
def _state_contract(spark: SparkSession, prepared: Prepared) -> Iterator[None]:
    """Set for one start what the query's checkpoint is to be: a query takes these with it."""
    from riverlog.pipelines.spark_session import ENCODING

    wanted = {
        ENCODING: prepared.contract.encoding,
        EVOLUTION: "true" if prepared.contract.names_sources else "false",
    }
    # Others may start queries of the same session at the same time.
    with _starting:
        before = {name: spark.conf.get(name) or "" for name in wanted}
        for name, value in wanted.items():
            spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)


def deadline_in(seconds: float) -> float:
    """Give the moment (of `monotonic`) in so many seconds."""
    return monotonic() + seconds
