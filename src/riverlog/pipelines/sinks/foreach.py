"""What the sinks for `foreachBatch` share: whose batch it is, and that its computation runs in any case.

    frame.writeStream.foreachBatch(PostgresSink(…)).start()

A batch belongs to a query, by the id in the query's checkpoint, and to a sink of it, by name. A sink that
finds its batch written still has the frame computed: operators with state store it with the last row of
the frame, and without that the next batch would lack it.

Two sinks of one kind and name in one query would take each other's batches for their own, so the second is
refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakValueDictionary

from riverlog.errors import RiverlogError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUERY_PROPERTY = "sql.streaming.queryId"
RUN_PROPERTY = "spark.jobGroup.id"


class SinkRefused(RiverlogError):
    """A sink that is used in a way in which it could not keep its promise."""


class BatchSink(ABC):
    """A function for `foreachBatch` whose effect is there once for each batch of a query."""

    _users: ClassVar[WeakValueDictionary[tuple[str, str, str], BatchSink]] = WeakValueDictionary()
    """Who writes in a run of a query, by the kind of sink and its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write a batch of the query that runs here."""
        context = frame.sparkSession.sparkContext
        query = context.getLocalProperty(QUERY_PROPERTY)
        if query is None:
            raise SinkRefused(f"the sink {self._name} was called outside of a query: pass it to foreachBatch")
        run = context.getLocalProperty(RUN_PROPERTY) or query
        kind = type(self).__name__
        if self._users.setdefault((run, kind, self._name), self) is not self:
            raise SinkRefused(
                f"two sinks of the kind {kind} in one query are called {self._name}, so that one would take "
                "the other's batches for its own: give one of them a `name`"
            )
        self.write(frame, f"{query}-{self._name}", batch)

    @abstractmethod
    def write(self, frame: DataFrame, sink: str, batch: int) -> None:
        """Write a batch under the name of a sink, unless it is there; compute the frame in either case."""


def compute(frame: DataFrame) -> None:
    """Compute a frame to its last row, and keep nothing of it."""
    frame.write.format("noop").mode("overwrite").save()
