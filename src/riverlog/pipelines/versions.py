"""Versions of a row of a table, for joins: which one was valid when, which one is the newest. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from riverlog.pipelines.steps import Step, Values

CHANGE, EVENT = 0, 1
"""Sides of a join in one stream; at the same time the change comes first, as it sorts first."""


class Version(NamedTuple):
    """A row of a table as of a time or an offset; a row of None is one that was deleted."""

    order: Any
    row: Any


def newest(current: Version | None, changes: Iterable[Version]) -> Version | None:
    """Give the version with the largest order; of equal ones the last that came.

    A deletion stays as a version without a row, so that an older change which arrives later cannot bring
    the row back.
    """
    for change in changes:
        if current is None or change.order >= current.order:
            current = change
    return current


class TemporalMachine:
    """Give each event the version that was valid at its time.

    Rows are (time, CHANGE, None, version) and (time, EVENT, event, None); results (time, event, version).
    State: the version that is valid at the watermark, one per key; nothing later is asked of older ones.
    """

    def __init__(self, *, keeps_unmatched: bool) -> None:
        self._keeps_unmatched = keeps_unmatched

    def step(self, state: list[Values], rows: list[Values], watermark_us: int) -> Step:  # noqa: ARG002
        """Apply changes and match events in the order of their times."""
        current = Version(*state[0]) if state else None
        results: list[Values] = []
        for time_us, side, event, changed in rows:
            if side == CHANGE:
                current = newest(current, [Version(time_us, changed)])
            elif current is not None and current.row is not None:
                results.append((time_us, event, current.row))
            elif self._keeps_unmatched:
                results.append((time_us, event, None))
        return Step([tuple(current)] if current is not None else [], results)
