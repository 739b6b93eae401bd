"""Rows as records: what stands on a topic, what keys it, and how a result is compared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from riverlog.examples import Arrival, Input, comparable
from riverlog.examples.live import difference
from riverlog.examples.records import key_of, row_of, steps, value_of

NINE = datetime(2026, 3, 2, 9, 0, 0, 250_000, tzinfo=UTC)
CLICKS = Input("clicks", "user long, at timestamp", "user")


def test_a_row_is_a_json_object_whose_times_are_in_utc() -> None:
    there = NINE.astimezone(timezone(timedelta(hours=2)))

    value = value_of(Arrival("clicks", {"user": 7, "at": there}))

    assert value == b'{"user":7,"at":"2026-03-02T09:00:00.250Z"}'
    assert row_of(value) == {"user": 7, "at": "2026-03-02T09:00:00.250Z"}


def test_a_tombstone_has_a_key_and_no_value() -> None:
    arrival = Arrival("clicks", None, key=7)

    assert value_of(arrival) is None
    assert key_of(arrival, CLICKS) == b"7"


def test_a_column_keys_a_record_unless_its_arrival_says_other() -> None:
    assert key_of(Arrival("clicks", {"user": 7}), CLICKS) == b"7"
    assert key_of(Arrival("clicks", {"user": 7}, key=8), CLICKS) == b"8"


def test_what_arrives_is_cut_into_parts_of_one_size_without_losing_any() -> None:
    arrivals = [Arrival("clicks", {"user": number}) for number in range(10)]

    assert [len(part) for part in steps(arrivals, 4)] == [3, 3, 3, 1]
    assert [len(part) for part in steps(arrivals[:2], 4)] == [1, 1]
    assert steps([], 4) == []


def test_rows_compare_whatever_their_order_and_whether_times_are_texts() -> None:
    rows = [{"at": NINE, "user": 1, "name": None}, {"at": NINE, "user": 0}]
    texts = [{"user": 0, "at": "2026-03-02T09:00:00.250Z"}, {"user": 1, "at": "2026-03-02T09:00:00.250Z"}]

    assert comparable(rows) == comparable(texts)


def test_a_row_that_is_there_twice_and_was_expected_once_is_one_too_many() -> None:
    assert difference([{"a": 1}, {"a": 1}, {"a": 2}], [{"a": 1}, {"a": 3}]) == [{"a": 1}, {"a": 2}]
