"""The sink of topics on Spark's side: `format("riverlog")`, and `TopicSink` where that cannot be used.

    rows.writeStream.format("riverlog").option("bootstrap", …).option("topic", "totals")    each batch once
    rows.writeStream.foreachBatch(TopicSink("totals", bootstrap=…))                         the same
    rows.write.format("riverlog")…                                                          each row once

Spark gives a task its query's id and its batch's number among the properties of the job. The id is kept in
the checkpoint: it stays when the query restarts, and a new checkpoint is a new query, that writes anew. A
batch write has no number unless it is given one (`sinkId`, `batchId`); it gets a name of its own, so that
tasks which run again or twice write once.

Spark refuses the output mode `update` for sinks written in Python; through `foreachBatch` it may be had.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from riverlog.errors import RiverlogError
from riverlog.pipelines.sinks.foreach import QUERY_PROPERTY, BatchSink, SinkRefused
from riverlog.pipelines.sinks.markers import Place, Report, check_reports
from riverlog.pipelines.sinks.options import TopicOptions, topic_options
from riverlog.pipelines.sinks.rows import check_columns
from riverlog.pipelines.source.data_source import ADAPTIVE_STREAMS, FORMAT

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

BATCH_PROPERTY = "streaming.sql.batchId"
ADAPTIVE = "spark.sql.adaptive.enabled"


@dataclass
class TaskReport(WriterCommitMessage):
    """A report on its way to the driver."""

    report: Report


def stream_writer(options: Mapping[str, str], schema: StructType) -> TopicStreamWriter:
    """Make the writer of a streaming query. Raises ConfigError or ColumnRefused."""
    return TopicStreamWriter(_checked(options, schema, is_stream=True))


def batch_writer(options: Mapping[str, str], schema: StructType) -> TopicBatchWriter:
    """Make the writer of one batch write. Raises ConfigError or ColumnRefused."""
    return TopicBatchWriter(_checked(options, schema, is_stream=False))


class TopicStreamWriter(DataSourceStreamArrowWriter):
    """Writes each batch of a query once."""

    def __init__(self, options: TopicOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        """Write the rows of this task."""
        context = _context()
        _check_tasks_are_fixed(context, ADAPTIVE, ADAPTIVE_STREAMS)
        query = _property(context, QUERY_PROPERTY)
        name = self._options.sink_id
        sink = query if name is None else f"{name}-{query}"
        place = Place(sink, int(_property(context, BATCH_PROPERTY)), context.partitionId())
        return _written(self._options, place, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Check, on the driver, that every task has reported; the tasks have committed their rows."""
        check_reports(_reports(messages), batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Leave what tasks have committed: the batch runs again, and they find it."""


class TopicBatchWriter(DataSourceArrowWriter):
    """Writes one batch: under its number where it has one, else under a name of its own."""

    def __init__(self, options: TopicOptions) -> None:
        self._options = options
        self._sink = options.sink_id if options.sink_id and options.batch is not None else uuid.uuid4().hex
        self._batch = options.batch or 0

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        """Write the rows of this task."""
        context = _context()
        if self._options.batch is not None:
            _check_tasks_are_fixed(context, ADAPTIVE)
        return _written(self._options, Place(self._sink, self._batch, context.partitionId()), iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Check, on the driver, that every task has reported; the tasks have committed their rows."""
        check_reports(_reports(messages), self._batch)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Leave what tasks have committed: readers see it. A write under a number can be run again."""


class TopicSink(BatchSink):
    """Writes to a topic from `foreachBatch`: in the output mode `update`, or beside other sinks.

    `options` are those of `format("riverlog")`. `name` tells sinks of one query apart that write to one
    topic.
    """

    def __init__(
        self,
        topic: str | None = None,
        *,
        bootstrap: str,
        name: str = "",
        options: Mapping[str, str] | None = None,
    ) -> None:
        target = topic or "topics"
        super().__init__(f"{target}-{name}" if name else target)
        self._options = {"bootstrap": bootstrap, **(options or {})}
        if topic is not None:
            self._options["topic"] = topic
        topic_options(self._options, is_stream=True)

    def write(self, frame: DataFrame, sink: str, batch: int) -> None:
        """Write a batch, unless it is there."""
        numbered = {"sinkId": sink, "batchId": str(batch)}
        # The session is the query's own; what a function for `foreachBatch` adds is planned as batches are.
        settings = frame.sparkSession.conf
        before = settings.get(ADAPTIVE) or "true"
        settings.set(ADAPTIVE, "false")
        try:
            frame.write.format(FORMAT).mode("append").options(**self._options, **numbered).save()
        finally:
            settings.set(ADAPTIVE, before)


def _checked(options: Mapping[str, str], schema: StructType, *, is_stream: bool) -> TopicOptions:
    read = topic_options(options, is_stream=is_stream)
    check_columns({field.name: field.dataType.simpleString() for field in schema.fields}, read.topic)
    return read


def _written(options: TopicOptions, place: Place, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
    # The client library is loaded by tasks, and not by each plan that the driver makes.
    from riverlog.pipelines.sinks.transaction import write_task

    return TaskReport(write_task(options, place, iterator))


def _reports(messages: list[WriterCommitMessage | None]) -> list[Report | None]:
    return [message.report if isinstance(message, TaskReport) else None for message in messages]


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "Spark writes in tasks"
    return context


def _check_tasks_are_fixed(context: TaskContext, *settings: str) -> None:
    """Refuse what may cut a batch that runs again into other tasks, by its data or by the cores at hand."""
    if all(context.getLocalProperty(setting) != "false" for setting in settings):
        raise SinkRefused(
            "Spark may change the tasks of this query while it runs (adaptive execution), and a batch that "
            "runs again may then have other tasks, whose rows would be there twice or not at all: set "
            f"{settings[-1]}=false, as riverlog.pipelines.register does for streams"
        )


def _property(context: TaskContext, name: str) -> str:
    value = context.getLocalProperty(name)
    if value is None:
        raise RiverlogError(f"Spark gave the task no {name}: this version of Spark is not known to the sink")
    return value
