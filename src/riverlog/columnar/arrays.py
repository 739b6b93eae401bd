"""Blocks of records to one Arrow record batch, column by column.

    bytes of many batches ──index_records──▶ where everything lies ──gather──▶ one column ──▶ RecordBatch
                                                                  └─gather──▶ another

A column that is not asked for is not gathered. Nothing here is done per record but in `kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from riverlog.columnar import kernels
from riverlog.columnar.compiling import readable, writable
from riverlog.columnar.schema import HEADER, HEADERS, TIMESTAMP, schema
from riverlog.errors import RemoteProtocolError
from riverlog.protocol.batches import ReadableBuffer
from riverlog.types import NO_TIMESTAMP, TopicPartition

DATA_BYTES_MAX = 2**31 - 1
"""What one record batch can be made from: places in it are 32-bit numbers, here and in Arrow's `binary`."""

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


class MalformedBlock(RemoteProtocolError):
    """A block whose records are malformed: which one, and where in the bytes."""

    def __init__(self, block: int, position: int) -> None:
        super().__init__(f"malformed record in block {block} at byte {position}")
        self.block = block
        self.position = position


class RecordIndex(NamedTuple):
    """Where the parts of some records lie in `data`."""

    data: Any
    offsets: Int64s
    timestamps: Int64s
    key_positions: Int32s
    key_lengths: Int32s
    key_bytes: int
    value_positions: Int32s
    value_lengths: Int32s
    value_bytes: int
    header_positions: Int32s
    header_counts: Int32s
    header_total: int
    block_rows: Int64s
    """How many of the rows each block has."""

    @property
    def rows(self) -> int:
        return len(self.offsets)


def index_records(data: ReadableBuffer, blocks: Int64s, first: int, end: int) -> RecordIndex:
    """Find the records with offsets in [first, end).

    `blocks` has a row of kernels.BLOCK_FIELDS for each block. The caller vouches that each block lies within
    `data` and could hold as many records as it claims.
    Raises MalformedBlock.
    """
    _check_table(blocks, len(data))
    room = int(blocks[:, kernels.BLOCK_RECORDS].sum())
    source = readable(data)
    offsets, timestamps = np.empty(room, np.int64), np.empty(room, np.int64)
    places = np.empty((6, room), np.int32)
    block_rows = np.zeros(len(blocks), np.int64)
    sums = np.zeros(kernels.SUMS, np.int64)
    is_sound = kernels.index_records(
        source,
        readable(blocks),
        first,
        end,
        writable(offsets),
        writable(timestamps),
        writable(places[0]),
        writable(places[1]),
        writable(places[2]),
        writable(places[3]),
        writable(places[4]),
        writable(places[5]),
        writable(block_rows),
        writable(sums),
    )
    if not is_sound:
        raise MalformedBlock(int(sums[kernels.BAD_BLOCK]), int(sums[kernels.BAD_POSITION]))
    rows = int(sums[kernels.ROWS])
    return RecordIndex(
        data=source,
        offsets=offsets[:rows],
        timestamps=timestamps[:rows],
        key_positions=places[0, :rows],
        key_lengths=places[1, :rows],
        key_bytes=int(sums[kernels.KEY_BYTES]),
        value_positions=places[2, :rows],
        value_lengths=places[3, :rows],
        value_bytes=int(sums[kernels.VALUE_BYTES]),
        header_positions=places[4, :rows],
        header_counts=places[5, :rows],
        header_total=int(sums[kernels.HEADERS]),
        block_rows=block_rows,
    )


def _check_table(blocks: Int64s, size: int) -> None:
    """Stop before compiled code reads outside of the bytes, should our own caller be wrong."""
    assert size <= DATA_BYTES_MAX, size
    assert blocks.dtype == np.int64, blocks.dtype
    assert blocks.shape[1:] == (kernels.BLOCK_FIELDS,), blocks.shape
    starts, ends = blocks[:, kernels.BLOCK_START], blocks[:, kernels.BLOCK_END]
    assert ((starts >= 0) & (starts <= ends) & (ends <= size)).all(), (size, blocks)
    claimed = blocks[:, kernels.BLOCK_RECORDS]
    assert ((claimed >= 0) & (claimed <= ends - starts)).all(), "more records than bytes"


def record_batch(
    index: RecordIndex, is_append_time: NDArray[np.bool_], place: TopicPartition, columns: tuple[str, ...]
) -> pa.RecordBatch:
    """Make the columns asked for. `is_append_time` tells it of each block."""
    made: dict[str, pa.Array] = {}
    for column in columns:
        match column:
            case "topic":
                made[column] = pa.repeat(pa.scalar(place.topic, pa.string()), index.rows)
            case "partition":
                made[column] = _numbers(np.full(index.rows, place.partition, np.int32), pa.int32())
            case "offset":
                made[column] = _numbers(index.offsets, pa.int64())
            case "timestamp":
                made[column] = _numbers(index.timestamps, TIMESTAMP, index.timestamps != NO_TIMESTAMP)
            case "timestamp_type":
                made[column] = _numbers(
                    np.repeat(is_append_time.astype(np.int32), index.block_rows), pa.int32()
                )
            case "key":
                made[column] = _bytes(index.data, index.key_positions, index.key_lengths, index.key_bytes)
            case "value":
                made[column] = _bytes(
                    index.data, index.value_positions, index.value_lengths, index.value_bytes
                )
            case _:
                made[column] = _headers(index)
    return pa.RecordBatch.from_arrays(list(made.values()), schema=schema(columns))


def _numbers(numbers: NDArray[Any], kind: pa.DataType, is_valid: NDArray[np.bool_] | None = None) -> pa.Array:
    validity = None if is_valid is None else _validity(is_valid)
    return pa.Array.from_buffers(kind, len(numbers), [validity, pa.py_buffer(numbers)])


def _validity(is_valid: NDArray[np.bool_]) -> pa.Buffer | None:
    """Give Arrow's bits for what is null; None where nothing is."""
    return None if is_valid.all() else pa.py_buffer(np.packbits(is_valid, bitorder="little"))


def _gather(data: Any, positions: Int32s, lengths: Int32s, size: int) -> list[pa.Buffer]:
    ends = np.empty(len(positions) + 1, np.int32)
    gathered = np.empty(size, np.uint8)
    kernels.gather(data, readable(positions), readable(lengths), writable(ends), writable(gathered))
    assert ends[-1] == size, (ends[-1], size)
    return [pa.py_buffer(ends), pa.py_buffer(gathered)]


def _bytes(data: Any, positions: Int32s, lengths: Int32s, size: int) -> pa.Array:
    buffers = _gather(data, positions, lengths, size)
    return pa.Array.from_buffers(pa.binary(), len(positions), [_validity(lengths >= 0), *buffers])


def _headers(index: RecordIndex) -> pa.Array:
    total = index.header_total
    places = np.empty((4, total), np.int32)
    sums = np.zeros(2, np.int64)
    if total:
        kernels.index_headers(
            index.data,
            readable(index.header_positions),
            readable(index.header_counts),
            writable(places[0]),
            writable(places[1]),
            writable(places[2]),
            writable(places[3]),
            writable(sums),
        )
    keys = _text(_gather(index.data, places[0], places[1], int(sums[0])), total)
    values = _bytes(index.data, places[2], places[3], int(sums[1]))
    ends = np.zeros(index.rows + 1, np.int32)
    np.cumsum(index.header_counts, out=ends[1:])
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(HEADER))
    return pa.Array.from_buffers(HEADERS, index.rows, [None, pa.py_buffer(ends)], children=[pairs])


def _text(buffers: list[pa.Buffer], count: int) -> pa.Array:
    """Make text of gathered bytes. What is not UTF-8 is replaced, which needs a look at each: a rare case."""
    text = pa.Array.from_buffers(pa.string(), count, [None, *buffers])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        raw = pa.Array.from_buffers(pa.binary(), count, [None, *buffers])
        return pa.array([key.decode("utf-8", "replace") for key in raw.to_pylist()], pa.string())
    return text
