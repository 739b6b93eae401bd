"""Search the other way round: queries are stored, and each event asks which of them it answers. Pure.

    Query("oil-alert", equals={"symbol": "BRN"}, ranges={"price": (90, None)}, words={"headline": "strike"})

All conditions of a query must hold; a null satisfies none. An event must not be compared with every query,
so each query waits at one place only, that of its condition which the fewest others share:

    equals   (column, value) ──▶ queries          a look-up
    words    (column, word)  ──▶ queries          a look-up per word of the event
    ranges   column ──▶ queries by lower bound    those whose bound the event reaches, found by bisection
                        (by upper bound if there is no lower)

What waits where the event arrives is a candidate, and the rest of its conditions is checked.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from riverlog.errors import RiverlogError

_WORD = re.compile(r"\w+")

Range = tuple[Any, Any]
"""Lowest and highest accepted value, both included; None is no bound."""


EQUALS, WORD = "equals", "word"
Place = tuple[str, str, Hashable]
"""Where a query waits: kind of condition, column, value or word."""


class QueryRefused(RiverlogError):
    """A stored query that asks nothing, or asks twice under one name."""


@dataclass(frozen=True, slots=True)
class Query:
    """A stored query: columns with the value or values, the range, or the words that they must have."""

    name: str
    equals: Mapping[str, Hashable | frozenset[Hashable]] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    def columns(self) -> set[str]:
        """Give the columns that it asks of."""
        return {*self.equals, *self.ranges, *self.words}


class QueryIndex:
    """Queries, each waiting at one of its conditions."""

    def __init__(self, queries: Iterable[Query]) -> None:
        self._queries = list(queries)
        names = Counter(query.name for query in self._queries)
        for query in self._queries:
            if names[query.name] > 1:
                raise QueryRefused(f"query {query.name!r} is there twice: give each query a name of its own")
            _check(query)
        self._waiting: dict[Place, list[Query]] = {}
        above: dict[str, list[tuple[Any, Query]]] = {}
        below: dict[str, list[tuple[Any, Query]]] = {}
        shared = Counter(place for query in self._queries for places in _choices(query) for place in places)
        for query in self._queries:
            choices = _choices(query)
            if choices:
                for place in min(choices, key=lambda places: sum(shared[place] for place in places)):
                    self._waiting.setdefault(place, []).append(query)
                continue
            column, (low, high) = next(iter(query.ranges.items()))
            side, bound = (above, low) if low is not None else (below, high)
            side.setdefault(column, []).append((bound, query))
        self._above = {column: _Bounds(bounds) for column, bounds in above.items()}
        self._below = {column: _Bounds(bounds) for column, bounds in below.items()}
        self._equal_columns = sorted({column for kind, column, _ in self._waiting if kind == EQUALS})
        self._word_columns = sorted({column for kind, column, _ in self._waiting if kind == WORD})

    def columns(self) -> list[str]:
        """Give the columns that any query asks of."""
        return sorted({column for query in self._queries for column in query.columns()})

    def queries(self) -> list[Query]:
        """Give all queries."""
        return list(self._queries)

    def match(self, event: Mapping[str, Any]) -> list[str]:
        """Give the names of the queries that an event answers, in alphabetical order."""
        return sorted(query.name for query in self.candidates(event) if answers(query, event))

    def candidates(self, event: Mapping[str, Any]) -> Iterator[Query]:
        """Give the queries that wait where the event arrives, each once."""
        for column in self._equal_columns:
            yield from self._waiting.get((EQUALS, column, event[column]), ())
        for column in self._word_columns:
            for word in words(event[column]):
                yield from self._waiting.get((WORD, column, word), ())
        for column, bounds in self._above.items():
            if event[column] is not None:
                yield from bounds.queries[: bisect_right(bounds.values, event[column])]
        for column, bounds in self._below.items():
            if event[column] is not None:
                yield from bounds.queries[bisect_left(bounds.values, event[column]) :]


def answers(query: Query, event: Mapping[str, Any]) -> bool:
    """Say whether an event satisfies every condition of a query."""
    for column, wanted in query.equals.items():
        if event[column] is None or event[column] not in _values(wanted):
            return False
    for column, (low, high) in query.ranges.items():
        value = event[column]
        if value is None or (low is not None and value < low) or (high is not None and value > high):
            return False
    return all(words(wanted) <= words(event[column]) for column, wanted in query.words.items())


def words(text: str | None) -> set[str]:
    """Give the words of a text, in small letters."""
    return set(_WORD.findall(text.lower())) if text else set()


class _Bounds:
    """Queries in the order of their bounds."""

    def __init__(self, bounds: list[tuple[Any, Query]]) -> None:
        ordered = sorted(bounds, key=lambda each: each[0])
        self.values = [bound for bound, _ in ordered]
        self.queries = [query for _, query in ordered]


def _choices(query: Query) -> list[list[Place]]:
    """Give the sets of places at which a query could wait so that no event that answers it goes by."""
    equal = [
        [(EQUALS, column, value) for value in _values(wanted)] for column, wanted in query.equals.items()
    ]
    worded: list[list[Place]] = [
        [(WORD, column, word)] for column, text in query.words.items() for word in words(text)
    ]
    return [*equal, *worded]


def _values(wanted: Hashable | frozenset[Hashable]) -> frozenset[Hashable]:
    return wanted if isinstance(wanted, frozenset) else frozenset((wanted,))


def _check(query: Query) -> None:
    if not query.columns():
        raise QueryRefused(f"query {query.name!r} asks nothing, so every event would answer it")
    for column, wanted in query.equals.items():
        if None in _values(wanted) or not _values(wanted):
            raise QueryRefused(
                f"query {query.name!r} wants {column!r} to equal null or nothing: none ever does"
            )
    for column, (low, high) in query.ranges.items():
        if low is None and high is None:
            raise QueryRefused(f"query {query.name!r} gives no bound for {column!r}")
    for column, text in query.words.items():
        if not words(text):
            raise QueryRefused(f"query {query.name!r} names no word for {column!r}: {text!r}")
