"""Spark's side of the operators that answer at once, without waiting for the watermark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from riverlog.pipelines.ordered import TIME

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues


class MarkLate(StatefulProcessor):
    """Compare each row's time with the watermark; keeps nothing."""

    def __init__(self, columns: Sequence[str], into: str) -> None:
        self._columns = list(columns)
        self._row = Row(*columns, into)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark's call at the start of a task."""

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        """Give each row with its mark."""
        watermark_us = timerValues.getCurrentWatermarkInMs() * 1000
        for row in rows:
            is_late = row[TIME] is not None and row[TIME] <= watermark_us
            yield self._row(*(row[name] for name in self._columns), is_late)
