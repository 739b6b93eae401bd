"""The join of two tables as a view that is kept up to date by retractions and insertions. Pure.

    follows  (ada follows bob)                    posts  (bob: "hi")
        │ change: unfollowed                          │ change: edited
        ▼                                             ▼
    retract every pair of that row                retract the pairs of the old row, insert those of the new

Whoever adds up what comes out, one for an insertion and one less for a retraction, has the join of the two
tables as they stand. Between two states only the difference is said: what changes back within a batch is not
mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from riverlog.pipelines.versions import Version, newest

INSERT, RETRACT = "insert", "retract"

Key = tuple[Any, ...]
Table = Mapping[Key, Version]
Pairs = dict[tuple[Key, Key], tuple[Any, Any]]


class Delta(NamedTuple):
    """One row of the view that came or went."""

    operation: str
    left: Any
    right: Any


def newer_versions(before: Table, changes: Iterable[tuple[Key, Version]]) -> dict[Key, Version]:
    """Give the rows that changes replace, as they are now; a change older than the known one is none."""
    after: dict[Key, Version] = {}
    for key, change in changes:
        known = after.get(key, before.get(key))
        found = newest(known, [change])
        if found is not known:
            assert found is not None
            after[key] = found
    return after


def deltas(left: Table, right: Table, new_left: Table, new_right: Table) -> list[Delta]:
    """Give what changes in the join as `new_left` and `new_right` come in: retractions, then insertions."""
    before = _pairs(left, right, new_left, new_right)
    after = _pairs({**left, **new_left}, {**right, **new_right}, new_left, new_right)
    gone = [Delta(RETRACT, *rows) for pair, rows in before.items() if after.get(pair) != rows]
    come = [Delta(INSERT, *rows) for pair, rows in after.items() if before.get(pair) != rows]
    return gone + come


def _pairs(left: Table, right: Table, changed_left: Table, changed_right: Table) -> Pairs:
    """Give the pairs that a change of these rows can touch; deleted rows have none."""
    pairs: Pairs = {}
    for ours in (key for key in changed_left if key in left):
        pairs |= {(ours, theirs): (left[ours].row, right[theirs].row) for theirs in right}
    for theirs in (key for key in changed_right if key in right):
        pairs |= {(ours, theirs): (left[ours].row, right[theirs].row) for ours in left}
    return {pair: rows for pair, rows in pairs.items() if None not in rows}
