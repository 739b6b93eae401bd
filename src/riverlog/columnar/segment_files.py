"""The segment files of one partition's directory, and the batches in them in their order.

    orders-3/  00000000000000000000.log  .index      [0 .. 499]
               00000000000000000500.log  .index      [500 .. 912] and what a broker is just writing

Rules
- Files are read in pieces, not mapped: a mapped file that becomes shorter would end the process.
- The directory is looked at again before each segment, since retention deletes, compaction replaces and the
  broker rolls segments meanwhile. A file that is open stays readable.
- What is not yet whole at the end of the newest segment is the end; in another segment it is damage. A
  segment that was the newest when it was read is read on if it is so no longer.
- An index is a hint: what it points to is believed if a batch with the right offset is there.
- Offsets below the log start offset, which DeleteRecords leaves in a segment for a while, are not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from riverlog.columnar.batches import BadBatch, batches_from, checked_batches, is_blank
from riverlog.columnar.options import RecordsLost
from riverlog.errors import CorruptBatch
from riverlog.protocol.batches import BATCH_LENGTH_MIN, HEADER_BYTES, MAGIC, BatchHeader, read_header
from riverlog.protocol.records import RECORDS_BYTES_MAX
from riverlog.types import TopicPartition

CHUNK_BYTES = 8 * 1024 * 1024
"""How much of a segment is read at once, and thus held; a single larger batch is read as a whole."""

BATCH_BYTES_MAX = RECORDS_BYTES_MAX + HEADER_BYTES
_SEGMENT = re.compile(r"(\d{20})\.log\Z")
_LOG_STARTS = "log-start-offset-checkpoint"


class Segment(NamedTuple):
    """One segment file in the directory as it was last looked at."""

    path: str
    base_offset: int
    is_newest: bool


class Run(NamedTuple):
    """Whole batches that follow each other in a file, their CRC checked."""

    path: str
    buffer: bytes
    batches: list[tuple[int, BatchHeader]]


class SegmentDirectory:
    """A partition's directory. Where records are gone it raises RecordsLost, or goes on if `skips_lost`."""

    def __init__(self, path: str, place: TopicPartition, *, skips_lost: bool) -> None:
        self.path = path
        self.place = place
        self.skips_lost = skips_lost

    def first_offset(self, start: int | None) -> int:
        """Give the offset to start with: `start`, the oldest one without. Raises OSError, RecordsLost."""
        log_start = self._log_start_offset()
        bases = [segment.base_offset for segment in self._segments()]
        oldest = max(log_start, min(bases, default=0))
        if start is None:
            return oldest
        if start < oldest:
            self._lose(start, oldest)
            return oldest
        return start

    def _lose(self, start: int, end: int) -> None:
        if not self.skips_lost:
            raise RecordsLost(self.place, start, end)

    def reaches(self, offset: int) -> bool:
        """Say whether a segment begins at `offset` or later: then what is missing before it is a hole."""
        return any(segment.base_offset >= offset for segment in self._segments())

    def _segments(self) -> list[Segment]:
        names = sorted(name for name in os.listdir(self.path) if _SEGMENT.match(name))
        return [Segment(os.path.join(self.path, name), int(name[:20]), name == names[-1]) for name in names]

    def _log_start_offset(self) -> int:
        """Read where DeleteRecords let the log begin, from a file that lies beside the partitions."""
        path = os.path.join(os.path.dirname(self.path), _LOG_STARTS)
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read().split("\n")[2:]
        except OSError:
            return 0
        prefix = f"{self.place.topic} {self.place.partition} "
        for line in lines:
            offset = line.removeprefix(prefix)
            if offset != line and offset.isascii() and offset.isdigit():
                return int(offset)
        return 0

    def runs(self, offset: int) -> Iterator[Run]:
        """Give the batches that reach to `offset` or beyond, up to the end of the newest segment.

        Raises OSError, CorruptBatch, RecordsLost.
        """
        done: tuple[int, int] | None = None  # base offset and inode of the file that was read to its end
        while True:
            segments = self._segments()
            segment = _segment_at(segments, offset)
            if segment is None:
                if not segments:
                    return
                self._lose(offset, segments[0].base_offset)
                segment = segments[0]
            try:
                descriptor = os.open(segment.path, os.O_RDONLY)
            except FileNotFoundError:
                continue  # gone since the directory was listed
            try:
                identity = (segment.base_offset, os.fstat(descriptor).st_ino)
                if identity == done:
                    # Read to its end, and nothing came in its place: a hole, or the end of the log.
                    later = [each for each in segments if each.base_offset > segment.base_offset]
                    if not later:
                        return
                    offset = max(offset, later[0].base_offset)
                    continue
                position = _position_for(descriptor, segment, offset)
                for run in self._runs_in(descriptor, segment, position, offset):
                    yield run
                    offset = max(offset, run.batches[-1][1].next_offset)
                if not segment.is_newest:
                    done = identity
                elif self._segments()[-1:] == [segment]:
                    return
                # Otherwise it was the newest and is not any more: it may have grown before that.
            finally:
                os.close(descriptor)

    def _runs_in(self, descriptor: int, segment: Segment, position: int, offset: int) -> Iterator[Run]:
        """Give the batches of one file from `position` on; return at its end, or at what is not yet whole."""
        size = CHUNK_BYTES
        while True:
            chunk = os.pread(descriptor, size, position)
            if not chunk:
                return
            try:
                walk = checked_batches(chunk, 0, len(chunk), self.place, expected_offset=offset)
            except BadBatch as error:
                raise CorruptBatch(str(error), path=segment.path, position=position) from None
            if walk.end:
                size = CHUNK_BYTES
                wanted = list(batches_from(walk, offset))
                position += walk.end
                if wanted:
                    yield Run(segment.path, chunk, wanted)
                    offset = max(offset, wanted[-1][1].next_offset)
                continue
            needed = read_header(chunk).size if len(chunk) >= HEADER_BYTES else HEADER_BYTES
            if len(chunk) < size or is_blank(chunk, 0, len(chunk)):
                if segment.is_newest:
                    return
                raise CorruptBatch(
                    "a segment that is not the newest ends inside a batch",
                    path=segment.path,
                    position=position,
                )
            if needed > BATCH_BYTES_MAX:
                raise CorruptBatch(f"a batch of {needed} bytes", path=segment.path, position=position)
            size = needed


def _segment_at(segments: list[Segment], offset: int) -> Segment | None:
    """Find the segment that holds `offset`: the last one that does not begin after it."""
    holding = [segment for segment in segments if segment.base_offset <= offset]
    return holding[-1] if holding else None


def _position_for(descriptor: int, segment: Segment, offset: int) -> int:
    """Find a place in the file at or before the batch that holds `offset`, by the segment's offset index."""
    try:
        with open(f"{segment.path.removesuffix('.log')}.index", "rb") as file:
            content = file.read()
    except OSError:
        return 0
    entries = np.frombuffer(content, ">i4", count=len(content) // 8 * 2).reshape(-1, 2)
    entries = entries[: int(np.argmax(entries[:, 1] == 0)) if (entries[:, 1] == 0).any() else len(entries)]
    number = int(np.searchsorted(entries[:, 0], min(offset - segment.base_offset, 2**31 - 1), side="right"))
    if not number:
        return 0
    relative, position = (int(value) for value in entries[number - 1])
    found = os.pread(descriptor, HEADER_BYTES, position) if position > 0 else b""
    if len(found) < HEADER_BYTES:
        return 0
    header = read_header(found)
    is_there = (
        header.magic == MAGIC
        and header.batch_length >= BATCH_LENGTH_MIN
        and header.last_offset == segment.base_offset + relative
        and header.base_offset <= offset
    )
    return position if is_there else 0
