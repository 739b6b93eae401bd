"""Kafka protocol bytes of transactions, written by hand like those in `wire`.

Two flows. In the newer one (KIP-890) the broker adds a partition to the transaction when records for it come,
and each end of a transaction gives the producer its next epoch. In the older one the producer names the
partitions beforehand and keeps its epoch.

    newer   Produce 12 ──────────────────────────────▶ EndTxn 5
    older   AddPartitionsToTxn 2 ──▶ Produce 11 ─────▶ EndTxn 2
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from bench.wire import PRODUCE, Bytes, Reader, compact_string, request, string, unsigned_varint

INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, END_TXN = 22, 24, 26
NEWER_PRODUCE, OLDER_PRODUCE = 12, 11
NEWER_END_TXN, OLDER_END_TXN = 5, 2
CONCURRENT_TRANSACTIONS = 51
TIMEOUT_MS = 60_000


class Identity(NamedTuple):
    """What a producer says of itself, as the broker gave it."""

    producer_id: int
    epoch: int


def init_producer_id_request(transactional_id: str) -> bytes:
    """Ask for an identity, which ends what an earlier holder left open (InitProducerId 1)."""
    return request(INIT_PRODUCER_ID, 1, string(transactional_id) + struct.pack(">i", TIMEOUT_MS))


def read_identity(frame: Bytes) -> tuple[int, Identity]:
    """Read the error code and the identity of an InitProducerId 1 response."""
    _, _, error, producer_id, epoch = Reader(frame).unpack("iihqh")
    return error, Identity(producer_id, epoch)


def add_partitions_request(
    transactional_id: str, identity: Identity, topic: str, partitions: Sequence[int]
) -> bytes:
    """Name the partitions that the transaction is going to touch (AddPartitionsToTxn 2)."""
    body = (
        string(transactional_id)
        + struct.pack(">qhi", *identity, 1)
        + string(topic)
        + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    )
    return request(ADD_PARTITIONS_TO_TXN, 2, body)


def read_added(frame: Bytes) -> list[int]:
    """Read the error codes of an AddPartitionsToTxn 2 response about one topic."""
    reader = Reader(frame)
    reader.unpack("iii")
    reader.text()
    return [reader.unpack("ih")[1] for _ in range(reader.number("i"))]


def produce_request(version: int, transactional_id: str, topic: str, batches: Sequence[bytes]) -> bytes:
    """Append a batch to each of a topic's first partitions, with acks=all."""
    body = (
        compact_string(transactional_id)
        + struct.pack(">hi", -1, TIMEOUT_MS)
        + b"\2"  # one topic
        + compact_string(topic)
        + unsigned_varint(len(batches) + 1)
    )
    for partition, batch in enumerate(batches):
        body += struct.pack(">i", partition) + unsigned_varint(len(batch) + 1) + batch + b"\0"
    return request(PRODUCE, version, body + b"\0\0", is_flexible=True)


def read_produce_errors(frame: Bytes) -> list[int]:
    """Read the error codes of a Produce 11 or 12 response about one topic."""
    reader = Reader(frame)
    reader.unpack("iB")
    reader.unsigned_varint()
    reader.compact_skip()
    errors = []
    for _ in range(reader.unsigned_varint() - 1):
        _, error, _, _, _ = reader.unpack("ihqqq")
        errors.append(error)
        for _ in range(max(0, reader.unsigned_varint() - 1)):
            reader.number("i")
            reader.compact_skip()
            reader.number("B")
        reader.compact_skip()
        reader.skip_tags()
    return errors


def end_request(version: int, transactional_id: str, identity: Identity) -> bytes:
    """Commit (EndTxn)."""
    is_flexible = version >= NEWER_END_TXN
    name = compact_string(transactional_id) if is_flexible else string(transactional_id)
    body = name + struct.pack(">qh?", *identity, True) + b"\0" * is_flexible
    return request(END_TXN, version, body, is_flexible=is_flexible)


def read_ended(version: int, frame: Bytes, identity: Identity) -> tuple[int, Identity]:
    """Read the error code of an EndTxn response, and the identity to go on with."""
    if version < NEWER_END_TXN:
        return Reader(frame).unpack("iih")[2], identity
    _, _, _, error, producer_id, epoch = Reader(frame).unpack("iBihqh")
    return error, Identity(producer_id, epoch)
