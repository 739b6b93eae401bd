"""Spark's side of windows with corrections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import StructType

from riverlog.pipelines.corrections import CorrectingWindows, Window, load_windows, stored_windows
from riverlog.pipelines.ordered import put_rows
from riverlog.pipelines.steps import Values

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        StatefulProcessorHandle,
        TimerValues,
    )


class Correct(StatefulProcessor):
    """Keep the open windows of a key, and set a timer for each thing that will happen to them."""

    def __init__(
        self, machine: CorrectingWindows, taken: Sequence[str], state: StructType, results: Sequence[str]
    ) -> None:
        self._machine = machine
        self._taken = list(taken)
        self._schema = state
        self._row = Row(*results)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark's call at the start of a task."""
        self._handle = handle
        self._windows = handle.getListState("windows", self._schema)

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Add rows to their windows and correct what is out."""
        before = self._load()
        known = {window.start_us for window in before}
        outcome = self._machine.add(before, [tuple(row[name] for name in self._taken) for row in rows])
        for window in outcome.windows:
            if window.start_us not in known:
                for time_us in self._machine.wake_times(window):
                    self._handle.registerTimer(-(-time_us // 1000))
        put_rows(self._windows, stored_windows(outcome.windows))
        return self._shown(key, outcome.results)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Publish and forget."""
        outcome = self._machine.pass_by(self._load(), timerValues.getCurrentWatermarkInMs() * 1000)
        put_rows(self._windows, stored_windows(outcome.windows))
        return self._shown(key, outcome.results)

    def _load(self) -> list[Window]:
        return load_windows([tuple(row) for row in self._windows.get()])

    def _shown(self, key: Any, results: list[Values]) -> Iterator[Row]:
        return iter([self._row(*key, *result) for result in results])
