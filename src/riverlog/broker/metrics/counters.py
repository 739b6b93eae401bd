"""Numbers that are counted while requests are served, because nothing else knows them.

A count is an addition to a slot. Telling the time costs several times that, so one request in
`TIMED_EVERY` of each API is timed, the first one among them: as a sample of many it tells the same.
"""

from __future__ import annotations

from bisect import bisect_left
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from riverlog.broker.handler import Parked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from riverlog.broker.handler import Reply

    Answer = TypeVar("Answer", bound="Reply | Parked | None")

TIMED_EVERY = 16
"""A power of two."""
TIMED_MASK = TIMED_EVERY - 1

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Upper ends in seconds."""


class Histogram:
    """How many observations fell into each bucket, and their sum."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        """For each bucket alone; the last one is for what is above them all."""
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        """Take one in."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds


class ApiCounters:
    """What is counted for one API."""

    __slots__ = ("errors", "requests", "seconds")

    def __init__(self) -> None:
        self.requests = 0
        self.errors: dict[int, int] = {}
        """By error code, of answers or of their partitions."""
        self.seconds = Histogram()
        """From the request to its reply, waiting included, of those that were timed."""

    def note_error(self, error_code: int) -> None:
        """Count an error that was answered."""
        self.errors[error_code] = self.errors.get(error_code, 0) + 1

    def timed(self, answer: Answer, began: float) -> Answer:
        """Pass an answer on and take in how long it took; for one that waits, when it has come."""
        if isinstance(answer, Parked) and not answer.is_resolved:
            answer.when_resolved = lambda: self.seconds.observe(perf_counter() - began)
        else:
            self.seconds.observe(perf_counter() - began)
        return answer


class RequestCounters:
    """What is counted, for each API."""

    __slots__ = ("_by_api",)

    def __init__(self) -> None:
        self._by_api: dict[int, ApiCounters] = {}

    def of(self, api_key: int) -> ApiCounters:
        """Give an API's counters."""
        counters = self._by_api.get(api_key)
        if counters is None:
            counters = self._by_api[api_key] = ApiCounters()
        return counters

    def used(self) -> Iterator[tuple[int, ApiCounters]]:
        """Go through the APIs that were asked for anything, by their keys."""
        for api_key, counters in sorted(self._by_api.items()):
            if counters.requests:
                yield api_key, counters


class Traffic:
    """What went through all connections."""

    __slots__ = ("failed_requests", "received_bytes", "rejected_requests", "sent_bytes")

    def __init__(self) -> None:
        self.received_bytes = 0
        self.sent_bytes = 0
        self.rejected_requests = 0
        """Their connections were closed, which is all the answer they got."""
        self.failed_requests = 0
        """Through a fault of ours."""
