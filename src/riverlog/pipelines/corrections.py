"""Windows whose result is published early and corrected for a bounded lateness. Pure.

    window [start ──────────── end)
    watermark W    end - early ▶ insert            each later change ▶ retract, insert      end ▶ forget

Added up, one for an insertion and one less for a retraction, what comes out is the window over all events
that were not later than the watermark allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from riverlog.pipelines.aggregates import NOTHING, Part, part_of, value_of
from riverlog.pipelines.maintained_view import INSERT, RETRACT
from riverlog.pipelines.steps import Values


class Window(NamedTuple):
    """An open window: where it starts, whether its result is out, and its aggregates so far."""

    start_us: int
    is_published: bool
    parts: tuple[Part, ...]


class Outcome(NamedTuple):
    """Windows as they are now, and (operation, start, values ...) for each row that came or went."""

    windows: list[Window]
    results: list[Values]


class CorrectingWindows:
    """Windows of one width, side by side from 1970 on, as Spark's are."""

    def __init__(
        self, width_us: int, early_us: int, aggregates: Sequence[tuple[str, int, int | None]], count: int
    ) -> None:
        """`aggregates`: (function, which value of a row, scale of a decimal average); `count` of values."""
        self._width = width_us
        self._early = early_us
        self._aggregates = list(aggregates)
        self._count = count

    def add(self, windows: list[Window], rows: list[Values]) -> Outcome:
        """Take rows (time, value, value ...) in any order; correct what is out already."""
        known = {window.start_us: window for window in windows}
        before = dict(known)
        for time_us, *values in rows:
            start = time_us - time_us % self._width
            window = known.get(start, Window(start, False, (NOTHING,) * self._count))
            parts = tuple(
                part.joined(part_of(value)) for part, value in zip(window.parts, values, strict=True)
            )
            known[start] = window._replace(parts=parts)
        results: list[Values] = []
        for start, window in sorted(known.items()):
            if window.is_published:
                was, now = self._values(before[start]), self._values(window)
                if was != now:
                    results += [(RETRACT, start, *was), (INSERT, start, *now)]
        return Outcome([known[start] for start in sorted(known)], results)

    def pass_by(self, windows: list[Window], watermark_us: int) -> Outcome:
        """Publish what the watermark, and `early` before it, has passed; forget what can change no more."""
        kept, results = [], []
        for window in windows:
            end = window.start_us + self._width
            if not window.is_published and end - self._early <= watermark_us:
                results.append((INSERT, window.start_us, *self._values(window)))
                window = window._replace(is_published=True)
            if end > watermark_us:
                kept.append(window)
        return Outcome(kept, results)

    def wake_times(self, window: Window) -> list[int]:
        """Give the watermarks at which something happens to a window."""
        end = window.start_us + self._width
        return [end - self._early, end]

    def _values(self, window: Window) -> list[Any]:
        return [value_of(function, window.parts[place], scale) for function, place, scale in self._aggregates]


def stored_windows(windows: list[Window]) -> list[Values]:
    """Flatten windows into rows: start, published, then four values for each part."""
    return [
        (window.start_us, window.is_published, *(value for part in window.parts for value in part))
        for window in windows
    ]


def load_windows(rows: list[Values]) -> list[Window]:
    """Give the windows that `stored_windows` flattened."""
    return [
        Window(start, published, tuple(Part(*flat[place : place + 4]) for place in range(0, len(flat), 4)))
        for start, published, *flat in rows
    ]
