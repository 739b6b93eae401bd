"""The header of a record batch, format version 2: read it, check its CRC, patch it in place.

A batch stays bytes from socket to file. This module is all that the plain path ever does to one: it
knows the 61 bytes in front of the records and nothing of the records themselves.

     0  base offset        int64   set by the broker                    ┐
     8  batch length       int32   bytes after this field               │ outside the CRC, so the leader
    12  leader epoch       int32   set by the broker                    │ patches them without a new CRC
    16  magic              int8    2                                    ┘
    17  CRC-32C            uint32  over everything from byte 21 to the end
    21  attributes         int16   bits 0-2 codec, 3 log append time, 4 transactional, 5 control, 6 horizon
    23  last offset delta  int32   last offset - base offset; holes left by compaction keep it
    27  base timestamp     int64   records' timestamps are deltas to it
    35  max timestamp      int64   the largest timestamp, or the append time when bit 3 is set
    43  producer id        int64   -1: not idempotent
    51  producer epoch     int16
    53  base sequence      int32
    57  record count       int32
    61  records            compressed as one block when bits 0-2 are not 0

All integers are big-endian. Formats 0 and 1 carry their magic at byte 16 as well, which is how they are
told apart. Described in Kafka's documentation under "Record Batch", and in KIP-98.
"""

from __future__ import annotations

import struct
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from crc32c import crc32c

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.compression import Compression

ReadableBuffer: TypeAlias = bytes | bytearray | memoryview
WritableBuffer: TypeAlias = bytearray | memoryview

MAGIC = 2
HEADER_BYTES = 61
LENGTH_PREFIX_BYTES = 12
"""Base offset and batch length: what comes before the bytes that `batch_length` counts."""
BATCH_LENGTH_MIN = HEADER_BYTES - LENGTH_PREFIX_BYTES

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40
UNASSIGNED_BITS = ~0x7F

_HEADER = struct.Struct(">qiibIhiqqqhii")
_CRC_AT = 17
_CHECKED_FROM = 21
_EPOCH_AT = 12
_MAX_TIMESTAMP_AT = 35

_unpack_header = _HEADER.unpack_from
_pack_base_offset = struct.Struct(">q").pack_into
_pack_max_timestamp = _pack_base_offset
_pack_epoch = struct.Struct(">i").pack_into
_pack_crc_and_attributes = struct.Struct(">Ih").pack_into
_new = tuple.__new__


class BatchHeader(NamedTuple):
    """The 61 bytes in front of a batch's records."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, its length prefix included."""
        return self.batch_length + LENGTH_PREFIX_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def records_timestamp(self) -> int:
        """The largest timestamp of the records in it; -1 if compaction left none."""
        return self.max_timestamp if self.record_count else -1

    @property
    def last_sequence(self) -> int:
        """The last record's sequence; sequences wrap from 2**31 - 1 to 0. -1 where the batch has none."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def compression(self) -> Compression:
        """Name the codec; raises RemoteProtocolError for numbers that no codec has."""
        try:
            return Compression(self.attributes & COMPRESSION_MASK)
        except ValueError:
            raise RemoteProtocolError(f"no codec has number {self.attributes & COMPRESSION_MASK}") from None

    @property
    def uses_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Whether the base timestamp tells when the cleaner may drop the batch's tombstones."""
        return self.attributes & DELETE_HORIZON_BIT != 0

    @property
    def has_producer(self) -> bool:
        return self.producer_id >= 0


class WalkStop(StrEnum):
    """Why a walk over batches ended."""

    END = "the range ends with a whole batch"
    TORN_HEADER = "the range ends inside a batch header"
    TORN_BATCH = "the range ends inside a batch"
    BAD_LENGTH = "a batch length that no batch can have"
    BAD_MAGIC = "not a batch of format 2"
    BAD_CRC = "a CRC that does not match"


class BatchWalk(NamedTuple):
    """The whole batches of a range, where the last of them ends, and what stood there."""

    batches: list[tuple[int, BatchHeader]]
    end: int
    stop: WalkStop


def read_header(buffer: ReadableBuffer, position: int = 0) -> BatchHeader:
    """Read the header at `position`, judging nothing but that its 61 bytes are there."""
    try:
        return _new(BatchHeader, _unpack_header(buffer, position))
    except struct.error:
        raise RemoteProtocolError(f"a batch header needs {HEADER_BYTES} bytes at {position}") from None


def crc_is_valid(buffer: ReadableBuffer, position: int, header: BatchHeader) -> bool:
    """Compare the batch's CRC with its bytes. The caller made sure that the whole batch is in the buffer."""
    checked = memoryview(buffer)[
        position + _CHECKED_FROM : position + LENGTH_PREFIX_BYTES + header.batch_length
    ]
    return bool(crc32c(checked) == header.crc)


def patch_offset_and_epoch(
    buffer: WritableBuffer, position: int, base_offset: int, leader_epoch: int
) -> None:
    """Give the batch its place in the log. Both fields lie outside the CRC."""
    _pack_base_offset(buffer, position, base_offset)
    _pack_epoch(buffer, position + _EPOCH_AT, leader_epoch)


def patch_log_append_time(buffer: WritableBuffer, position: int, append_time_ms: int) -> None:
    """Mark all records of the batch as appended at `append_time_ms`, and renew the CRC."""
    header = read_header(buffer, position)
    _pack_max_timestamp(buffer, position + _MAX_TIMESTAMP_AT, append_time_ms)
    seal(buffer, position, header.attributes | LOG_APPEND_TIME_BIT, header.size)


def patch_max_timestamp(buffer: WritableBuffer, position: int, max_timestamp: int) -> None:
    """Correct the largest timestamp of a batch with producer's times, and renew the CRC."""
    header = read_header(buffer, position)
    _pack_max_timestamp(buffer, position + _MAX_TIMESTAMP_AT, max_timestamp)
    seal(buffer, position, header.attributes, header.size)


def write_header(buffer: WritableBuffer, position: int, header: BatchHeader) -> None:
    """Write a header as it is given, its CRC included: call `seal` once the records stand behind it."""
    _HEADER.pack_into(buffer, position, *header)


def seal(buffer: WritableBuffer, position: int, attributes: int, size: int) -> None:
    """Set a batch's attributes and the CRC that follows from its bytes. It is `size` bytes long in all."""
    _pack_crc_and_attributes(buffer, position + _CRC_AT, 0, attributes)
    _pack_crc_and_attributes(
        buffer,
        position + _CRC_AT,
        crc32c(memoryview(buffer)[position + _CHECKED_FROM : position + size]),
        attributes,
    )


def split_batches(buffer: ReadableBuffer, start: int, end: int, *, check_crc: bool = True) -> BatchWalk:
    """List the batches in [start, end) as (position, header) up to the first that is not whole and valid.

    Never raises: a torn or corrupt tail ends the walk, and the walk says where and why. `end` of the
    walk is where the last good batch ends, thus where recovery truncates.

        [batch][batch][bat|        -> 2 batches, end after the second, TORN_BATCH
    """
    batches: list[tuple[int, BatchHeader]] = []
    view = memoryview(buffer)
    end = min(end, len(view))
    position = start
    stop = WalkStop.END
    while position < end:
        if end - position < HEADER_BYTES:
            stop = WalkStop.TORN_HEADER
            break
        header = _new(BatchHeader, _unpack_header(view, position))
        if header.magic != MAGIC:
            stop = WalkStop.BAD_MAGIC
            break
        if header.batch_length < BATCH_LENGTH_MIN:
            stop = WalkStop.BAD_LENGTH
            break
        batch_end = position + LENGTH_PREFIX_BYTES + header.batch_length
        if batch_end > end:
            stop = WalkStop.TORN_BATCH
            break
        if check_crc and crc32c(view[position + _CHECKED_FROM : batch_end]) != header.crc:
            stop = WalkStop.BAD_CRC
            break
        batches.append((position, header))
        position = batch_end
    return BatchWalk(batches, position, stop)
