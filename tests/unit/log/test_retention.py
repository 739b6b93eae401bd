from typing import Any

from riverlog.log.retention import STAYS, Outlook, SegmentFacts, count_expired, foresee

NOW = 1_000_000
THREE = [SegmentFacts(100, 1000), SegmentFacts(200, 1000), SegmentFacts(300, 500)]
AGES = [900, 500, 100]


def count(segments: list[SegmentFacts] = THREE, ages: list[int] = AGES, **limits: Any) -> int:
    settings = {
        "retention_ms": -1,
        "retention_bytes": -1,
        "log_start_offset": 0,
        "high_watermark": 300,
    } | limits
    return count_expired(segments, lambda number: NOW - ages[number], now_ms=NOW, **settings)


def test_without_limits_everything_stays() -> None:
    assert count() == 0


def test_segments_whose_newest_record_is_too_old_go() -> None:
    assert count(retention_ms=899) == 1
    assert count(retention_ms=900) == 0
    assert count(retention_ms=499) == 2


def test_all_of_them_can_be_too_old_the_active_one_too() -> None:
    assert count(retention_ms=50) == 3


def test_a_young_segment_protects_the_older_looking_ones_behind_it() -> None:
    assert count(ages=[100, 900, 900], retention_ms=500) == 0


def test_the_oldest_go_until_the_rest_is_within_the_size() -> None:
    assert count(retention_bytes=2500) == 0
    assert count(retention_bytes=1501) == 0
    assert count(retention_bytes=1500) == 1
    assert count(retention_bytes=499) == 2
    assert count(retention_bytes=0) == 3


def test_segments_before_the_log_start_go_but_never_the_active_one() -> None:
    assert count(log_start_offset=99) == 0
    assert count(log_start_offset=100) == 1
    assert count(log_start_offset=300) == 2


def test_what_is_not_replicated_yet_stays() -> None:
    assert count(retention_ms=0, high_watermark=199) == 1
    assert count(retention_bytes=0, high_watermark=200) == 2
    assert count(log_start_offset=300, high_watermark=99) == 0


def test_an_empty_newest_segment_stays() -> None:
    segments = [SegmentFacts(100, 1000), SegmentFacts(100, 0)]

    assert count(segments, [900, 900], retention_ms=0, high_watermark=100) == 1
    assert count(segments[1:], [900], retention_ms=0, high_watermark=100) == 0


def test_ages_are_asked_for_only_as_far_as_they_matter() -> None:
    asked: list[int] = []

    def newest_ms(number: int) -> int:
        asked.append(number)
        return NOW - AGES[number]

    count_expired(
        THREE,
        newest_ms,
        now_ms=NOW,
        retention_ms=600,
        retention_bytes=-1,
        log_start_offset=0,
        high_watermark=300,
    )

    assert asked == [0, 1]


def test_the_reasons_add_up() -> None:
    assert count(retention_ms=600, retention_bytes=600) == 1
    assert count(retention_ms=600, log_start_offset=200) == 2


def outlook(offset: int, ages: list[int] = AGES, **limits: int) -> Outlook:
    settings = {"retention_ms": -1, "retention_bytes": -1} | limits
    return foresee(THREE, lambda number: NOW - ages[number], offset, now_ms=NOW, **settings)


def test_without_limits_nothing_is_ever_in_danger() -> None:
    assert outlook(0) == STAYS


def test_what_is_at_the_end_is_not_there_yet() -> None:
    assert outlook(300, retention_ms=1, retention_bytes=1) == STAYS


def test_an_offset_has_as_long_as_its_segment_is_young() -> None:
    assert outlook(0, retention_ms=1000) == Outlook(100, None, 0.1)
    assert outlook(99, retention_ms=1000) == Outlook(100, None, 0.1)
    assert outlook(100, retention_ms=1000) == Outlook(500, None, 0.5)
    assert outlook(0, retention_ms=800) == Outlook(-100, None, 0.0)


def test_a_young_segment_before_it_protects_it() -> None:
    assert outlook(150, ages=[100, 900, 900], retention_ms=1000) == Outlook(900, None, 0.9)


def test_a_time_stamp_from_the_future_leaves_no_more_than_all() -> None:
    assert outlook(0, ages=[-5000, 0, 0], retention_ms=1000) == Outlook(6000, None, 1.0)


def test_an_offset_stays_until_as_much_as_is_kept_lies_behind_its_segment() -> None:
    assert outlook(0, retention_bytes=2000) == Outlook(None, 500, 0.25)
    assert outlook(100, retention_bytes=2000) == Outlook(None, 1500, 0.75)
    assert outlook(250, retention_bytes=2000) == Outlook(None, 2000, 1.0)
    assert outlook(0, retention_bytes=1500) == Outlook(None, 0, 0.0)


def test_the_limit_that_comes_first_counts() -> None:
    assert outlook(0, retention_ms=1000, retention_bytes=3000) == Outlook(100, 1500, 0.1)
    assert outlook(0, retention_ms=10_000, retention_bytes=2000) == Outlook(9100, 500, 0.25)


def test_a_limit_of_nothing_leaves_nothing() -> None:
    assert outlook(0, ages=[0, 0, 0], retention_ms=0).left_share == 0
    assert outlook(299, retention_bytes=0).left_share == 0
