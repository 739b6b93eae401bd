"""Batches of one partition to Arrow record batches: check them, leave out what is not for readers, collect.

    reply or chunk ──checked_batches──▶ (position, header) ──admits?──▶ Collector ──take──▶ RecordBatch

Blocks that are not compressed stay where they are as long as they lie in one buffer; otherwise they are
joined. What a Collector holds uncompressed is bounded: whoever fills it takes once `is_full` says so, thus it
is RECORDS_BYTES_TARGET plus what one batch may hold (`records.RECORDS_BYTES_MAX`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from riverlog.columnar import kernels
from riverlog.columnar.arrays import MalformedBlock, index_records, record_batch
from riverlog.errors import RemoteProtocolError
from riverlog.protocol.batches import (
    COMPRESSION_MASK,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    BatchHeader,
    BatchWalk,
    ReadableBuffer,
    WalkStop,
    read_header,
    split_batches,
)
from riverlog.protocol.records import RECORD_BYTES_MIN, RECORDS_BYTES_MAX, read_record_block
from riverlog.types import TopicPartition

RECORDS_BYTES_TARGET = 8 * 1024 * 1024
"""How many bytes of records make a record batch: so many that calls do not count, few enough for caches."""

_TORN = (WalkStop.TORN_HEADER, WalkStop.TORN_BATCH)


class BadBatch(RemoteProtocolError):
    """A batch that cannot be read: of which partition, at which offset, and what is wrong with it."""

    def __init__(self, place: TopicPartition, offset: int, reason: str) -> None:
        super().__init__(f"{place}: the batch at offset {offset} cannot be read: {reason}")
        self.place = place
        self.offset = offset
        self.reason = reason

    def __reduce__(self) -> tuple[type[BadBatch], tuple[TopicPartition, int, str]]:
        return BadBatch, (self.place, self.offset, self.reason)


def checked_batches(
    buffer: ReadableBuffer, start: int, end: int, place: TopicPartition, *, expected_offset: int
) -> BatchWalk:
    """List the whole batches of [start, end), each with its CRC checked; leave one that the end cuts short.

    Zeros up to the end are no batch, but room that a broker made in advance; they are left as well.
    `expected_offset` is named where not even a header tells the offset. Raises BadBatch.
    """
    walk = split_batches(buffer, start, end)
    if walk.stop is WalkStop.BAD_MAGIC and is_blank(buffer, walk.end, end):
        return walk
    if walk.stop is not WalkStop.END and walk.stop not in _TORN:
        offset = expected_offset
        if walk.stop is WalkStop.BAD_CRC:
            offset = read_header(buffer, walk.end).base_offset
        elif walk.batches:
            offset = walk.batches[-1][1].next_offset
        raise BadBatch(place, offset, walk.stop.value)
    return walk


def is_blank(buffer: ReadableBuffer, start: int, end: int) -> bool:
    """Say whether there are zeros in [start, end), and nothing else."""
    return (
        start < end
        and not any(memoryview(buffer)[start : start + HEADER_BYTES])
        and (bytes(memoryview(buffer)[start:end]).count(0) == end - start)
    )


class Collector:
    """Collects blocks of records of one partition, and makes a record batch of them."""

    __slots__ = ("_buffers", "_columns", "_place", "_size", "_table", "_target")

    def __init__(
        self, place: TopicPartition, columns: tuple[str, ...], target: int = RECORDS_BYTES_TARGET
    ) -> None:
        self._place = place
        self._columns = columns
        self._target = target
        self._buffers: list[ReadableBuffer] = []
        # Rows of kernels.BLOCK_FIELDS numbers, one behind the other, with places in the block's own buffer.
        # An array, since so many tuples would keep Python's garbage collector busy for as long again.
        self._table = array("q")
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether there is enough for a record batch."""
        return self._size >= self._target

    def add(self, buffer: ReadableBuffer, position: int, header: BatchHeader) -> None:
        """Add the records of a batch that was checked. Raises BadBatch if they cannot be uncompressed."""
        start, end = position + HEADER_BYTES, position + LENGTH_PREFIX_BYTES + header.batch_length
        if header.attributes & COMPRESSION_MASK:
            try:
                buffer = read_record_block(buffer, position, header)
            except RemoteProtocolError as error:
                raise BadBatch(self._place, header.base_offset, str(error)) from None
            start, end = 0, len(buffer)
        elif not 0 <= header.record_count <= (end - start) // RECORD_BYTES_MIN:
            reason = f"{header.record_count} records do not fit in {end - start} bytes"
            raise BadBatch(self._place, header.base_offset, reason)
        elif end - start > RECORDS_BYTES_MAX:
            reason = f"more than {RECORDS_BYTES_MAX} bytes of records"
            raise BadBatch(self._place, header.base_offset, reason)
        self._buffers.append(buffer)
        self._table.extend(
            (
                start,
                end,
                header.record_count,
                header.base_offset,
                header.last_offset_delta,
                header.base_timestamp,
                header.max_timestamp,
                header.attributes & LOG_APPEND_TIME_BIT,
            )
        )
        self._size += end - start

    def take(self, first: int, end: int) -> pa.RecordBatch | None:
        """Make a record batch of the records with offsets in [first, end), and begin anew; None without any.

        Raises BadBatch.
        """
        if not self._buffers:
            return None
        table = np.array(self._table, np.int64).reshape(-1, kernels.BLOCK_FIELDS)
        data = _joined(self._buffers, table)
        self._buffers, self._table, self._size = [], array("q"), 0
        try:
            index = index_records(data, table, first, end)
        except MalformedBlock as error:
            offset = int(table[error.block, kernels.BLOCK_BASE_OFFSET])
            at = error.position - int(table[error.block, kernels.BLOCK_START])
            raise BadBatch(self._place, offset, f"malformed record at byte {at} of the records") from None
        if not index.rows:
            return None
        is_append_time = table[:, kernels.BLOCK_IS_APPEND_TIME] != 0
        return record_batch(index, is_append_time, self._place, self._columns)

    def drain(self, first: int, end: int) -> Iterator[pa.RecordBatch]:
        """Give what `take` gives, if it gives any."""
        batch = self.take(first, end)
        if batch is not None:
            yield batch


def _joined(buffers: list[ReadableBuffer], table: NDArray[np.int64]) -> ReadableBuffer:
    """Give one buffer with all blocks; the table is told where in it each lies."""
    shared = buffers[0]
    if all(buffer is shared for buffer in buffers):
        return shared
    bounds = table[:, [kernels.BLOCK_START, kernels.BLOCK_END]].tolist()
    pieces = [memoryview(buffer)[start:end] for buffer, (start, end) in zip(buffers, bounds, strict=True)]
    ends = np.cumsum([len(piece) for piece in pieces])
    table[:, kernels.BLOCK_START] = ends - [len(piece) for piece in pieces]
    table[:, kernels.BLOCK_END] = ends
    return b"".join(pieces)


def batches_from(walk: BatchWalk, offset: int) -> Iterator[tuple[int, BatchHeader]]:
    """Pass over the batches that end before `offset`: a reply begins with the batch that holds it."""
    return (found for found in walk.batches if found[1].last_offset >= offset)
