"""Read records of a topic: a span of it alone, or the whole of it as a member of a group.

    reader = SpanReader("127.0.0.1:9092", "orders", {0: Span(0, 100)})
    for batch in reader.batches():          # lists of ConsumedRecord, empty ones while nothing arrives
        ...

`SpanReader` needs no group and leaves no trace in the cluster: it starts at given offsets and ends once each
partition has been read to its end, or never where a span has none. `GroupReader` shares the topic with the
other members of its group and continues where the group left off. A batch counts as done once the next one is
asked for, and the group knows of it after `commit`: a caller who fails in between gets the batch again, never
loses it. Only committed transactions are read, unless told otherwise.

How a span's end is known although offsets may be missing (control records, compaction, aborted data):
    span [5, 9):   5 6 . .        the partition's last record may be 6, the next one to come 12:
    a partition is done at the first record at or past `end`, or when librdkafka says that its position is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from riverlog.client.bootstrap import DEFAULT_TIMEOUT_SECONDS, Bootstrap
from riverlog.client.positions import Span
from riverlog.client.refusals import BrokerUnreachable, LastTrouble, refusal, refusal_of
from riverlog.errors import RiverlogError

BATCH_RECORDS_MAX = 1000
_SLICE_SECONDS = 0.2
"""The longest a call into librdkafka blocks before Ctrl-C is heard and an empty batch is handed out."""

Headers = list[tuple[str, bytes | None]]


class ConsumedRecord(NamedTuple):
    """One record as read; `timestamp_ms` is -1 where the record has none."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    is_log_append_time: bool
    key: bytes | None
    value: bytes | None
    headers: Headers


class _Reader:
    """What both readers share: a consumer, its last trouble, and batches of whatever it hands out."""

    def __init__(
        self,
        servers: str,
        timeout_seconds: float,
        properties: Mapping[str, str] | None,
        *,
        group: str,
        begins_at: str,
        is_read_committed: bool,
    ) -> None:
        self._last_trouble = LastTrouble()
        self._is_cut_off = False
        self._patience = timeout_seconds
        # Counted in polls, not by the clock: a caller who is slow to print has not lost contact.
        self._silent_seconds = 0.0
        self._consumer = Bootstrap(servers, timeout_seconds, properties or {}).connect(
            Consumer,
            {
                "group.id": group,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": begins_at,
                "isolation.level": "read_committed" if is_read_committed else "read_uncommitted",
                "fetch.error.backoff.ms": 100,
                # librdkafka rests a whole second once it is ahead of us by default: that halves the rate.
                "fetch.queue.backoff.ms": 5,
                "error_cb": self._remember,
            },
        )

    @property
    def trouble(self) -> str | None:
        """Why nothing arrives at present; None while the cluster answers."""
        return self._last_trouble.text if self._is_cut_off else None

    def close(self) -> None:
        """Leave the group, if any, and close the connections."""
        self._consumer.close()

    def _remember(self, error: KafkaError) -> None:
        self._last_trouble.note(error)
        if error.fatal() or error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION):
            self._is_cut_off = True

    def _poll(self, limit: int) -> list[Message]:
        """Wait for one message, then take what else has arrived: no latency is added to a lone record."""
        first = self._consumer.poll(_SLICE_SECONDS)
        if first is None:
            self._silent_seconds += _SLICE_SECONDS
            return []
        self._silent_seconds = 0.0
        self._is_cut_off = False
        return [first, *self._consumer.consume(limit - 1, 0)] if limit > 1 else [first]

    def _check_silence(self) -> None:
        if self._silent_seconds > self._patience:
            cause = self._last_trouble.text or f"nothing arrived for {self._patience:g} s"
            raise BrokerUnreachable(f"lost contact while reading: {cause}")


class SpanReader(_Reader):
    """Read given spans of a topic's partitions, without a group."""

    def __init__(
        self,
        servers: str,
        topic: str,
        spans: Mapping[int, Span],
        *,
        read_committed: bool = True,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            servers,
            timeout_seconds,
            properties,
            group="riverlog-reader",  # librdkafka wants a name; nothing is ever joined or committed under it
            begins_at="error",
            is_read_committed=read_committed,
        )
        self._topic = topic
        self._ends = {index: span.end for index, span in spans.items() if not span.is_empty}
        starts = [TopicPartition(topic, index, spans[index].start) for index in self._ends]
        if starts:
            self._consumer.assign(starts)

    def batches(self, limit: int | None = None) -> Iterator[list[ConsumedRecord]]:
        """Hand out records as they come, an empty list while none does.

        Return when all spans are read, or after `limit` records.

        Raises `BrokerUnreachable` when a bounded read hears nothing for the time-out; an endless one
        waits for the cluster to come back, `trouble` saying so.
        """
        is_endless = None in self._ends.values()
        count = 0
        while self._ends and (limit is None or count < limit):
            batch = []
            for message in self._poll(_room(limit, count)):
                index = message.partition()
                assert index is not None
                if index not in self._ends:
                    continue  # fetched ahead before its partition was done
                end = self._ends[index]
                error = message.error()
                if error is not None:
                    self._stop_at_end_or_raise(index, end, message, error)
                elif end is not None and _offset(message) >= end:
                    self._stop(index)
                else:
                    batch.append(_record(message))
                    if end is not None and _offset(message) == end - 1:
                        self._stop(index)
            count += len(batch)
            yield batch
            if not is_endless:
                self._check_silence()

    def _stop_at_end_or_raise(self, index: int, end: int | None, message: Message, error: KafkaError) -> None:
        if error.code() != KafkaError._PARTITION_EOF:
            raise refusal(error, f"reading {self._topic}-{index}")
        if end is not None and _offset(message) >= end:
            self._stop(index)

    def _stop(self, index: int) -> None:
        del self._ends[index]
        self._consumer.incremental_unassign([TopicPartition(self._topic, index)])


class GroupReader(_Reader):
    """Read a topic as one member of a consumer group."""

    def __init__(
        self,
        servers: str,
        topic: str,
        group: str,
        *,
        begins_at_start: bool = True,
        stops_at_end: bool = True,
        read_committed: bool = True,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            servers,
            timeout_seconds,
            properties,
            group=group,
            begins_at="earliest" if begins_at_start else "latest",
            is_read_committed=read_committed,
        )
        self._topic = topic
        self._stops_at_end = stops_at_end
        self._at_end: set[int] = set()
        self._assigned: set[int] | None = None
        self._next: dict[int, int] = {}
        self._consumer.subscribe([topic], on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose)

    def batches(self, limit: int | None = None) -> Iterator[list[ConsumedRecord]]:
        """Hand out records as they come, an empty list while none does; return after `limit` records.

        With `stops_at_end`, return also once every partition this member was given has been read to its end;
        joining must then succeed within the time-out.
        """
        count = 0
        while not self._is_at_end() and (limit is None or count < limit):
            batch = []
            done: dict[int, int] = {}
            for message in self._poll(_room(limit, count)):
                index = message.partition()
                error = message.error()
                if error is None:
                    assert index is not None
                    batch.append(_record(message))
                    done[index] = _offset(message) + 1
                    self._at_end.discard(index)
                elif error.code() == KafkaError._PARTITION_EOF:
                    assert index is not None
                    self._at_end.add(index)
                else:
                    raise refusal(error, f"reading topic {self._topic!r} in the group")
            count += len(batch)
            yield batch
            self._next.update(done)
            if self._stops_at_end:
                self._check_joined()
                self._check_silence()

    def commit(self) -> None:
        """Store for the group what is done: every batch but the one handed out last."""
        offsets = [TopicPartition(self._topic, index, offset) for index, offset in self._next.items()]
        if not offsets:
            return
        try:
            for committed in self._consumer.commit(offsets=offsets, asynchronous=False):
                if committed.error is not None:
                    raise refusal(committed.error, f"committing {self._topic}-{committed.partition}")
        except KafkaException as exception:
            raise refusal_of(exception, f"committing offsets of topic {self._topic!r}") from None
        self._next.clear()

    def _is_at_end(self) -> bool:
        return self._stops_at_end and self._assigned is not None and self._assigned <= self._at_end

    def _assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._assigned = {partition.partition for partition in partitions}
        self._at_end.clear()

    def _revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        with suppress(RiverlogError):  # then another member reads it once more
            self.commit()
        self._lose(consumer, partitions)

    def _lose(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self._next.pop(partition.partition, None)

    def _check_joined(self) -> None:
        if self._assigned is None and self._silent_seconds > self._patience:
            cause = f": {self._last_trouble.text}" if self._last_trouble.text else ""
            raise BrokerUnreachable(
                f"the group gave this member no partitions in {self._patience:g} s{cause}"
            )


def _room(limit: int | None, count: int) -> int:
    return BATCH_RECORDS_MAX if limit is None else min(BATCH_RECORDS_MAX, limit - count)


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset


def _record(message: Message) -> ConsumedRecord:
    kind, timestamp_ms = message.timestamp()
    return ConsumedRecord(
        message.topic(),  # type: ignore[arg-type]  # None only for errors, which do not come here
        message.partition(),  # type: ignore[arg-type]
        message.offset(),  # type: ignore[arg-type]
        timestamp_ms,
        kind == TIMESTAMP_LOG_APPEND_TIME,
        message.key(),
        message.value(),
        message.headers() or [],  # type: ignore[arg-type]  # what arrives is always a list of bytes or None
    )
