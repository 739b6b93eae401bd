"""Which offsets a query reads."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from riverlog.pipelines.source.offsets import (
    Bounds,
    Offsets,
    Range,
    bounded,
    following,
    lag,
    lost,
    ranges,
    shares,
)
from riverlog.types import TopicPartition

CLICKS = [TopicPartition("clicks", number) for number in range(4)]
ORDERS = TopicPartition("orders", 0)

places = st.builds(TopicPartition, st.sampled_from(["a", "b-1", "c.d"]), st.integers(0, 12))
offsets = st.dictionaries(places, st.integers(0, 2**40), max_size=8)
bounds = st.dictionaries(
    places,
    st.tuples(st.integers(0, 200), st.integers(0, 200)).map(lambda pair: Bounds(*sorted(pair))),
    max_size=8,
)


def through_json(given: Offsets) -> Offsets:
    return Offsets.from_json(json.loads(json.dumps(given.to_json())))


@given(offsets, offsets)
def test_offsets_are_the_same_after_json(
    ends: Mapping[TopicPartition, int], begins: Mapping[TopicPartition, int]
) -> None:
    assert through_json(Offsets(ends, begins)) == Offsets(ends, begins)


def test_offsets_are_written_as_spark_s_kafka_source_writes_them() -> None:
    read = Offsets.from_json({"clicks": {"0": 17, "1": 0}})

    assert read == Offsets({CLICKS[1]: 0, CLICKS[0]: 17})
    assert json.dumps(read.to_json()) == '{"clicks": {"0": 17, "1": 0}}'


@given(bounds, st.none() | st.integers(1, 2000), st.randoms(use_true_random=False))
def test_batches_read_every_offset_once_and_in_order(
    log: dict[TopicPartition, Bounds], limit: int | None, random: object
) -> None:
    at = Offsets({place: found.earliest for place, found in log.items()})
    read: dict[TopicPartition, int] = dict(at.ends)
    is_first = True
    for _ in range(2000):
        end = through_json(following(at, log, limit, is_first=is_first))
        batch = ranges(at, end)
        assert limit is None or sum(each.size for each in batch) <= limit
        for each in batch:
            assert each.start == read[each.place]
            read[each.place] = each.end
        if end == at:
            break
        at, is_first = end, False

    assert read == {place: found.latest for place, found in log.items()}


@given(offsets, bounds, st.none() | st.integers(1, 500), st.booleans())
def test_a_batch_never_goes_back_and_never_beyond_the_log(
    begin: Mapping[TopicPartition, int], log: dict[TopicPartition, Bounds], limit: int | None, is_first: bool
) -> None:
    end = following(Offsets(begin), log, limit, is_first=is_first)

    assert set(end.ends) == set(log)
    for place, offset in end.ends.items():
        assert log[place].earliest <= offset <= log[place].latest
    for each in ranges(Offsets(begin), end):
        assert each.start == begin.get(each.place, log[each.place].earliest)


@given(st.dictionaries(places, st.integers(0, 10_000), max_size=9), st.integers(1, 20_000))
def test_a_limit_is_used_up_and_split_in_proportion(backlog: dict[TopicPartition, int], limit: int) -> None:
    granted = shares(backlog, limit)
    filled = [place for place, size in backlog.items() if size]

    assert sum(granted.values()) == min(limit, sum(backlog.values()))
    assert all(0 <= granted[place] <= size for place, size in backlog.items())
    if limit >= len(filled):
        assert all(granted[place] >= 1 for place in filled)
    for place in filled:
        fair = backlog[place] * limit / sum(backlog.values())
        assert granted[place] >= min(backlog[place], int(fair)) - len(filled)


def test_partitions_of_the_same_age_come_to_the_present_together() -> None:
    assert shares({CLICKS[0]: 900, CLICKS[1]: 90, CLICKS[2]: 10}, 100) == {
        CLICKS[0]: 88,
        CLICKS[1]: 10,
        CLICKS[2]: 2,
    }


def test_a_limit_below_the_number_of_partitions_goes_to_the_fullest() -> None:
    assert shares({CLICKS[0]: 1, CLICKS[1]: 50, CLICKS[2]: 40}, 2) == {
        CLICKS[0]: 0,
        CLICKS[1]: 1,
        CLICKS[2]: 1,
    }


def test_a_first_batch_that_is_repeated_begins_where_it_began() -> None:
    began = Offsets({CLICKS[0]: 100})
    end = through_json(following(began, {CLICKS[0]: Bounds(0, 130)}, None, is_first=True))
    asked_again = Offsets({CLICKS[0]: 125})  # `latest`, asked by a query that starts anew

    assert ranges(asked_again, end) == ranges(began, end) == [Range(CLICKS[0], 100, 130)]


def test_a_first_batch_without_records_tells_where_it_began_too() -> None:
    end = following(Offsets({CLICKS[0]: 9}), {CLICKS[0]: Bounds(0, 9)}, None, is_first=True)

    assert end.begins == {CLICKS[0]: 9}
    assert ranges(Offsets({CLICKS[0]: 4}), end) == []


def test_a_new_partition_is_read_from_its_start_whenever_the_batch_is_run() -> None:
    start = Offsets({CLICKS[0]: 5})
    end = following(start, {CLICKS[0]: Bounds(0, 5), CLICKS[1]: Bounds(3, 8)}, None, is_first=False)

    assert ranges(start, through_json(end)) == [Range(CLICKS[1], 3, 8)]


def test_nothing_new_leaves_the_offsets_as_they_are() -> None:
    start = Offsets({CLICKS[0]: 5}, {CLICKS[0]: 1})
    end = following(start, {CLICKS[0]: Bounds(0, 5)}, 10, is_first=False)

    assert end is start
    assert ranges(start, end) == []


def test_what_was_deleted_is_passed_over_and_takes_nothing_of_the_limit() -> None:
    start = Offsets({CLICKS[0]: 5})
    end = following(start, {CLICKS[0]: Bounds(50, 80)}, 10, is_first=False)

    assert end.ends == {CLICKS[0]: 60}


def test_a_partition_that_is_gone_is_left_out() -> None:
    end = following(Offsets({CLICKS[0]: 5, ORDERS: 7}), {CLICKS[0]: Bounds(0, 6)}, None, is_first=False)

    assert end.ends == {CLICKS[0]: 6}


def test_losses_name_the_partition_and_the_offsets() -> None:
    read = {CLICKS[0]: 5, CLICKS[1]: 9, CLICKS[2]: 4, ORDERS: 7}
    losses = lost(read, {CLICKS[0]: Bounds(8, 20), CLICKS[1]: Bounds(0, 6), CLICKS[2]: Bounds(4, 4)})

    assert [loss.place for loss in losses] == [CLICKS[0], CLICKS[1], ORDERS]
    assert "clicks-0: the records from offset 5 up to 8 were deleted" in losses[0].text
    assert "clicks-1: the log ends before offset 6, though it was read up to 9" in losses[1].text
    assert "orders-0 is gone, which was read up to offset 7" in losses[2].text
    assert [loss.may_pass for loss in losses] == [False, True, False]


def test_a_query_that_ends_reads_what_there_was_and_nothing_newer() -> None:
    log = {
        CLICKS[0]: Bounds(0, 90),
        CLICKS[1]: Bounds(2, 9),
        CLICKS[2]: Bounds(0, 7),
        CLICKS[3]: Bounds(0, 3),
    }
    kept = bounded(log, {CLICKS[2]: 5}, {CLICKS[0]: 40, CLICKS[1]: 9})

    assert kept == {CLICKS[0]: Bounds(0, 40), CLICKS[1]: Bounds(2, 9), CLICKS[2]: Bounds(0, 5)}


def test_lag_is_what_the_log_has_beyond_what_was_read() -> None:
    latest = Offsets({CLICKS[0]: 10, CLICKS[1]: 4, ORDERS: 3})

    assert lag(Offsets({CLICKS[0]: 4, CLICKS[1]: 6}), latest) == {CLICKS[0]: 6, CLICKS[1]: 0, ORDERS: 3}
