"""Send records and keep an exact account: what was sent, what arrived, what failed and why.

    with Producer("127.0.0.1:9092") as producer:
        producer.send("orders", b"...", key=b"customer-7")
    # leaving the block waits for every record; `DeliveryFailed` tells of any that did not arrive

Rules: `send` blocks while the queue is full, so memory stays bounded however fast the caller is. A record
that is refused does not stop the ones after it. Keys choose partitions as Java clients do (murmur2), so
that both write one key to one partition. With acks "all" retries make no duplicates (idempotence).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message

from riverlog.client.bootstrap import DEFAULT_SERVERS, DEFAULT_TIMEOUT_SECONDS, Bootstrap
from riverlog.client.refusals import LastTrouble, error_text
from riverlog.errors import RiverlogError

DELIVERY_SECONDS = 30.0
"""How long a record may wait for its acknowledgement, retries included, before it counts as failed."""

UNKNOWN_TOPIC_SECONDS = 5.0
"""How long a topic may be unknown, for instance while the broker creates it, before its records fail."""

QUEUE_RECORDS_MAX = 200_000
QUEUE_KBYTES_MAX = 256 * 1024
REASONS_MAX = 100
"""Failures are counted by (topic, reason); beyond this many different ones they are counted together."""

SENDS_PER_POLL = 100
"""How many records are queued before acknowledgements are looked at: each look costs as much as a record."""

_SLICE_SECONDS = 0.2
"""The longest a call into librdkafka blocks before Ctrl-C is heard."""

_OTHER_REASONS = "further reasons"

Headers = Sequence[tuple[str, bytes | None]]


class DeliveryFailed(RiverlogError):
    """Some records did not arrive; `reasons` counts them by (topic, reason)."""

    def __init__(self, reasons: Mapping[tuple[str, str], int]) -> None:
        self.reasons = dict(reasons)
        total = sum(reasons.values())
        listed = "; ".join(f"{count} for topic {topic!r}: {why}" for (topic, why), count in reasons.items())
        super().__init__(f"{total} {'record was' if total == 1 else 'records were'} not delivered: {listed}")


class Producer:
    """Send records to any topic. One thread may use it at a time."""

    def __init__(
        self,
        servers: str = DEFAULT_SERVERS,
        *,
        acks: str = "all",
        compression: str = "none",
        linger_ms: float = 5,
        delivery_seconds: float = DELIVERY_SECONDS,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.sent = 0
        self.reasons: Counter[tuple[str, str]] = Counter()
        self._last_trouble = LastTrouble()
        self._producer = Bootstrap(servers, timeout_seconds, properties or {}).connect(
            confluent_kafka.Producer,
            {
                "acks": acks,
                "enable.idempotence": acks in ("all", "-1"),
                "compression.type": compression,
                "linger.ms": linger_ms,
                "partitioner": "murmur2_random",
                "message.timeout.ms": int(delivery_seconds * 1000),
                "topic.metadata.propagation.max.ms": int(min(UNKNOWN_TOPIC_SECONDS, delivery_seconds) * 1000),
                "queue.buffering.max.messages": QUEUE_RECORDS_MAX,
                "queue.buffering.max.kbytes": QUEUE_KBYTES_MAX,
                # How large a record may be is for the topic to say.
                "message.max.bytes": 1_000_000_000,
                # A callback for each success would halve the rate: failures are reported, the rest counted.
                "delivery.report.only.error": True,
                "on_delivery": self._delivered,
                "error_cb": self._last_trouble.note,
            },
        )

    @property
    def failed(self) -> int:
        """How many records are known not to have arrived."""
        return self.reasons.total()

    @property
    def waiting(self) -> int:
        """How many records still await their acknowledgement."""
        return len(self._producer)

    @property
    def delivered(self) -> int:
        """How many records were acknowledged as `acks` asked; exact once `flush` has returned True."""
        return self.sent - self.failed - self.waiting

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers | None = None,
        partition: int = -1,
        timestamp_ms: int = 0,
    ) -> None:
        """Queue one record, waiting for room; -1 lets the key (or chance) choose the partition, 0 ms is now.

        A record that cannot be sent at all (no such partition) counts as failed; nothing is raised.
        """
        arguments: dict[str, Any] = {
            "value": value,
            "key": key,
            "partition": partition,
            "timestamp": timestamp_ms,
        }
        if headers:
            arguments["headers"] = list(headers)
        self.sent += 1
        while True:
            try:
                self._producer.produce(topic, **arguments)
            except BufferError:
                self._producer.poll(_SLICE_SECONDS)
            except KafkaException as exception:
                self._count(topic, partition, exception.args[0])
                return
            else:
                if self.sent % SENDS_PER_POLL == 0:
                    self._producer.poll(0)
                return

    def flush(self, timeout_seconds: float | None = None) -> bool:
        """Wait until every record has arrived or failed; say whether that was reached in time."""
        slices = None if timeout_seconds is None else max(1, round(timeout_seconds / _SLICE_SECONDS))
        while self._producer.flush(_SLICE_SECONDS):
            if slices is not None:
                slices -= 1
                if slices == 0:
                    return False
        return True

    def discard(self) -> None:
        """Give up what is still waiting: it counts as failed, though some of it may yet have arrived."""
        self._producer.purge()
        self._producer.poll(0)

    def raise_failures(self) -> None:
        """Raise `DeliveryFailed` if any record is known not to have arrived."""
        if self.reasons:
            raise DeliveryFailed(self.reasons)

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.flush()
            self.raise_failures()
        else:
            self.discard()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._count(message.topic() or "", message.partition(), error)

    def _count(self, topic: str, partition: int | None, error: KafkaError) -> None:
        reason = error_text(error)
        if error.code() == KafkaError._UNKNOWN_PARTITION:
            reason = f"there is no partition {partition}"
        if error.code() == KafkaError._MSG_TIMED_OUT and self._last_trouble.text:
            reason = f"not acknowledged in time; {self._last_trouble.text}"
        place = (topic, reason)
        if place not in self.reasons and len(self.reasons) >= REASONS_MAX:
            place = (topic, _OTHER_REASONS)
        self.reasons[place] += 1
