"""Walk over the batch headers of a segment file without reading the records between them.

Two ways to go:

- `walk_headers` trusts what it reads (below the log's end all was checked before it was written) and reads
  as little as it can: with large batches one small read each, with small batches many headers per read.
- `scan_batches` trusts nothing: it reads every byte, checks every CRC, and stops at the first batch that is
  not whole and valid, thus finding where a crash tore the file.

Both read in pieces, so memory stays bounded by the larger of the piece and one batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from riverlog.errors import CorruptBatch
from riverlog.protocol.batches import (
    BATCH_LENGTH_MIN,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    MAGIC,
    BatchHeader,
    WalkStop,
    read_header,
    split_batches,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from riverlog.log.disk import Disk
    from riverlog.log.open_files import LogFile

WALK_BYTES = 8 * 1024
"""One read of a walk: twice the default index interval, so that most look-ups need one read."""

SCAN_BYTES = 4 * 1024 * 1024
"""One read of a scan: large enough that the calls do not count, small enough for many threads at once."""


class ScannedRun(NamedTuple):
    """Whole, valid batches that follow each other in a file."""

    buffer: memoryview
    """Their bytes, and maybe more behind them; gone with the next run."""
    buffer_position: int
    """Where in the file the buffer begins."""
    batches: list[tuple[int, BatchHeader]]
    """Position in the buffer, header."""
    end: int
    """Position in the file behind the last batch."""
    stop: WalkStop | None
    """Why nothing follows; None if something may."""


def walk_headers(disk: Disk, file: LogFile, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Give (position, header) of each batch in [position, end). Raises OSError, CorruptBatch."""
    pread, fd = disk.pread, file.fd
    chunk, chunk_start = b"", 0
    while position < end:
        at = position - chunk_start
        if at + HEADER_BYTES > len(chunk):
            chunk = pread(fd, min(WALK_BYTES, end - position), position)
            chunk_start, at = position, 0
            if len(chunk) < HEADER_BYTES:
                raise CorruptBatch(
                    "the segment ends inside a batch header", path=file.path, position=position
                )
        header = read_header(chunk, at)
        if header.magic != MAGIC or header.batch_length < BATCH_LENGTH_MIN:
            raise CorruptBatch(
                f"there should be a batch, not magic {header.magic} and length {header.batch_length}",
                path=file.path,
                position=position,
            )
        yield position, header
        position += header.batch_length + LENGTH_PREFIX_BYTES


def scan_batches(disk: Disk, file: LogFile, position: int, end: int) -> Iterator[ScannedRun]:
    """Read [position, end) and give the valid batches in runs; the last run says why it is the last.

    A batch larger than a piece is read in a piece of its own size, but never beyond `end`. Raises OSError.
    """
    buffer = memoryview(bytearray(min(SCAN_BYTES, max(end - position, 1))))
    while True:
        filled = _fill(disk, file, buffer, position, end)
        walk = split_batches(buffer, 0, filled)
        reached_end = position + filled >= end or filled < len(buffer)
        is_torn = walk.stop in (WalkStop.TORN_HEADER, WalkStop.TORN_BATCH)
        stop = walk.stop if reached_end or not (is_torn or walk.stop is WalkStop.END) else None
        yield ScannedRun(buffer, position, walk.batches, position + walk.end, stop)
        if stop is not None:
            return
        if is_torn and not walk.end:
            # Not even one batch fits: take as much as this one says it needs.
            needed = read_header(buffer, 0).size if filled >= HEADER_BYTES else HEADER_BYTES
            buffer = memoryview(bytearray(min(max(needed, 2 * len(buffer)), end - position)))
        position += walk.end


def _fill(disk: Disk, file: LogFile, buffer: memoryview, position: int, end: int) -> int:
    """Read into the buffer until it is full or the range is read; say how much there was."""
    wanted = min(len(buffer), end - position)
    filled = 0
    while filled < wanted:
        count = disk.preadv(file.fd, [buffer[filled:wanted]], position + filled)
        if not count:
            break
        filled += count
    return filled
