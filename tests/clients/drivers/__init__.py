"""One face for every client, so that one set of claims is run over all of them.

    claims (test_*.py) --> Driver --> confluent-kafka | aiokafka | kafka-python | KafkaJS --> broker

A driver says what was asked in its client's own words and hands back plain values. It never hides a
failure: what the client reports as refused comes back as `Refused`, with Kafka's error number and
with the client's own opinion of whether trying again could help.
"""

from __future__ import annotations

import abc
import time
from collections.abc import Callable
from typing import ClassVar, NamedTuple

DEADLINE_S = 30.0
"""How long any single thing may take before the test gives up. Nothing here waits for its own sake."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

Headers = tuple[tuple[str, bytes | None], ...]


class Message(NamedTuple):
    """What a test wants stored."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None


class Stored(NamedTuple):
    """What a client read back."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    def message(self) -> Message:
        return Message(self.key, self.value, self.headers, self.timestamp)


class Placed(NamedTuple):
    """Where an acknowledged message went."""

    partition: int
    offset: int


class Cluster(NamedTuple):
    """What a client learnt of the brokers."""

    cluster_id: str
    controller_id: int
    broker_ids: tuple[int, ...]


class Refused(Exception):
    """The broker refused: Kafka's error number, and whether the client would try again."""

    def __init__(self, code: int, *, retriable: bool, text: str = "") -> None:
        super().__init__(f"error {code}, {'retriable' if retriable else 'final'}: {text}")
        self.code = code
        self.retriable = retriable


class Driver(abc.ABC):
    """A client library, reduced to what the claims need."""

    name: ClassVar[str]

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def close(self) -> None:  # noqa: B027 - most drivers keep nothing
        """Let go of whatever the driver keeps open between calls."""

    @abc.abstractmethod
    def produce(
        self,
        topic: str,
        messages: list[Message],
        *,
        partition: int | None = None,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
        request_bytes_max: int = 1_000_000,
    ) -> list[Placed]:
        """Send in order and wait for every answer; without `partition` the client's partitioner decides.

        With acks=0 nothing is known of offsets: -1.
        """

    @abc.abstractmethod
    def offset_at(self, topic: str, partition: int, timestamp: int) -> int | None:
        """The offset of the first record not older than `timestamp`, None where there is none."""

    @abc.abstractmethod
    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        """The earliest offset and the one that comes next."""

    @abc.abstractmethod
    def consume_in_group(self, topic: str, group: str, count: int) -> list[Stored]:
        """Join `group`, read `count` records of `topic` from its committed place, commit, leave."""

    @abc.abstractmethod
    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replicas: int = 1,
        settings: dict[str, str] | None = None,
        validate_only: bool = False,
    ) -> None: ...

    @abc.abstractmethod
    def delete_topic(self, topic: str) -> None: ...

    @abc.abstractmethod
    def grow_topic(self, topic: str, partitions: int) -> None: ...

    @abc.abstractmethod
    def topics(self) -> dict[str, int]:
        """Every topic's number of partitions."""

    @abc.abstractmethod
    def topic_settings(self, topic: str) -> dict[str, str | None]: ...

    @abc.abstractmethod
    def set_topic_settings(self, topic: str, settings: dict[str, str]) -> None: ...

    @abc.abstractmethod
    def cluster(self) -> Cluster: ...

    @abc.abstractmethod
    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Forget the records below offset `before`; -1 stands for all there are."""


class Reader(Driver):
    """A client that can read a partition without belonging to a group."""

    @abc.abstractmethod
    def consume(
        self,
        topic: str,
        partition: int,
        count: int,
        *,
        start: int = 0,
        reset: str = "none",
        fetch_bytes_max: int | None = None,
    ) -> list[Stored]:
        """Read `count` records from offset `start`; `reset` says where to go when there is no such offset."""


def await_that(holds: Callable[[], bool], claim: str) -> None:
    """Ask until it is so: Kafka answers a change a moment before its own brokers hear of it."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, f"not within {DEADLINE_S} s: {claim}"
