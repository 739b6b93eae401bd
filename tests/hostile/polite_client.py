"""A client that behaves, and notices when it is not served as it should be.

Over and over, on a connection of its own: it produces a record with acks=all, reads it back, asks for the
log's end and for metadata. Every answer must be the right one; how long the slowest took is told.
"""

from __future__ import annotations

import threading
import time

from riverlog.protocol.records import Record, build_batch, read_records
from tests.process.raw_client import RawClient

TOPIC = "polite"


class PoliteClient:
    """Works in a thread for the time of a `with` block, which ends with what went wrong, if anything did."""

    def __init__(self, bootstrap: str, *, pause: float = 0.002) -> None:
        self._client = RawClient(bootstrap)
        self._pause = pause
        self._topic_id = self._client.create_topic(TOPIC)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._failure: BaseException | None = None
        self.rounds = 0
        self.longest = 0.0
        """Seconds that the slowest round took: four requests."""

    def __enter__(self) -> PoliteClient:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "the polite client waits for an answer that does not come"
        self._client.close()
        if self._failure is not None:
            raise AssertionError(f"the polite client after {self.rounds} rounds: {self._failure!r}")
        assert self.rounds, "the polite client was not served once"

    def wait_for_rounds(self, count: int, deadline: float = 60.0) -> None:
        """Wait until it was served `count` times more."""
        target, until = self.rounds + count, time.monotonic() + deadline
        while self.rounds < target and self._thread.is_alive():
            assert time.monotonic() < until, f"{self.rounds} of {target} rounds after {deadline} s"
            self._is_over.wait(0.005)

    def _work(self) -> None:
        try:
            while not self._is_over.wait(self._pause):
                began = time.perf_counter()
                self._round(self.rounds)
                self.longest = max(self.longest, time.perf_counter() - began)
                self.rounds += 1
        except BaseException as error:
            self._failure = error

    def _round(self, number: int) -> None:
        client = self._client
        value = b"polite %d " % number * 10
        batch = build_batch([Record(0, 1_700_000_000_000 + number, b"key", value)])
        assert client.produce(TOPIC, 0, batch) == number
        (read,) = read_records(client.fetch(TOPIC, 0, number).records)
        assert (read.offset, read.value) == (number, value)
        assert client.offset(TOPIC, 0) == number + 1
        assert client.topics()[TOPIC] == self._topic_id
