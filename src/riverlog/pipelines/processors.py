"""Spark's side of the operators that answer at once, without waiting for the watermark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import StructType

from riverlog.pipelines.ordered import TIME
from riverlog.pipelines.versions import CHANGE, EVENT, Version, newest

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


class JoinTable(StatefulProcessor):
    """Keep the newest version of a key's row and give it to each event."""

    def __init__(self, version: StructType, results: Sequence[str], *, keeps_unmatched: bool) -> None:
        self._version_schema = version
        self._row = Row(*results)
        self._keeps_unmatched = keeps_unmatched

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark's call at the start of a task."""
        self._version = handle.getValueState("version", self._version_schema)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Apply the batch's changes, then match its events."""
        events, changes = [], []
        for row in rows:
            if row["_side"] == EVENT:
                events.append(row["_event"])
            else:
                changes.append(Version(row["_order"], row["_version"]))
        current = self._current()
        if changes:
            current = newest(current, changes)
            assert current is not None
            self._version.update(tuple(current))
        matched = None if current is None else current.row
        if matched is not None or self._keeps_unmatched:
            for event in events:
                yield self._row(*key, event, matched)

    def handleInitialState(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        initialState: Row,  # noqa: N803
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> None:
        """Take a row of the snapshot that the table began with."""
        assert initialState["_side"] == CHANGE
        found = newest(self._current(), [Version(initialState["_order"], initialState["_version"])])
        assert found is not None
        self._version.update(tuple(found))

    def _current(self) -> Version | None:
        kept = self._version.get()
        return None if kept is None else Version(*kept)
