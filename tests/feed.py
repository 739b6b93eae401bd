"""Somebody who writes into a topic, whatever happens to the broker, and knows what is there."""

from __future__ import annotations

import abc
import threading

from confluent_kafka import KafkaError, Producer

from tests.committed_reader import PATIENT

ACKNOWLEDGED_SECONDS_MAX = 60.0


class Feed(abc.ABC):
    """Calls `write` again and again between `start` and `finish`, in a thread of its own."""

    def __init__(self, bootstrap: str, topic: str, *, pause_seconds: float) -> None:
        self._topic = topic
        self._pause_seconds = pause_seconds
        self._refused: list[KafkaError] = []
        self._told_to_stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                # what is sent again is not there twice
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": int(ACKNOWLEDGED_SECONDS_MAX * 1000),
                "retry.backoff.ms": 20,
                **PATIENT,
            }
        )

    @abc.abstractmethod
    def write(self) -> None:
        """Call `send` once."""

    def send(self, value: bytes, partition: int = -1) -> None:
        """Write a record; the partition is the client's choice unless it is named."""
        self._producer.produce(self._topic, value, partition=partition, on_delivery=self._delivered)

    def start(self) -> None:
        self._told_to_stop.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Write no more; everything that was written is there."""
        assert self._thread is not None
        self._told_to_stop.set()
        self._thread.join(ACKNOWLEDGED_SECONDS_MAX)
        left = self._producer.flush(ACKNOWLEDGED_SECONDS_MAX)
        assert not left, f"{left} records for {self._topic} are not acknowledged"
        assert not self._refused, self._refused[:3]

    def _run(self) -> None:
        while not self._told_to_stop.wait(self._pause_seconds):
            self.write()
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, _: object) -> None:
        if error is not None:
            self._refused.append(error)


class Numbers(Feed):
    """Writes numbers, from 0 upwards in each partition."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, *, pause_seconds: float) -> None:
        super().__init__(bootstrap, topic, pause_seconds=pause_seconds)
        self.counts = [0] * partitions

    def write(self) -> None:
        partition = sum(self.counts) % len(self.counts)
        self.send(b"%d" % self.counts[partition], partition)
        self.counts[partition] += 1
