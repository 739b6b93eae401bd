"""The loops over bytes: where the records of many blocks lie, and gathering what a column holds.

Two steps, so that the first one makes all the decisions and the second one none:

    index_records   reads every record of every block, proves that each of its parts lies within it, and notes
                    where they lie: column by column, no byte is copied
    index_headers   the same for the headers, of those records that have any
    gather          copies what one column wants, from the noted places to one after the other

Rules
- Nothing checks an index at run time: compiled code would read whatever lies there. So each read of `data`
  stands behind a comparison with an end that lies within it, and a place is noted only once it is proven.
- The result is that of `riverlog.protocol.records.read_records`, for any bytes: the same records, or refused.
  Property tests hold the two together.
- Only 64-bit signed numbers, and no step that overflows: numba's arithmetic wraps, Python's does not, and the
  same source runs as either (see `compiling`).
"""

from __future__ import annotations

from typing import Any

from riverlog.columnar.compiling import kernel

# One row of a table of blocks: a batch's records, uncompressed, and what its header says of them.
BLOCK_START = 0
BLOCK_END = 1
BLOCK_RECORDS = 2
BLOCK_BASE_OFFSET = 3
BLOCK_LAST_OFFSET_DELTA = 4
BLOCK_BASE_TIMESTAMP = 5
BLOCK_MAX_TIMESTAMP = 6
BLOCK_IS_APPEND_TIME = 7
BLOCK_FIELDS = 8

# What index_records tells in `sums`.
ROWS = 0
KEY_BYTES = 1
VALUE_BYTES = 2
HEADERS = 3
BAD_BLOCK = 4
BAD_POSITION = 5
SUMS = 6

_MALFORMED = -1
_INT64_MIN = -(2**63)
_INT64_MAX = 2**63 - 1


@kernel
def read_varint(data: Any, position: int, end: int) -> tuple[int, int]:
    """Read a zig-zag varint of at most 64 bits; give it and the position behind it, -1 where there is none.

    The lowest bit is the sign. What lies above it has 63 bits at most, thus nothing overflows.
    """
    if position >= end:
        return 0, _MALFORMED
    byte = data[position] & 0xFF
    position += 1
    sign = byte & 1
    magnitude = (byte & 0x7F) >> 1
    shift = 6
    while byte >= 0x80:
        if position >= end:
            return 0, _MALFORMED
        byte = data[position] & 0xFF
        position += 1
        bits = byte & 0x7F
        if shift < 62:
            magnitude |= bits << shift
        elif shift == 62:
            if bits > 1:
                return 0, _MALFORMED
            magnitude |= bits << 62
        elif bits != 0:
            return 0, _MALFORMED
        shift += 7
        if shift > 69:
            break
    if sign != 0:
        return -1 - magnitude, position
    return magnitude, position


@kernel
def skip_headers(data: Any, position: int, end: int, count: int) -> int:
    """Prove that so many headers lie in [position, end); give the position behind them, or -1."""
    for _ in range(count):
        length, position = read_varint(data, position, end)
        if position < 0 or length < 0 or length > end - position:
            return _MALFORMED
        length, position = read_varint(data, position + length, end)
        if position < 0 or length < -1 or length > end - position:
            return _MALFORMED
        if length > 0:
            position += length
    return position


@kernel
def index_records(
    data: Any,
    blocks: Any,
    first: int,
    end_offset: int,
    offsets: Any,
    timestamps: Any,
    key_positions: Any,
    key_lengths: Any,
    value_positions: Any,
    value_lengths: Any,
    header_positions: Any,
    header_counts: Any,
    block_rows: Any,
    sums: Any,
) -> bool:
    """Note where the parts lie of records with offsets in [first, end_offset); False if one is malformed.

    Each output has room for as many rows as the blocks claim records. A length of -1 stands for null. `sums`
    says how many rows there are and how much they hold, or which block is malformed and where.
    """
    rows = 0
    key_bytes = 0
    value_bytes = 0
    headers = 0
    for number in range(len(blocks)):
        block = blocks[number]
        position = block[BLOCK_START]
        block_end = block[BLOCK_END]
        base_offset = block[BLOCK_BASE_OFFSET]
        offset_max = block[BLOCK_LAST_OFFSET_DELTA]
        base_timestamp = block[BLOCK_BASE_TIMESTAMP]
        is_append_time = block[BLOCK_IS_APPEND_TIME] != 0
        rows_before = rows
        for _ in range(block[BLOCK_RECORDS]):
            sums[BAD_BLOCK] = number
            sums[BAD_POSITION] = position
            length, position = read_varint(data, position, block_end)
            if position < 0 or length < 1 or length > block_end - position:
                return False
            end = position + length

            # Behind the attributes, a byte that nothing uses.
            timestamp, position = read_varint(data, position + 1, end)
            if position < 0:
                return False
            if timestamp > 0:
                if base_timestamp > _INT64_MAX - timestamp:
                    return False
            elif base_timestamp < _INT64_MIN - timestamp:
                return False

            offset, position = read_varint(data, position, end)
            if position < 0 or offset < 0 or offset > offset_max:
                return False

            key_length, position = read_varint(data, position, end)
            if position < 0 or key_length < -1 or key_length > end - position:
                return False
            key_position = position
            if key_length > 0:
                position += key_length

            value_length, position = read_varint(data, position, end)
            if position < 0 or value_length < -1 or value_length > end - position:
                return False
            value_position = position
            if value_length > 0:
                position += value_length

            header_count, position = read_varint(data, position, end)
            if position < 0 or header_count < 0 or header_count > (end - position) >> 1:
                return False
            header_position = position
            if header_count > 0:
                position = skip_headers(data, position, end, header_count)
            if position != end:
                return False

            offset += base_offset
            if first <= offset < end_offset:
                offsets[rows] = offset
                timestamps[rows] = (
                    block[BLOCK_MAX_TIMESTAMP] if is_append_time else base_timestamp + timestamp
                )
                key_positions[rows] = key_position
                key_lengths[rows] = key_length
                value_positions[rows] = value_position
                value_lengths[rows] = value_length
                header_positions[rows] = header_position
                header_counts[rows] = header_count
                rows += 1
                headers += header_count
                if key_length > 0:
                    key_bytes += key_length
                if value_length > 0:
                    value_bytes += value_length
        if position != block_end:
            sums[BAD_BLOCK] = number
            sums[BAD_POSITION] = position
            return False
        block_rows[number] = rows - rows_before
    sums[ROWS] = rows
    sums[KEY_BYTES] = key_bytes
    sums[VALUE_BYTES] = value_bytes
    sums[HEADERS] = headers
    return True


@kernel
def index_headers(
    data: Any,
    positions: Any,
    counts: Any,
    key_positions: Any,
    key_lengths: Any,
    value_positions: Any,
    value_lengths: Any,
    sums: Any,
) -> None:
    """Note where keys and values of all headers lie, which `index_records` has proven to be there.

    `sums` gets the bytes of all keys and of all values.
    """
    number = 0
    key_bytes = 0
    value_bytes = 0
    end = len(data)
    for row in range(len(positions)):
        position = positions[row]
        for _ in range(counts[row]):
            length, position = read_varint(data, position, end)
            key_positions[number] = position
            key_lengths[number] = length
            key_bytes += length
            length, position = read_varint(data, position + length, end)
            value_positions[number] = position
            value_lengths[number] = length
            if length > 0:
                value_bytes += length
                position += length
            number += 1
    sums[0] = key_bytes
    sums[1] = value_bytes


@kernel
def gather(data: Any, positions: Any, lengths: Any, ends: Any, gathered: Any) -> None:
    """Copy each row's bytes behind those of the row before; `ends` gets where each ends, after a 0."""
    end = 0
    ends[0] = 0
    for row in range(len(positions)):
        length = lengths[row]
        if length > 0:
            position = positions[row]
            gathered[end : end + length] = data[position : position + length]
            end += length
        ends[row + 1] = end
