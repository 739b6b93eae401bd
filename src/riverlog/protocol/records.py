"""The records inside a batch of format version 2: read them, find some of them, build batches from them.

Rules
- Any bytes are safe to read: what is not a batch raises RemoteProtocolError, and neither time nor
  memory exceeds what the bytes themselves (or, compressed, `size_limit`) account for.
- Readers do not check the CRC; whoever took the bytes from outside has done so.
- Building raises LocalProtocolError for what the format cannot express.

One record, all integers zig-zag varints except where noted; the block of records is compressed as a whole:

    length            bytes after this field
    attributes        int8, unused
    timestamp delta   to the batch's base timestamp (64 bits)
    offset delta      to the batch's base offset
    key length        -1: null        key bytes
    value length      -1: null        value bytes
    header count      { key length, key bytes, value length or -1, value bytes }*

Under log append time the records' own deltas stand, but every record's timestamp is the batch's maximum.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol.batches import (
    BATCH_LENGTH_MIN,
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
    ReadableBuffer,
    read_header,
    seal,
    write_header,
)
from riverlog.protocol.compression import Compression, compress, decompress

RECORDS_BYTES_MAX = 128 * 1024 * 1024
"""How much one batch's records may measure once decompressed, where the caller sets no limit of its own."""

RECORD_BYTES_MIN = 7
"""The smallest record: seven fields of one byte each. Bounds the record count that a batch can have."""

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
_new = tuple.__new__


class Record(NamedTuple):
    """One record. Header keys are text; bytes in them that are not UTF-8 survive as surrogate escapes."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class RecordHead(NamedTuple):
    """What can be told of a record without copying its key and value. A null key has length -1."""

    offset: int
    timestamp: int
    key_length: int


def read_records(
    buffer: ReadableBuffer, position: int = 0, *, size_limit: int = RECORDS_BYTES_MAX
) -> Iterator[Record]:
    """Decompress the batch at `position`, then yield its records one by one."""
    header = read_header(buffer, position)
    block = read_record_block(buffer, position, header, size_limit=size_limit)
    return _iterate_records(block, header)


def read_heads(
    buffer: ReadableBuffer, position: int = 0, *, size_limit: int = RECORDS_BYTES_MAX
) -> Iterator[RecordHead]:
    """Yield offset, timestamp and key length of each record: a look that skips the rest of it."""
    header = read_header(buffer, position)
    block = read_record_block(buffer, position, header, size_limit=size_limit)
    return _iterate_heads(block, header)


def first_at_or_after(buffer: ReadableBuffer, position: int, timestamp: int) -> RecordHead | None:
    """Find the batch's first record whose timestamp is `timestamp` or later."""
    for head in read_heads(buffer, position):
        if head.timestamp >= timestamp:
            return head
    return None


def first_with_largest_timestamp(buffer: ReadableBuffer, position: int) -> RecordHead | None:
    """Find the batch's record with the largest timestamp, the first of several; None in an empty batch."""
    return max(read_heads(buffer, position), key=lambda head: head.timestamp, default=None)


def null_key_indexes(buffer: ReadableBuffer, position: int) -> list[int]:
    """Tell which records of the batch have no key, counted from 0."""
    return [index for index, head in enumerate(read_heads(buffer, position)) if head.key_length < 0]


def read_record_block(
    buffer: ReadableBuffer, position: int, header: BatchHeader, *, size_limit: int = RECORDS_BYTES_MAX
) -> bytes:
    """Return the batch's records as one uncompressed block of bytes."""
    if header.magic != MAGIC:
        raise RemoteProtocolError(f"format {header.magic} is not read, only format {MAGIC}")
    end = position + LENGTH_PREFIX_BYTES + header.batch_length
    view = memoryview(buffer)
    if header.batch_length < BATCH_LENGTH_MIN or end > len(view):
        raise RemoteProtocolError(f"a batch cannot be {header.batch_length} bytes long here")
    block = decompress(header.attributes & COMPRESSION_MASK, view[position + HEADER_BYTES : end], size_limit)
    if not 0 <= header.record_count <= len(block) // RECORD_BYTES_MIN:
        raise RemoteProtocolError(f"{header.record_count} records do not fit in {len(block)} bytes")
    return block


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    keep_offsets: bool = False,
    last_offset: int | None = None,
    leader_epoch: int = -1,
    compression: Compression = Compression.NONE,
    compression_level: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
    log_append_time_ms: int | None = None,
) -> bytearray:
    """Build one batch.

    Records are numbered from `base_offset` in their order; their own offsets are ignored unless
    `keep_offsets` asks for them, as a compacted batch with holes does. `last_offset` reserves offsets behind
    the last record (and is what an empty batch needs). With `log_append_time_ms` the batch claims that time
    for all its records.
    """
    block = bytearray()
    count = 0
    base_timestamp = max_timestamp = -1
    offset = base_offset - 1
    for own_offset, timestamp, key, value, headers in records:
        if count == 0:
            base_timestamp = max_timestamp = timestamp
        elif timestamp > max_timestamp:
            max_timestamp = timestamp
        if not keep_offsets:
            offset += 1
        elif own_offset <= offset:
            raise LocalProtocolError(f"offset {own_offset} cannot follow {offset}")
        else:
            offset = own_offset
        body = _encode_record(timestamp - base_timestamp, offset - base_offset, key, value, headers)
        block += encode_varint(len(body))
        block += body
        count += 1
    if last_offset is None:
        last_offset = offset
    if last_offset < offset or last_offset < base_offset:
        raise LocalProtocolError(
            f"a batch from {base_offset} with {count} records cannot end at {last_offset}"
        )

    attributes = (
        compression
        | (TRANSACTIONAL_BIT if is_transactional else 0)
        | (CONTROL_BIT if is_control else 0)
        | (0 if log_append_time_ms is None else LOG_APPEND_TIME_BIT)
    )
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=last_offset - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp if log_append_time_ms is None else log_append_time_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=count,
    )
    return assemble(header, compress(compression, block, compression_level) if compression else block)


def recompress(
    buffer: ReadableBuffer,
    position: int,
    compression: Compression,
    *,
    level: int | None = None,
    size_limit: int = RECORDS_BYTES_MAX,
) -> bytearray:
    """Copy the batch at `position` with its records under another codec. Nothing else of it changes."""
    header = read_header(buffer, position)
    block = read_record_block(buffer, position, header, size_limit=size_limit)
    attributes = header.attributes & ~COMPRESSION_MASK | compression
    return assemble(header._replace(attributes=attributes), compress(compression, block, level))


def assemble(header: BatchHeader, block: bytes | bytearray) -> bytearray:
    """Join a header and records, compressed as it says; length and CRC follow from them."""
    size = HEADER_BYTES + len(block)
    batch = bytearray(HEADER_BYTES)
    try:
        write_header(batch, 0, header._replace(batch_length=size - LENGTH_PREFIX_BYTES))
    except struct.error as error:
        raise LocalProtocolError(f"a batch header cannot hold {header}: {error}") from None
    batch += block
    seal(batch, 0, header.attributes, size)
    return batch


# --- reading -----------------------------------------------------------------------------------------
# Varints are read inline: a call for each of a record's seven would more than double the time. One
# byte covers -64..63, thus most fields of most records; longer ones take the call.


def _iterate_records(block: bytes, header: BatchHeader) -> Iterator[Record]:
    base_offset = header.base_offset
    offset_max = header.last_offset_delta
    base_timestamp = header.base_timestamp
    append_time = header.max_timestamp if header.uses_log_append_time else None
    size = len(block)
    position = 0
    headers: tuple[tuple[str, bytes | None], ...]
    try:
        for _ in range(header.record_count):
            length = block[position]
            position += 1
            if length < 0x80:
                length = (length >> 1) ^ -(length & 1)
            else:
                length, position = _read_varint(block, position - 1, 32)
            end = position + length
            if length < 0 or end > size:
                raise _malformed(position)

            timestamp = block[position + 1]  # behind the attributes
            position += 2
            if timestamp < 0x80:
                timestamp = (timestamp >> 1) ^ -(timestamp & 1)
            else:
                timestamp, position = _read_varint(block, position - 1, 64)

            offset = block[position]
            position += 1
            if offset < 0x80:
                offset = (offset >> 1) ^ -(offset & 1)
            else:
                offset, position = _read_varint(block, position - 1, 32)

            length = block[position]
            position += 1
            if length < 0x80:
                length = (length >> 1) ^ -(length & 1)
            else:
                length, position = _read_varint(block, position - 1, 32)
            if length >= 0:
                key = block[position : position + length]
                position += length
            elif length == -1:
                key = None
            else:
                raise _malformed(position)

            length = block[position]
            position += 1
            if length < 0x80:
                length = (length >> 1) ^ -(length & 1)
            else:
                length, position = _read_varint(block, position - 1, 32)
            if length >= 0:
                value = block[position : position + length]
                position += length
            elif length == -1:
                value = None
            else:
                raise _malformed(position)

            if block[position]:
                headers, position = _read_record_headers(block, position, end)
            else:
                headers = ()
                position += 1
            timestamp += base_timestamp
            if position != end or not (0 <= offset <= offset_max and INT64_MIN <= timestamp <= INT64_MAX):
                raise _malformed(position)
            if append_time is not None:
                timestamp = append_time
            yield _new(Record, (base_offset + offset, timestamp, key, value, headers))
    except IndexError:
        raise _malformed(position) from None
    if position != size:
        raise RemoteProtocolError(f"{size - position} bytes are left behind the last record")


def _iterate_heads(block: bytes, header: BatchHeader) -> Iterator[RecordHead]:
    base_offset = header.base_offset
    offset_max = header.last_offset_delta
    base_timestamp = header.base_timestamp
    append_time = header.max_timestamp if header.uses_log_append_time else None
    size = len(block)
    position = 0
    try:
        for _ in range(header.record_count):
            length = block[position]
            position += 1
            if length < 0x80:
                length = (length >> 1) ^ -(length & 1)
            else:
                length, position = _read_varint(block, position - 1, 32)
            end = position + length

            timestamp = block[position + 1]  # behind the attributes
            position += 2
            if timestamp < 0x80:
                timestamp = (timestamp >> 1) ^ -(timestamp & 1)
            else:
                timestamp, position = _read_varint(block, position - 1, 64)

            offset = block[position]
            position += 1
            if offset < 0x80:
                offset = (offset >> 1) ^ -(offset & 1)
            else:
                offset, position = _read_varint(block, position - 1, 32)

            length = block[position]
            position += 1
            if length < 0x80:
                length = (length >> 1) ^ -(length & 1)
            else:
                length, position = _read_varint(block, position - 1, 32)

            # Two fields of a byte at least stand behind the key.
            if length < -1 or end > size or position + length + 2 > end:
                raise _malformed(position)
            timestamp += base_timestamp
            if not (0 <= offset <= offset_max and INT64_MIN <= timestamp <= INT64_MAX):
                raise _malformed(position)
            if append_time is not None:
                timestamp = append_time
            position = end
            yield _new(RecordHead, (base_offset + offset, timestamp, length))
    except IndexError:
        raise _malformed(position) from None
    if position != size:
        raise RemoteProtocolError(f"{size - position} bytes are left behind the last record")


def _read_record_headers(
    block: bytes, position: int, end: int
) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, position = _read_varint(block, position, 32)
    if not 0 <= count <= (end - position) // 2:
        raise _malformed(position)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        length, position = _read_varint(block, position, 32)
        if length < 0 or position + length > end:
            raise _malformed(position)
        key = block[position : position + length].decode("utf-8", "surrogateescape")
        length, position = _read_varint(block, position + length, 32)
        if length < -1 or position + length > end:
            raise _malformed(position)
        if length < 0:
            headers.append((key, None))
        else:
            headers.append((key, block[position : position + length]))
            position += length
    return tuple(headers), position


def _read_varint(block: bytes, position: int, bits: int) -> tuple[int, int]:
    """Read one zig-zag varint of at most `bits` bits; return it and the position behind it."""
    byte = block[position]
    position += 1
    number = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        byte = block[position]
        position += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if shift > 70:
            break
    if number >> bits:
        raise RemoteProtocolError(f"a varint of more than {bits} bits at byte {position} of the records")
    return (number >> 1) ^ -(number & 1), position


def _malformed(position: int) -> RemoteProtocolError:
    return RemoteProtocolError(f"malformed record at byte {position} of the records")


# --- building ----------------------------------------------------------------------------------------


def _encode_record(
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[str, bytes | None], ...],
) -> bytes:
    parts = [
        b"\x00",
        encode_varint(timestamp_delta),
        encode_varint(offset_delta),
        b"\x01" if key is None else encode_varint(len(key)) + key,
        b"\x01" if value is None else encode_varint(len(value)) + value,
        encode_varint(len(headers)),
    ]
    for header_key, header_value in headers:
        encoded = header_key.encode("utf-8", "surrogateescape")
        parts.append(encode_varint(len(encoded)) + encoded)
        parts.append(b"\x01" if header_value is None else encode_varint(len(header_value)) + header_value)
    return b"".join(parts)


_ONE_BYTE_VARINTS = [bytes([number]) for number in range(0x80)]


def encode_varint(number: int) -> bytes:
    """Encode one signed number as a zig-zag varint."""
    number = number << 1 if number >= 0 else (~number << 1) | 1
    if number < 0x80:
        return _ONE_BYTE_VARINTS[number]
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
