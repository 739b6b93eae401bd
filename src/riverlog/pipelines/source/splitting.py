"""Ranges of offsets to tasks: one for each partition, or more where large ranges are to be cut. Pure.

    [clicks-0 0..900) [clicks-1 0..100)   at least 4 tasks
        ──▶ [0..300) [300..600) [600..900)   [0..100)

What comes out goes by the ranges and the two limits alone. The pieces of a partition follow each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from riverlog.pipelines.source.offsets import Range


def pieces(ranges: Sequence[Range], *, tasks_min: int | None, offsets_max: int | None) -> list[Range]:
    """Cut ranges until there are `tasks_min`, if they hold so many offsets, none above `offsets_max`."""
    counts = [1 if offsets_max is None else -(-each.size // offsets_max) for each in ranges]
    wanted = min(tasks_min or 0, sum(each.size for each in ranges))
    for _ in range(wanted - sum(counts)):
        # One more cut where the pieces are largest; the first of equal ones.
        largest = max(range(len(ranges)), key=lambda number: ranges[number].size / counts[number])
        counts[largest] += 1
    return [piece for each, count in zip(ranges, counts, strict=True) for piece in _cut(each, count)]


def _cut(whole: Range, count: int) -> list[Range]:
    bounds = [whole.start + whole.size * number // count for number in range(count + 1)]
    return [Range(whole.place, start, end) for start, end in pairwise(bounds) if start < end]
