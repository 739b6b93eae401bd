"""Ranges of offsets to tasks."""

from __future__ import annotations

from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from riverlog.pipelines.source.offsets import Range
from riverlog.pipelines.source.splitting import pieces
from riverlog.types import TopicPartition

ranges = st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 1000)), max_size=6).map(
    lambda pairs: [
        Range(TopicPartition("t", number), start, start + size) for number, (start, size) in enumerate(pairs)
    ]
)


@given(ranges, st.none() | st.integers(1, 60), st.none() | st.integers(1, 400))
def test_pieces_are_the_whole_within_their_limits(
    whole: list[Range], tasks_min: int | None, offsets_max: int | None
) -> None:
    cut = pieces(whole, tasks_min=tasks_min, offsets_max=offsets_max)

    joined = []
    for place, group in groupby(cut, key=lambda piece: piece.place):
        parts = list(group)
        assert all(left.end == right.start for left, right in pairwise(parts))
        joined.append(Range(place, parts[0].start, parts[-1].end))
    assert joined == whole
    assert all(piece.size >= 1 for piece in cut)
    if offsets_max is not None:
        assert all(piece.size <= offsets_max for piece in cut)
    if tasks_min is not None:
        assert len(cut) >= min(tasks_min, sum(each.size for each in whole))


def test_without_limits_a_partition_is_a_task() -> None:
    whole = [Range(TopicPartition("t", 0), 5, 5000), Range(TopicPartition("t", 1), 0, 1)]

    assert pieces(whole, tasks_min=None, offsets_max=None) == whole


def test_the_largest_ranges_are_cut() -> None:
    one, two = TopicPartition("t", 0), TopicPartition("t", 1)

    assert pieces([Range(one, 0, 900), Range(two, 0, 100)], tasks_min=4, offsets_max=None) == [
        Range(one, 0, 300),
        Range(one, 300, 600),
        Range(one, 600, 900),
        Range(two, 0, 100),
    ]
