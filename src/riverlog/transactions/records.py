"""The records of the transaction topic, in Kafka's own format: what became of each transactional id.

    key    int16 0 | transactional id        value   int16 version | body; none: the id is forgotten

The last record of an id is its whole state. The value's version 1 knows of epochs that rise with each
transaction (KIP-890); version 0, which older brokers wrote, is read as well.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

from riverlog.errors import RemoteProtocolError
from riverlog.protocol import codec, messages
from riverlog.shards import OtherKind
from riverlog.types import TopicPartition

TRANSACTIONS_TOPIC = "__transaction_state"

NO_ID = NO_EPOCH = NO_TIME = -1

_KIND = 0
_VALUE_VERSION = 1

_SHORT = struct.Struct(">h")


class Status(IntEnum):
    """How far a transaction has come, by the numbers that are stored."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5

    @property
    def text(self) -> str:
        """The name that Kafka's tools print."""
        return self.name.title().replace("_", "")

    @property
    def is_ending(self) -> bool:
        """The outcome is decided, and markers are being written."""
        return self in (Status.PREPARE_COMMIT, Status.PREPARE_ABORT)


class Transaction(NamedTuple):
    """A transactional id's state."""

    producer_id: int
    epoch: int
    timeout_ms: int
    status: Status = Status.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIME
    updated_ms: int = NO_TIME
    client_version: int = 0
    """The `transaction.version` that the client of the last transaction went by."""
    previous_producer_id: int = NO_ID
    """The one before, so that a retry of what replaced it is known."""
    next_producer_id: int = NO_ID
    """What the producer will be called once this transaction is complete; its epochs are used up."""
    previous_epoch: int = NO_EPOCH
    """The epoch whose holder was given the present one. Not stored, as in Kafka: a restart forgets it."""


class TransactionRecord(NamedTuple):
    """The state of a transactional id from now on; without a value it is forgotten."""

    transactional_id: str
    value: Transaction | None


def encode(record: TransactionRecord) -> tuple[bytes, bytes | None]:
    """Give a record's key and value."""
    key = _SHORT.pack(_KIND) + codec.encode(
        messages.TransactionLogKey(transactional_id=record.transactional_id), 0
    )
    value = record.value
    if value is None:
        return key, None
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(value.partitions):
        by_topic.setdefault(topic, []).append(partition)
    stored = messages.TransactionLogValue(
        producer_id=value.producer_id,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        producer_epoch=value.epoch,
        transaction_timeout_ms=value.timeout_ms,
        transaction_status=int(value.status),
        transaction_partitions=None
        if value.status is Status.EMPTY
        else [
            messages.PartitionsSchema(topic=topic, partition_ids=indexes)
            for topic, indexes in by_topic.items()
        ],
        transaction_last_update_timestamp_ms=value.updated_ms,
        transaction_start_timestamp_ms=value.start_ms,
        client_transaction_version=value.client_version,
    )
    return key, _SHORT.pack(_VALUE_VERSION) + codec.encode(stored, _VALUE_VERSION)


def decode(key: bytes, value: bytes | None) -> TransactionRecord | OtherKind:
    """Read a record's key and value. Raises RemoteProtocolError if they are not what they should be."""
    kind = _leading_short(key)
    if kind != _KIND:
        return OtherKind(kind)
    transactional_id: str = codec.decode("TransactionLogKey", 0, key, _SHORT.size).transactional_id
    if value is None:
        return TransactionRecord(transactional_id, None)
    version = _leading_short(value)
    if not 0 <= version <= _VALUE_VERSION:
        raise RemoteProtocolError(f"version {version} of a record is not known, only 0 to {_VALUE_VERSION}")
    read = codec.decode("TransactionLogValue", version, value, _SHORT.size)
    try:
        status = Status(read.transaction_status)
    except ValueError:
        raise RemoteProtocolError(f"a transaction cannot be in state {read.transaction_status}") from None
    return TransactionRecord(
        transactional_id,
        Transaction(
            read.producer_id,
            read.producer_epoch,
            read.transaction_timeout_ms,
            status,
            frozenset(
                TopicPartition(each.topic, partition)
                for each in read.transaction_partitions or ()
                for partition in each.partition_ids
            ),
            read.transaction_start_timestamp_ms,
            read.transaction_last_update_timestamp_ms,
            read.client_transaction_version,
            read.previous_producer_id,
            read.next_producer_id,
        ),
    )


def _leading_short(data: bytes) -> int:
    if len(data) < _SHORT.size:
        raise RemoteProtocolError(f"a record of this topic begins with a number, not with {data!r}")
    (number,) = _SHORT.unpack_from(data)
    return int(number)
