"""Where in a topic to start and where to stop: an offset, a time, or the last N records.

    start        the oldest record kept              end       after the newest record
    1234         that offset                         -100      the last 100 records of each partition
    @1735689600000                                   the first record at or after that time (ms since 1970)
    2025-01-01T00:00:00Z, 2025-01-01 09:30           the same as a date; without a zone, local time
    15m, 2h, 7d  the first record that recent        (s, m, h, d, w ago)

A position says what is meant; `span` makes offsets of it for one partition, whose bounds somebody has
asked the broker for. Spans are half-open:

    offsets kept  [120 .. 199] | earliest 120, latest 200
    span(-30, end) -> [170, 200)     span(100, end) -> [120, 200)     span(start, 150) -> [120, 150)

No clock and no client here: `now_ms` is an argument, times are resolved to offsets by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NamedTuple

_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_AGE = re.compile(r"([0-9]+)([smhdw])")
_WHOLE_NUMBER = re.compile(r"[0-9]+")


class Kind(Enum):
    """The ways to name a place in a partition."""

    START = "start"
    END = "end"
    OFFSET = "offset"
    LAST = "last"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Position:
    """A place in every partition of a topic; `number` is the offset, count or time in ms."""

    kind: Kind
    number: int = 0

    @staticmethod
    def parse(text: str, now_ms: int) -> Position:
        """Read a position as people write it; raise `ValueError` with the accepted forms."""
        if text in ("start", "end"):
            return Position(Kind(text))
        if _WHOLE_NUMBER.fullmatch(text):
            return Position(Kind.OFFSET, int(text))
        if text.startswith("-") and _WHOLE_NUMBER.fullmatch(text, 1):
            return Position(Kind.LAST, int(text[1:]))
        if text.startswith("@") and _WHOLE_NUMBER.fullmatch(text, 1):
            return Position(Kind.TIME, int(text[1:]))
        if age := _AGE.fullmatch(text):
            return Position(Kind.TIME, max(0, now_ms - int(age[1]) * _UNIT_MS[age[2]]))
        try:
            return Position(Kind.TIME, int(datetime.fromisoformat(text).timestamp() * 1000))
        except (ValueError, OverflowError):
            raise ValueError(
                f"{text!r} is not a position: expected start, end, an offset (1234), the last N records "
                "(-100), a time (2025-01-31T12:00:00Z or @MILLISECONDS since 1970) or an age (30s, 15m, 7d)"
            ) from None


START = Position(Kind.START)
END = Position(Kind.END)


class Bounds(NamedTuple):
    """What a partition holds: offsets from `earliest` up to but not including `latest`."""

    earliest: int
    latest: int


class Span(NamedTuple):
    """Offsets to read: from `start` up to but not including `end`; no `end` means for ever."""

    start: int
    end: int | None

    @property
    def is_empty(self) -> bool:
        """Nothing lies in it."""
        return self.end is not None and self.start >= self.end


def times_in(*positions: Position | None) -> list[int]:
    """The times (ms) which the broker must turn into offsets before `span` can be called."""
    return sorted({position.number for position in positions if position and position.kind is Kind.TIME})


def span(
    begin: Position, until: Position | None, bounds: Bounds, offset_at: Mapping[int, int | None]
) -> Span:
    """Make offsets of two positions for one partition; no `until` means without end.

    `offset_at` holds for each time the first offset at or after it, None where all records are older.
    Offsets that are no longer (or not yet) there are moved to the nearest bound.
    """
    start = _offset(begin, bounds, offset_at)
    end = None if until is None else _offset(until, bounds, offset_at)
    return Span(start, end)


def _offset(position: Position, bounds: Bounds, offset_at: Mapping[int, int | None]) -> int:
    match position.kind:
        case Kind.START:
            wanted = bounds.earliest
        case Kind.END:
            wanted = bounds.latest
        case Kind.OFFSET:
            wanted = position.number
        case Kind.LAST:
            wanted = bounds.latest - position.number
        case Kind.TIME:
            found = offset_at[position.number]
            wanted = bounds.latest if found is None else found
    return min(max(wanted, bounds.earliest), bounds.latest)
