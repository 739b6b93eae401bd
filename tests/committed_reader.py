"""Read a topic as a reader of committed data does, without a group."""

from __future__ import annotations

import time
from types import TracebackType
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

END_SECONDS_MAX = 30.0


PATIENT = {
    "reconnect.backoff.max.ms": 200,
    # librdkafka forgets the brokers it knew once all of them are gone, and then waits for ever for a
    # group's coordinator that it has forgotten (librdkafka#5511, #5456)
    "metadata.recovery.strategy": "none",
    # the broker's crashes are what the tests are about
    "log_level": 2,
}
"""Settings of librdkafka's for a client that outlives its broker."""


class Committed(NamedTuple):
    """A record of a transaction that was committed, or of none."""

    partition: int
    key: bytes
    value: bytes


class CommittedReader:
    """Follows all partitions from their first offset on, through whatever happens to the broker."""

    def __init__(self, bootstrap: str, topic: str, partitions: int = 1) -> None:
        self.topic = topic
        self._partitions = frozenset(range(partitions))
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"readers-of-{topic}",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 50,
                **PATIENT,
            }
        )
        self._consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])

    def read(self, seconds: float) -> list[Committed]:
        """Give what is there, or what comes within this time."""
        return self._taken(seconds)[0]

    def read_to_end(self) -> list[Committed]:
        """Give everything up to the end of each partition."""
        found: list[Committed] = []
        ended: set[int] = set()
        deadline = time.monotonic() + END_SECONDS_MAX
        while ended < self._partitions:
            assert time.monotonic() < deadline, f"{self.topic} has no end in {self._partitions - ended}"
            records, ends = self._taken(0.2)
            found += records
            ended |= ends
        return found

    def _taken(self, seconds: float) -> tuple[list[Committed], set[int]]:
        """Give records, and the partitions that had no more."""
        found: list[Committed] = []
        ended: set[int] = set()
        for message in self._consumer.consume(1000, seconds):
            error, partition = message.error(), message.partition()
            if error is None:
                assert partition is not None
                found.append(Committed(partition, message.key() or b"", message.value() or b""))
            elif error.code() == KafkaError._PARTITION_EOF:
                assert partition is not None
                ended.add(partition)
            else:
                assert error.retriable() or error.code() in _AWAY, error
        return found, ended

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> CommittedReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_AWAY = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE)
"""The broker is gone; the client tries again by itself."""


def committed(bootstrap: str, topic: str, partitions: int = 1) -> list[Committed]:
    """Read a topic from its start to its end."""
    with CommittedReader(bootstrap, topic, partitions) as reader:
        return reader.read_to_end()
