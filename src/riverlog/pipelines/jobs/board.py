"""The topic `riverlog-pipelines`, read and written: where apps say how they are and are told what to do.

It has one partition, so that what is said has an order, and is compacted. It is made when something is first
published; reading where it is not there gives nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from time import monotonic, sleep
from typing import Self

from riverlog.client import Admin, Producer, Span, SpanReader, TopicExists, UnknownTopic
from riverlog.pipelines.jobs.pointers import Pointer
from riverlog.pipelines.jobs.records import TOPIC, Command, Known, Status, encode, encode_pointer

PAUSE_SECONDS = 0.2
"""Between two looks at the topic while something is waited for."""


class Board:
    """What is known of all apps that share a cluster."""

    def __init__(
        self, servers: str, *, timeout_seconds: float = 10.0, properties: Mapping[str, str] | None = None
    ) -> None:
        self.known = Known()
        self.admin = Admin(servers, timeout_seconds=timeout_seconds, properties=properties)
        self.servers = servers
        self.timeout_seconds = timeout_seconds
        self.properties = dict(properties or {})
        self._next = 0
        self._producer: Producer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._producer is not None:
            self._producer.flush(self.timeout_seconds)
            self._producer = None

    def refresh(self) -> Known:
        """Take in what was published since the last time."""
        try:
            bounds = self.admin.bounds(TOPIC, [0])[0]
        except UnknownTopic:
            return self.known
        if bounds.latest > self._next:
            spans = {0: Span(max(self._next, bounds.earliest), bounds.latest)}
            with closing(self.reader(TOPIC, spans)) as reader:
                for batch in reader.batches():
                    for record in batch:
                        self.known.replay(record.key, record.value)
            self._next = bounds.latest
        return self.known

    def reader(self, topic: str, spans: Mapping[int, Span]) -> SpanReader:
        """Read spans of a topic of the same cluster."""
        return SpanReader(
            self.servers,
            topic,
            spans,
            timeout_seconds=self.timeout_seconds,
            properties=self.properties,
        )

    def publish(self, *records: Status | Command | Pointer) -> None:
        """Say something, and return once the cluster has it. Raises `DeliveryFailed`."""
        self._send(*(encode_pointer(each) if isinstance(each, Pointer) else encode(each) for each in records))

    def forget(self, *keys: str) -> None:
        """Take back what was said under these keys."""
        self._send(*((key.encode(), None) for key in keys))

    def wait_for(self, is_so: Callable[[Known], bool], seconds: float) -> bool:
        """Look at the topic until something is so; say whether it was in time."""
        deadline = monotonic() + seconds
        while not is_so(self.refresh()):
            if monotonic() > deadline:
                return False
            sleep(PAUSE_SECONDS)
        return True

    def _send(self, *records: tuple[bytes, bytes | None]) -> None:
        if self._producer is None:
            self._make_topic()
            self._producer = Producer(
                self.servers,
                delivery_seconds=self.timeout_seconds,
                timeout_seconds=self.timeout_seconds,
                properties=self.properties,
            )
        for key, value in records:
            self._producer.send(TOPIC, value, key=key, partition=0)
        self._producer.flush()
        if self._producer.failed:
            failed, self._producer = self._producer, None
            failed.raise_failures()

    def _make_topic(self) -> None:
        try:
            self.admin.create_topic(TOPIC, partitions=1, settings={"cleanup.policy": "compact"})
        except TopicExists:
            pass  # made by another app
