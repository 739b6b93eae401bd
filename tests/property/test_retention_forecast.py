"""The forecast for an offset and the decision to delete its segment are about the same rules."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from riverlog.log.retention import SegmentFacts, count_expired, foresee

NOW = 1_000_000
LIMITS = st.one_of(st.just(-1), st.integers(0, 3000))


@given(
    segments=st.lists(
        st.tuples(st.integers(1, 5), st.integers(1, 1000), st.integers(-100, 2000)), min_size=1, max_size=6
    ),
    retention_ms=LIMITS,
    retention_bytes=LIMITS,
    data=st.data(),
)
def test_an_offset_is_deleted_now_exactly_if_nothing_is_left(
    segments: list[tuple[int, int, int]], retention_ms: int, retention_bytes: int, data: st.DataObject
) -> None:
    counts, sizes, ages = zip(*segments, strict=True)
    facts = [SegmentFacts(end, size) for end, size in zip(accumulate(counts), sizes, strict=True)]
    log_end = facts[-1].end_offset
    offset = data.draw(st.integers(0, log_end - 1))

    outlook = foresee(
        facts,
        lambda number: NOW - ages[number],
        offset,
        now_ms=NOW,
        retention_ms=retention_ms,
        retention_bytes=retention_bytes,
    )
    count = count_expired(
        facts,
        lambda number: NOW - ages[number],
        now_ms=NOW,
        retention_ms=retention_ms,
        retention_bytes=retention_bytes,
        log_start_offset=0,
        high_watermark=log_end,
    )

    is_deleted = bool(count) and facts[count - 1].end_offset > offset
    is_too_old = outlook.left_ms is not None and outlook.left_ms < 0
    is_too_much = outlook.left_bytes is not None and outlook.left_bytes <= 0
    assert is_deleted == (is_too_old or is_too_much)
    assert 0 <= outlook.left_share <= 1
    if is_deleted:
        assert outlook.left_share == 0
