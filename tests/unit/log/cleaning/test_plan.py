from typing import Any, NamedTuple

import pytest

from riverlog.log.cleaning.plan import (
    Cleanable,
    Lags,
    Offsets,
    SegmentSizes,
    dirtiest,
    find_cleanable,
    group_segments,
)

FOREVER = 2**63 - 1
NOW = 10_000


class Place(NamedTuple):
    base_offset: int
    size: int
    largest: int = 0
    first: int = 0


SEGMENTS = [Place(0, 10), Place(100, 20), Place(200, 30), Place(300, 40)]


def cleanable(
    segments: list[Place] = SEGMENTS,
    *,
    log_start: int = 0,
    cleaned: int = 0,
    last_stable: int = 350,
    log_end: int = 350,
    min_lag: int = 0,
    max_lag: int = FOREVER,
) -> Cleanable:
    return find_cleanable(
        segments,
        Offsets(log_start, cleaned, last_stable, log_end),
        Lags(min_lag, max_lag),
        NOW,
        largest_timestamp=lambda number: segments[number].largest,
        first_timestamp=lambda number: segments[number].first,
    )


def test_all_but_the_active_segment_may_be_cleaned() -> None:
    assert cleanable() == Cleanable(0, 300, 0, 60, 0)


def test_what_was_cleaned_before_counts_as_clean() -> None:
    found = cleanable(cleaned=200)

    assert found == Cleanable(200, 300, 30, 30, 0)
    assert found.dirty_ratio == 0.5


def test_a_segment_that_was_cleaned_in_part_counts_as_dirty() -> None:
    assert cleanable(cleaned=150) == Cleanable(150, 300, 10, 50, 0)


@pytest.mark.parametrize(("last_stable", "end"), [(299, 200), (200, 200), (199, 100), (50, 0), (300, 300)])
def test_nothing_in_the_segment_of_the_last_stable_offset_may_be_cleaned(last_stable: int, end: int) -> None:
    assert cleanable(last_stable=last_stable).end == end


def test_records_younger_than_the_least_lag_stay_and_all_behind_them() -> None:
    segments = [Place(0, 10, 1000), Place(100, 20, 9500), Place(200, 30, 2000), Place(300, 40)]

    assert cleanable(segments, min_lag=500).end == 200 + 100
    assert cleanable(segments, min_lag=501).end == 100


def test_a_log_is_overdue_by_the_age_of_its_oldest_dirty_batch() -> None:
    segments = [
        Place(0, 10, first=100),
        Place(100, 20, first=4000),
        Place(200, 30, first=3000),
        Place(300, 40),
    ]

    assert cleanable(segments, cleaned=100, max_lag=6000).overdue_ms == 1000
    assert cleanable(segments, cleaned=100, max_lag=7000).overdue_ms == 0
    assert cleanable(segments, cleaned=300, max_lag=1).overdue_ms == 0


@pytest.mark.parametrize("cleaned", [50, 400])
def test_a_place_outside_of_the_log_means_that_nothing_is_clean(cleaned: int) -> None:
    assert cleanable(cleaned=cleaned, log_start=100).first_dirty == 100


def test_a_log_of_one_segment_has_nothing_to_clean() -> None:
    found = cleanable([Place(0, 10)], last_stable=5, log_end=5)

    assert found == Cleanable(0, 0, 0, 0, 0)
    assert found.dirty_ratio == 0.0
    assert not found.is_due(0.0)


@pytest.mark.parametrize(
    ("found", "ratio", "is_due"),
    [
        (Cleanable(0, 10, 50, 50, 0), 0.5, False),
        (Cleanable(0, 10, 50, 51, 0), 0.5, True),
        (Cleanable(0, 10, 99, 1, 1), 0.5, True),
        (Cleanable(10, 10, 99, 0, 1), 0.0, False),
    ],
)
def test_a_log_is_due_when_dirty_enough_or_overdue_and_if_there_is_anything_dirty(
    found: Cleanable, ratio: float, is_due: bool
) -> None:
    assert found.is_due(ratio) is is_due


def test_the_dirtiest_log_comes_first() -> None:
    a, b = Cleanable(0, 10, 40, 60, 0), Cleanable(0, 10, 100, 300, 0)

    assert dirtiest([("a", a), ("b", b)]) == ("b", b)
    assert dirtiest([]) is None


def grouped(*sizes: tuple[int, int], end: int, **limits: Any) -> list[list[int]]:
    limits = {"segment_bytes": 100, "index_bytes": 1000, **limits}
    segments = [SegmentSizes(base, size, size, size * 2) for base, size in sizes]
    return [[each.base_offset for each in group] for group in group_segments(segments, end, **limits)]


def test_neighbours_are_put_together_as_far_as_a_segment_may_grow() -> None:
    found = grouped((0, 60), (10, 30), (20, 10), (30, 80), (40, 20), (50, 101), (60, 1), end=70)

    assert found == [[0, 10, 20], [30, 40], [50], [60]]


def test_indexes_bound_a_group_as_well() -> None:
    assert grouped((0, 10), (10, 10), (20, 10), end=30, index_bytes=40) == [[0, 10], [20]]


def test_a_group_spans_no_more_offsets_than_its_index_can_tell() -> None:
    far = 2**31

    assert grouped((0, 1), (10, 1), (far, 1), end=far + 1) == [[0, 10], [far]]
    assert grouped((0, 1), (10, 1), end=far) == [[0, 10]]
    assert grouped((0, 1), (10, 1), end=far + 1) == [[0], [10]]
    # One without batches takes no place in an index.
    assert grouped((0, 1), (10, 0), end=far + 1) == [[0, 10]]
