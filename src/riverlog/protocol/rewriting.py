"""Batches that lose records after they were stored, as compaction makes them.

What stays as it was: base offset, last offset, leader epoch, producer and sequence, codec. So offsets never
change, holes are holes, and a producer's place in the log can still be told.

- `with_some_records` takes records as they stand in the batch: their deltas still count from the same base.
- `with_delete_horizon` notes when tombstones, or a marker whose transaction is gone, may go for good
  (KIP-534): attribute bit 6 is set and the base timestamp carries that time. So all timestamp deltas change.
- `without_records` leaves a header only.
"""

from __future__ import annotations

from collections.abc import Iterable

from riverlog.protocol.batches import (
    COMPRESSION_MASK,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    BatchHeader,
)
from riverlog.protocol.compression import Compression, compress
from riverlog.protocol.records import assemble, encode_varint

_NO_TIMESTAMP = -1


def with_some_records(header: BatchHeader, block: bytes, count: int, max_timestamp: int) -> bytearray:
    """Give the batch with `count` of its own records: `block`, uncompressed.

    `max_timestamp` is the largest one among them; under log append time it is not asked.
    """
    return assemble(_shrunk(header, count, max_timestamp), _compressed(header, block))


def with_delete_horizon(
    header: BatchHeader, records: Iterable[tuple[int, bytes]], horizon_ms: int, max_timestamp: int
) -> bytearray:
    """Give the batch with some records, and the time from which on its tombstones may go.

    A record is its timestamp and all its bytes behind that field.
    """
    block = bytearray()
    count = 0
    for timestamp, rest in records:
        delta = encode_varint(timestamp - horizon_ms)
        block += encode_varint(1 + len(delta) + len(rest))
        block += b"\x00"  # attributes
        block += delta
        block += rest
        count += 1
    marked = _shrunk(header, count, max_timestamp)._replace(
        attributes=header.attributes | DELETE_HORIZON_BIT, base_timestamp=horizon_ms
    )
    return assemble(marked, _compressed(header, block))


def without_records(header: BatchHeader) -> bytearray:
    """Give the batch as a header alone: it says which offsets and sequences there were."""
    empty = header._replace(
        attributes=header.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_BIT),
        base_timestamp=_NO_TIMESTAMP,
        record_count=0,
    )
    return assemble(empty, b"")


def _shrunk(header: BatchHeader, count: int, max_timestamp: int) -> BatchHeader:
    if not header.attributes & LOG_APPEND_TIME_BIT:
        header = header._replace(max_timestamp=max_timestamp)
    return header._replace(record_count=count)


def _compressed(header: BatchHeader, block: bytes | bytearray) -> bytes | bytearray:
    codec = header.compression
    return block if codec is Compression.NONE else compress(codec, block)
