"""The source of a job: that of riverlog, which heeds the file of limits that the job's process writes.

Spark asks a source how far the next batch goes in a process of its own, so what it is told comes by way of a
file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from riverlog.pipelines.jobs.limits import ends_of, is_held, limited
from riverlog.pipelines.source.data_source import RiverlogDataSource
from riverlog.pipelines.source.offsets import Offsets

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

FORMAT = "riverlog-job"
LIMITS, SOURCE = "job.limits", "job.source"
"""Options of ours, beside those of the format `riverlog`."""


class LimitedDataSource(RiverlogDataSource):
    """Topics as a table that grows no further than it may."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = dict(options)
        self._path = Path(given.pop(LIMITS))
        self._source = given.pop(SOURCE)
        super().__init__(given)

    @classmethod
    def name(cls) -> str:
        """Give the name for `format`."""
        return FORMAT

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's name
        """Read the log as it grows, as far as the limits allow."""
        return LimitedReader(super().streamReader(schema), self._path, self._source)


class LimitedReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader that asks the file of limits before it says how far a batch goes."""

    def __init__(self, reader: Any, path: Path, source: str) -> None:
        self._reader = reader
        self._path = path
        self._source = source

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Decide where the batch after `start` ends."""
        limits = _read(self._path)
        if is_held(limits):
            self._reader.commit(start)  # the last batch is done with: it may say so before it rests
            return start
        end: dict[str, Any] = self._reader.latestOffset(start, limit)
        ends = ends_of(limits, self._source)
        if ends is None:
            return end
        begin = Offsets.from_json(start)
        kept = limited(begin, Offsets.from_json(end), ends)
        return start if kept == begin else kept.to_json()

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Say where a query begins that has no checkpoint."""
        initial: dict[str, Any] = self._reader.initialOffset()
        return initial

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Say how much a batch may have at most."""
        limit: ReadLimit = self._reader.getDefaultReadLimit()
        return limit

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take note of what there is."""
        self._reader.prepareForTriggerAvailableNow()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Tell what there was when the last batch was decided."""
        latest: dict[str, Any] | None = self._reader.reportLatestOffset()
        return latest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Divide a batch into tasks."""
        tasks: Sequence[InputPartition] = self._reader.partitions(start, end)
        return tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's records."""
        rows: Iterator[pa.RecordBatch] = self._reader.read(partition)
        return rows

    def commit(self, end: dict[str, Any]) -> None:
        """Pass on how far the query has come."""
        self._reader.commit(end)

    def stop(self) -> None:
        """End the connections."""
        self._reader.stop()


def register(spark: SparkSession) -> None:
    """Let a session read `format("riverlog-job")`."""
    spark.dataSource.register(LimitedDataSource)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        read: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return read
