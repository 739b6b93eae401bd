"""What is counted while requests are served."""

from __future__ import annotations

import pytest

from riverlog.broker.handler import Parked
from riverlog.broker.metrics import counters as counters_module
from riverlog.broker.metrics.counters import (
    BUCKETS,
    TIMED_EVERY,
    TIMED_MASK,
    ApiCounters,
    Histogram,
    RequestCounters,
)

PRODUCE, FETCH = 0, 1


def test_an_observation_falls_into_the_first_bucket_that_holds_it() -> None:
    histogram = Histogram()

    for seconds in (0.0, BUCKETS[0], BUCKETS[0] * 1.01, BUCKETS[-1], BUCKETS[-1] + 1):
        histogram.observe(seconds)

    assert histogram.counts == [2, 1, *[0] * (len(BUCKETS) - 3), 1, 1]
    assert histogram.sum == pytest.approx(BUCKETS[0] * 2.01 + BUCKETS[-1] * 2 + 1)


def test_the_first_request_and_every_so_many_more_are_timed() -> None:
    timed = [number for number in range(1, 3 * TIMED_EVERY) if number & TIMED_MASK == 1]

    assert timed == [1, 1 + TIMED_EVERY, 1 + 2 * TIMED_EVERY]


def test_an_answer_at_once_is_timed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters_module, "perf_counter", lambda: 10.5)
    counted = ApiCounters()

    assert counted.timed(b"reply", 10.0) == b"reply"
    assert counted.timed(None, 10.0) is None

    assert counted.seconds.sum == 1.0


def test_an_answer_that_waits_is_timed_when_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 10.0
    monkeypatch.setattr(counters_module, "perf_counter", lambda: now)
    counted = ApiCounters()
    parked = Parked(blocking=True)
    told: list[bool] = []

    assert counted.timed(parked, 10.0) is parked
    parked.attach(lambda: told.append(True))
    assert sum(counted.seconds.counts) == 0
    now = 13.0
    parked.resolve(b"reply")
    parked.resolve(b"another")

    assert (counted.seconds.sum, sum(counted.seconds.counts), told) == (3.0, 1, [True])


def test_an_answer_that_has_come_already_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters_module, "perf_counter", lambda: 11.0)
    counted = ApiCounters()
    parked = Parked(blocking=True)
    parked.resolve(b"reply")

    counted.timed(parked, 10.0)

    assert counted.seconds.sum == 1.0


def test_errors_are_counted_by_their_code() -> None:
    counted = ApiCounters()

    for code in (3, 6, 3):
        counted.note_error(code)

    assert counted.errors == {3: 2, 6: 1}


def test_apis_that_nobody_asked_for_are_not_shown() -> None:
    counters = RequestCounters()
    counters.of(FETCH).requests += 1
    counters.of(PRODUCE)

    assert counters.of(FETCH) is counters.of(FETCH)
    assert [api_key for api_key, _ in counters.used()] == [FETCH]
