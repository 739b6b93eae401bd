"""The records of many batches at once, a column for each field that cleaning asks about.

Record by record a cleaner in Python would take ten times as long. So only what must be done one after the
other is: finding where each record begins, by the lengths in front of them. All else is decoded for thousands
of records in each step.

    data      [..61 bytes..][r r r r ...][..61 bytes..][r r r ...][zeros]
    columns   start, end, offset, timestamp, key's start and length, whether there is a value

What is not a record raises CorruptBatch. Pure.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riverlog.errors import CorruptBatch

Data: TypeAlias = bytes | bytearray
Bytes: TypeAlias = NDArray[np.uint8]
Places: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

PADDING_BYTES = 64
"""What must stand behind the last record: fields are read before it is known whether they end in time."""

_VARINT_BYTES_MAX = 10


class RecordBlock(NamedTuple):
    """Where the records of one batch lie in the data, and what its header says of them."""

    start: int
    end: int
    record_count: int
    base_offset: int
    last_offset_delta: int
    base_timestamp: int


class RecordColumns(NamedTuple):
    """The records of several batches, in their order."""

    batch: Places
    """The number of the record's block."""
    start: Places
    end: Places
    offset: Places
    timestamp: Places
    timestamp_end: Places
    """Behind the timestamp's field, where the offset's begins."""
    key_start: Places
    key_length: Places
    """-1: no key."""
    has_value: Flags


def read_columns(data: Data, blocks: list[RecordBlock]) -> RecordColumns:
    """Decode all records of the blocks. Raises CorruptBatch."""
    starts, ends = _find_records(data, blocks)
    array = np.frombuffer(data, np.uint8)
    start = np.array(starts, np.int64)
    end = np.array(ends, np.int64)
    counts = np.array([block.record_count for block in blocks], np.int64)
    batch = np.repeat(np.arange(len(blocks)), counts)
    position = start + 1  # behind the attributes
    timestamp_delta, position = _varints(array, position)
    timestamp_end = position
    offset_delta, position = _varints(array, position)
    key_length, key_start = _varints(array, position)
    key_end = key_start + np.maximum(key_length, 0)
    _check((key_length >= -1) & (key_start <= end) & (key_end < end))
    value_length, value_start = _varints(array, key_end)
    _check((value_length >= -1) & (value_start + np.maximum(value_length, 0) < end))
    last_delta = np.array([block.last_offset_delta for block in blocks], np.int64)
    _check((offset_delta >= 0) & (offset_delta <= last_delta[batch]))
    base_offset = np.array([block.base_offset for block in blocks], np.int64)
    base_timestamp = np.array([block.base_timestamp for block in blocks], np.int64)
    return RecordColumns(
        batch,
        start,
        end,
        base_offset[batch] + offset_delta,
        base_timestamp[batch] + timestamp_delta,
        timestamp_end,
        key_start,
        key_length,
        value_length >= 0,
    )


def _find_records(data: Data, blocks: list[RecordBlock]) -> tuple[list[int], list[int]]:
    """Go through the lengths in front of the records; give where each begins behind its length, and ends.

    Where two records of one length follow each other, more of them may: then a slice in steps of their size
    shows how many, at the speed of C.
    """
    starts: list[int] = []
    ends: list[int] = []
    for block in blocks:
        position, block_end, missing = block.start, block.end, block.record_count
        size_before = 0
        while missing:
            if position >= block_end:
                raise CorruptBatch(f"the batch at offset {block.base_offset} has fewer records than it says")
            first = data[position]
            start = position + 1
            length = first
            if first >= 0x80:
                byte = data[start]
                start += 1
                length = first & 0x7F | (byte & 0x7F) << 7
                shift = 14
                while byte >= 0x80:
                    byte = data[start]
                    start += 1
                    length |= (byte & 0x7F) << shift
                    shift += 7
            end = start + (length >> 1)
            if length & 1 or end > block_end:
                raise CorruptBatch(f"a record does not fit the batch at offset {block.base_offset}")
            size = end - position
            if size == size_before and missing > 2:
                count = min(_count_alike(data, position, block_end, size, start - position), missing)
                starts += range(start, start + count * size, size)
                ends += range(end, end + count * size, size)
                position += count * size
                missing -= count
            else:
                starts.append(start)
                ends.append(end)
                position = end
                missing -= 1
            size_before = size
        if position != block_end:
            raise CorruptBatch(f"the records of the batch at offset {block.base_offset} do not end with it")
    return starts, ends


def _count_alike(data: Data, position: int, end: int, size: int, prefix: int) -> int:
    """Count the records from `position` on that have the first one's length, in bytes and as it is written.

    By induction: where one such record ends, the next one's length is looked at.
    """
    count = (end - position) // size
    for number in range(position, position + prefix):
        column = data[number : position + count * size : size]
        count = len(column) - len(column.lstrip(column[:1]))
    return count


def _varints(data: Bytes, position: Places) -> tuple[Places, Places]:
    """Read a zig-zag varint at each position; give the numbers and the positions behind them."""
    byte = data[position]
    number = (byte & 0x7F).astype(np.uint64)
    position = position + 1
    longer = np.flatnonzero(byte >= 0x80)
    shift = 7
    while len(longer):
        byte = data[position[longer]]
        number[longer] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        position[longer] += 1
        longer = longer[byte >= 0x80]
        shift += 7
        if shift > 7 * _VARINT_BYTES_MAX:
            raise CorruptBatch("a record has a number that does not end")
    return (number >> np.uint64(1)).view(np.int64) ^ -(number & np.uint64(1)).view(np.int64), position


def _check(holds: Flags) -> None:
    if not holds.all():
        raise CorruptBatch(f"record {int(np.argmin(holds))} of a run is malformed")
