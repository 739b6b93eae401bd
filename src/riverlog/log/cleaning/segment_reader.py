"""Read a sealed segment in pieces of whole batches, and decode the records of those that matter.

    file    [batch][batch][bat|ch][batch]...
    piece 1 ....................| what does not fit whole begins the next piece
    piece 2                [batch][batch]...

One buffer serves all pieces. A batch larger than it gets a buffer of its own size, for as long as that is
needed; records that come out of compression are looked at in runs of about the buffer's size.
"""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

from riverlog.errors import CorruptBatch, RemoteProtocolError
from riverlog.log.cleaning.record_columns import PADDING_BYTES, Data, RecordBlock, RecordColumns, read_columns
from riverlog.protocol.batches import (
    COMPRESSION_MASK,
    HEADER_BYTES,
    BatchHeader,
    WalkStop,
    read_header,
    split_batches,
)
from riverlog.protocol.records import RECORD_BYTES_MIN, read_record_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from riverlog.log.disk import Disk

IO_BYTES_MIN = 4096


class Batch(NamedTuple):
    """A batch in a piece."""

    start: int
    """Where it begins in the piece's data."""
    header: BatchHeader


class Piece(NamedTuple):
    """Whole batches that follow each other. Its data is valid until the next piece is asked for."""

    data: bytearray
    position: int
    """Where in the file it begins."""
    batches: list[Batch]


class Run(NamedTuple):
    """Decoded records of some batches."""

    data: Data
    """Records are decompressed here."""
    batches: list[Batch]
    blocks: list[RecordBlock]
    columns: RecordColumns


class SegmentReader:
    """Reads segments, one after the other."""

    __slots__ = ("_buffer", "_disk", "_io_bytes")

    def __init__(self, disk: Disk, io_bytes: int) -> None:
        self._disk = disk
        self._io_bytes = max(io_bytes, IO_BYTES_MIN)
        self._buffer = bytearray(self._io_bytes + PADDING_BYTES)

    def pieces(
        self,
        descriptor: int,
        path: str,
        end: int,
        *,
        check_crc: bool,
        skip_to: Callable[[int], int] = lambda position: position,
    ) -> Iterator[Piece]:
        """Give the batches of a segment of `end` bytes. Raises OSError, CorruptBatch.

        `skip_to` is asked at the beginning of each piece where to go on instead. Pieces begin at the same
        positions each time a segment is read.
        """
        position = 0
        buffer = self._buffer
        while True:
            while position < end and (next_position := skip_to(position)) > position:
                position = next_position
            if position >= end:
                return
            filled = self._fill(descriptor, buffer, position, end)
            walk = split_batches(buffer, 0, filled, check_crc=check_crc)
            if walk.stop is not WalkStop.END:
                is_cut = walk.stop in (WalkStop.TORN_HEADER, WalkStop.TORN_BATCH)
                needed = read_header(buffer, walk.end).size if walk.stop is WalkStop.TORN_BATCH else 0
                reads_on = is_cut and position + filled < end and filled == len(buffer) - PADDING_BYTES
                if not reads_on or position + walk.end + needed > end:
                    raise CorruptBatch(str(walk.stop), path=path, position=position + walk.end)
                if not walk.batches:
                    buffer = bytearray(needed + PADDING_BYTES)
                    continue
            yield Piece(buffer, position, list(starmap(Batch, walk.batches)))
            position += walk.end
            if len(buffer) > len(self._buffer):
                buffer = self._buffer

    def runs(self, piece: Piece, batches: Iterable[Batch]) -> Iterator[Run]:
        """Decode the records of some batches of a piece. Raises CorruptBatch."""
        chosen = list(batches)
        if not any(each.header.attributes & COMPRESSION_MASK for each in chosen):
            blocks = [
                _block(each.header, each.start + HEADER_BYTES, each.start + each.header.size)
                for each in chosen
            ]
            if chosen:
                yield Run(piece.data, chosen, blocks, read_columns(piece.data, blocks))
            return
        first = 0
        while first < len(chosen):
            data = bytearray()
            blocks = []
            number = first
            while number < len(chosen) and (number == first or len(data) < self._io_bytes):
                start, header = chosen[number]
                try:
                    records = read_record_block(piece.data, start, header)
                except RemoteProtocolError as error:
                    raise CorruptBatch(f"the batch at offset {header.base_offset}: {error}") from error
                blocks.append(_block(header, len(data), len(data) + len(records)))
                data += records
                number += 1
            data += bytes(PADDING_BYTES)
            yield Run(data, chosen[first:number], blocks, read_columns(data, blocks))
            first = number

    def _fill(self, descriptor: int, buffer: bytearray, position: int, end: int) -> int:
        """Read into the buffer, but for its padding, until it is full or the range is read."""
        view = memoryview(buffer)
        wanted = min(len(buffer) - PADDING_BYTES, end - position)
        filled = 0
        while filled < wanted:
            count = self._disk.preadv(descriptor, [view[filled:wanted]], position + filled)
            if not count:
                break
            filled += count
        return filled


def _block(header: BatchHeader, start: int, end: int) -> RecordBlock:
    if not 0 <= header.record_count <= (end - start) // RECORD_BYTES_MIN:
        raise CorruptBatch(
            f"{header.record_count} records do not fit the batch at offset {header.base_offset}"
        )
    return RecordBlock(
        start,
        end,
        header.record_count,
        header.base_offset,
        header.last_offset_delta,
        header.base_timestamp,
    )
