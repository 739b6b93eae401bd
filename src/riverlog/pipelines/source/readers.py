"""Spark's side of reading: the questions it asks of a source, answered by `offsets` and by a `Watch`.

A stream's reader lives on the driver as long as the query, in a process of its own. Tasks get a copy that was
asked nothing, so what it holds besides options and columns is made when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from riverlog.pipelines.source import splitting
from riverlog.pipelines.source.group_offsets import GroupOffsets
from riverlog.pipelines.source.loss import report
from riverlog.pipelines.source.offsets import Offsets, Range, bounded, following, lost, ranges
from riverlog.pipelines.source.options import SourceOptions
from riverlog.pipelines.source.watching import Watch
from riverlog.types import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """Reads what lies between two places of the log, settled when Spark plans the query."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = tuple(columns)

    def partitions(self) -> Sequence[InputPartition]:
        """Settle what to read and divide it into tasks."""
        options = self._options
        watch = Watch(options)
        try:
            bounds = watch.bounds()
            start, end = (
                anchor.offsets(bounds, watch.at(anchor.moments(bounds)), absent_is_latest=is_latest)
                for anchor, is_latest in ((options.start, options.absent_is_latest), (options.end, True))
            )
        finally:
            watch.close()
        losses = [*lost(start, bounds), *lost(end, bounds)]
        report([loss.text for loss in losses], fails=options.fails_on_loss)
        kept = {place: min(offset, bounds[place].latest) for place, offset in end.items()}
        return _tasks(options, ranges(Offsets(start), Offsets(kept)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's records."""
        return _read(self._options, partition, self._columns)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what is appended, batch by batch."""

    def __init__(self, options: SourceOptions, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = tuple(columns)
        self._watch: Watch | None = None
        self._initial: Offsets | None = None
        self._target: dict[TopicPartition, int] | None = None
        self._latest = Offsets()
        self._group: GroupOffsets | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  # Spark's name, as those below
        """Say where a query begins that has no checkpoint, or none of its first batch."""
        bounds = self._watching().bounds()
        anchor = self._options.start
        found = self._watching().at(anchor.moments(bounds))
        is_latest = self._options.absent_is_latest
        self._initial = Offsets(anchor.offsets(bounds, found, absent_is_latest=is_latest))
        return self._initial.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Say how much a batch may have at most."""
        limit = self._options.offsets_per_trigger_max
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take note of what there is, where the query is to end with that."""
        bounds = self._watching().bounds(known=None)
        self._target = {place: found.latest for place, found in bounds.items()}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Decide where the batch after `start` ends."""
        begin = Offsets.from_json(start)
        self._note(begin)
        bounds, losses = self._watching().settled(begin.ends)
        report([loss.text for loss in losses], fails=self._options.fails_on_loss)
        self._latest = Offsets({place: found.latest for place, found in bounds.items()})
        end = following(
            begin,
            bounded(bounds, begin.ends, self._target),
            limit.max_rows if isinstance(limit, ReadMaxRows) else None,
            is_first=begin == self._initial,
        )
        return end.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Tell what there was when the last batch was decided, so that its progress shows the lag."""
        return self._latest.to_json() or None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Divide a batch into tasks, which go by the two offsets alone."""
        return _tasks(self._options, ranges(Offsets.from_json(start), Offsets.from_json(end)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's records."""
        return _read(self._options, partition, self._columns)

    def commit(self, end: dict[str, Any]) -> None:
        """Take note that everything before `end` is done with."""
        self._note(Offsets.from_json(end))

    def stop(self) -> None:
        """End the connections."""
        if self._group is not None:
            self._group.close()
        if self._watch is not None:
            self._watch.close()

    def _note(self, done: Offsets) -> None:
        """Let the query's group show how far it has come.

        Spark tells of a batch that is done with only when there is another one to plan, but asks for the
        next offsets all the time, and these begin where the last batch ended.
        """
        if self._options.group is None:
            return
        if self._group is None:
            self._group = GroupOffsets(self._options.bootstrap, self._options.group)
        self._group.note(done.ends)

    def _watching(self) -> Watch:
        if self._watch is None:
            self._watch = Watch(self._options)
        return self._watch


def _tasks(options: SourceOptions, wanted: Sequence[Range]) -> list[InputPartition]:
    cut = splitting.pieces(wanted, tasks_min=options.tasks_min, offsets_max=options.offsets_per_task_max)
    return [InputPartition(piece) for piece in cut]


def _read(
    options: SourceOptions, partition: InputPartition, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    if partition.value is None:  # what Spark makes of an empty list of tasks
        return iter(())
    # Here, since only tasks need what decodes records, and it takes a while to load.
    from riverlog.pipelines.source.reading import read_range

    return read_range(options, partition.value, columns)
