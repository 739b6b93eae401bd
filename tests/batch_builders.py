"""Builders of record batches for tests: they hide what a test is not about."""

from __future__ import annotations

from typing import Any

from riverlog.protocol.batches import LENGTH_PREFIX_BYTES, read_header, seal, write_header
from riverlog.protocol.records import Record, build_batch

BATCH_TIME_MS = 1_700_000_000_000


def records(count: int = 3, *, timestamp: int = BATCH_TIME_MS) -> list[Record]:
    """So many small records, one a millisecond."""
    return [Record(index, timestamp + index, b"key", b"value-%d" % index) for index in range(count)]


def batch(count: int = 3, *, timestamp: int = BATCH_TIME_MS, **options: Any) -> bytearray:
    """A valid batch of `count` small records, as a client would send it."""
    return build_batch(records(count, timestamp=timestamp), **options)


def with_header(original: bytes | bytearray, **changes: Any) -> bytearray:
    """The same batch with other header fields, and a CRC that is right unless `crc` is among the changes."""
    changed = bytearray(original)
    header = read_header(changed)._replace(**changes)
    write_header(changed, 0, header)
    if "crc" not in changes:
        seal(changed, 0, header.attributes, len(changed))
    return changed


def with_record_bytes(original: bytes | bytearray, block: bytes) -> bytearray:
    """The same header before other bytes, with length and CRC to match."""
    header = read_header(original)
    changed = bytearray(original[:61]) + block
    return with_header(changed, batch_length=len(changed) - LENGTH_PREFIX_BYTES, attributes=header.attributes)
