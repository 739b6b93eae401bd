"""Aggregates over a moving span of time, without computing the span anew for each event. Pure.

A queue of two stacks: values go in at one end and leave at the other, and what is inside is known at any
moment by joining two partial aggregates. Nothing is ever subtracted, so minimum and maximum work like a sum
does, and no error of rounding gathers.

    oldest ◀── leaving: each entry knows the aggregate of itself and all newer in this stack
    newest ──▶ arriving: one running aggregate; turned over into `leaving` when that is empty
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

from riverlog.errors import RiverlogError
from riverlog.pipelines.steps import Step, Values

FUNCTIONS = ("count", "sum", "avg", "min", "max")
_CALL = re.compile(r"\s*(\w+)\s*\(\s*(\*|`[^`]+`|\w+)\s*\)\s*")


class Aggregate(NamedTuple):
    """One aggregate: a function and the column it is of; None for `count(*)`."""

    function: str
    column: str | None


def parse(name: str, text: str) -> Aggregate:
    """Read `sum(cents)`, `count(*)`; raises `RiverlogError` naming the aggregate."""
    found = _CALL.fullmatch(text)
    function = found[1].lower() if found else ""
    if found is None or function not in FUNCTIONS or (found[2] == "*" and function != "count"):
        raise RiverlogError(
            f"aggregate {name}={text!r} is not accepted: one of {', '.join(FUNCTIONS)} of a column, as in "
            "'sum(cents)', or 'count(*)'"
        )
    return Aggregate(function, None if found[2] == "*" else found[2].strip("`"))


class Part(NamedTuple):
    """A partial aggregate of one column; nulls are left out, as in SQL."""

    number: int
    total: Any
    least: Any
    most: Any

    def joined(self, newer: Part) -> Part:
        if not self.number:
            return newer
        if not newer.number:
            return self
        total = None if self.total is None else self.total + newer.total
        return Part(
            self.number + newer.number, total, min(self.least, newer.least), max(self.most, newer.most)
        )


NOTHING = Part(0, None, None, None)


def part_of(value: Any) -> Part:
    if value is None:
        return NOTHING
    return Part(1, value if isinstance(value, (int, float, Decimal)) else None, value, value)


class Span:
    """Values with their times, and the aggregates of those that are inside."""

    def __init__(self, width: int) -> None:
        self._nothing = (NOTHING,) * width
        self._arriving: list[Values] = []
        self._arrived = self._nothing
        self._leaving: list[tuple[Values, tuple[Part, ...]]] = []

    def add(self, row: Values) -> None:
        """Take (time, value, value ...), not older than any before."""
        self._arriving.append(row)
        self._arrived = _join(self._arrived, row)

    def drop_until(self, time_us: int) -> None:
        """Forget rows with a time below `time_us`."""
        while self._leaving or self._arriving:
            if not self._leaving:
                self._turn_over()
            if self._leaving[-1][0][0] >= time_us:
                return
            self._leaving.pop()

    def parts(self) -> list[Part]:
        """Give the partial aggregate of each column over all that is inside."""
        older = self._leaving[-1][1] if self._leaving else self._nothing
        return [old.joined(new) for old, new in zip(older, self._arrived, strict=True)]

    def rows(self) -> list[Values]:
        """Give all that is inside, oldest first."""
        return [row for row, _ in reversed(self._leaving)] + self._arriving

    def _turn_over(self) -> None:
        behind = self._nothing
        for row in reversed(self._arriving):
            behind = tuple(part_of(value).joined(new) for value, new in zip(row[1:], behind, strict=True))
            self._leaving.append((row, behind))
        self._arriving = []
        self._arrived = self._nothing


def _join(parts: tuple[Part, ...], row: Values) -> tuple[Part, ...]:
    return tuple(part.joined(part_of(value)) for part, value in zip(parts, row[1:], strict=True))


class SlidingMachine:
    """For each row, the row and the aggregates over [its time - preceding, its time], its peers included.

    State: the aggregated values of rows that a later row's span may still reach.
    """

    def __init__(
        self,
        preceding_us: int,
        aggregates: Sequence[tuple[str, int, int | None]],
        places: Sequence[int],
    ) -> None:
        """`aggregates`: (function, which of `places`, scale of a decimal average); `places`: in a row."""
        self._preceding = preceding_us
        self._aggregates = list(aggregates)
        self._places = list(places)

    def step(self, state: list[Values], rows: list[Values], watermark_us: int) -> Step:
        """Add rows of one time together, then give each its result."""
        span = Span(len(self._places))
        for kept in state:
            span.add(tuple(kept))
        results: list[Values] = []
        start = 0
        while start < len(rows):
            time_us = rows[start][0]
            end = start
            while end < len(rows) and rows[end][0] == time_us:
                span.add((time_us, *(rows[end][place] for place in self._places)))
                end += 1
            span.drop_until(time_us - self._preceding)
            found = self._found(span.parts())
            results += [(*row, *found) for row in rows[start:end]]
            start = end
        # The next row is above the watermark, so its span begins above this.
        span.drop_until(watermark_us - self._preceding + 1)
        kept_rows = span.rows()
        return Step(kept_rows, results, kept_rows[-1][0] + self._preceding if kept_rows else None)

    def _found(self, parts: list[Part]) -> list[Any]:
        return [value_of(function, parts[place], scale) for function, place, scale in self._aggregates]


def value_of(function: str, part: Part, scale: int | None) -> Any:
    match function:
        case "count":
            return part.number
        case "sum":
            return part.total
        case "min":
            return part.least
        case "max":
            return part.most
    if not part.number:
        return None
    if scale is not None:
        return (Decimal(part.total) / part.number).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    return part.total / part.number
