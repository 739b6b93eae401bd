"""Clean one partition's sealed segments: build the map of the dirty part, then copy what is still of use.

    1. dirty part    key ─▶ latest offset, until all is read or the map is full
    2. all parts, group by group    records that the map does not know to be superseded ─▶ `.cleaned` files

What stays of a batch, in Kafka's order:
- nothing of an aborted transaction; nothing of a marker whose transaction is gone, once its horizon is over
- of the rest: records behind what the map has seen; of others those with a key, if they are the key's latest
  and either carry a value or are tombstones whose horizon is not over
- tombstones, and markers whose transaction is gone, get their horizon when they are first met
- a batch that loses all records stays as a header if it is a producer's last, or this cleaning's last one

In the dirty part a record is its key's latest if and only if its offset is in the map. So there the second
pass needs no keys; a batch of which no offset is in the map is dropped after a look at its header, and a
whole piece of such batches is not read again.

It touches nothing but the `.cleaned` files that it makes, and runs in any process.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from riverlog.errors import CorruptBatch, RemoteProtocolError
from riverlog.log import names
from riverlog.log.cleaning.cleaned_segment import CleanedSegment
from riverlog.log.cleaning.job import CleaningAborted, Job, Outcome, Replacement
from riverlog.log.cleaning.key_hashes import KeyHasher
from riverlog.log.cleaning.offset_map import OffsetMap
from riverlog.log.cleaning.plan import SegmentSizes, group_segments
from riverlog.log.cleaning.record_filter import KeptBatch, RecordFilter, whole
from riverlog.log.cleaning.segment_reader import SegmentReader
from riverlog.log.cleaning.transactions import CleanedTransactions
from riverlog.log.disk import as_storage_error
from riverlog.log.open_files import OpenFiles
from riverlog.log.segment import Segment
from riverlog.protocol.batches import CONTROL_BIT, TRANSACTIONAL_BIT
from riverlog.protocol.control_records import TransactionMarker, read_marker
from riverlog.protocol.records import read_records
from riverlog.protocol.rewriting import without_records
from riverlog.types import NO_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from riverlog.log.cleaning.key_hashes import Places
    from riverlog.log.cleaning.segment_reader import Batch, Piece, Run
    from riverlog.log.cleaning.throttle import Throttle
    from riverlog.log.disk import Disk
    from riverlog.log.transaction_index import AbortedTransaction
    from riverlog.protocol.batches import BatchHeader

logger = logging.getLogger("riverlog.log.cleaning")

OPEN_FILES_MAX = 8

NOTES_MAX = 16_384
"""Pieces of which is remembered that they need not be read again: a few megabytes; others are read twice."""


class PieceNote(NamedTuple):
    """A piece that the map has seen, without transactions."""

    end: int
    """Its last byte's position, plus one."""
    base_offset: int
    end_offset: int


class Cleaning:
    """One job at work. Methods raise StorageError."""

    def __init__(
        self,
        job: Job,
        disk: Disk,
        *,
        seed: bytes,
        throttle: Throttle,
        is_aborted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._job = job
        self._disk = disk
        self._throttle = throttle
        self._is_aborted = is_aborted
        self._open_files = OpenFiles(disk, OPEN_FILES_MAX)
        self._reader = SegmentReader(disk, job.io_bytes)
        self._hasher = KeyHasher(seed)
        self._map = OffsetMap(job.map_bytes, job.map_load_factor, job.end - job.first_dirty)
        # Behind the last offset that the map has seen: up to there the log will be clean.
        self._seen_end = job.first_dirty
        self._filter: RecordFilter
        self._last_offsets: Places = np.zeros(0, np.int64)
        # Segments of which every CRC was right when the map was built.
        self._checked: set[int] = set()
        # By segment and position: what the second pass may leave out.
        self._notes: dict[tuple[int, int], PieceNote] = {}
        self._last_batches = {each.producer_id: each for each in job.last_batches}
        self._read_bytes = self._written_bytes = self._read_records = self._kept_records = 0

    def run(self, on_replacement: Callable[[Replacement], None]) -> Outcome:
        """Clean, and hand over each new segment once its files are on the disk."""
        try:
            self._remove_leftovers()
            segments = [self._segment(*each) for each in self._job.segments]
            aborted = [each for segment in segments for each in segment.transaction_index]
            aborted += self._job.aborted_behind
            self._build_map(segments, aborted)
            if self._seen_end > self._job.first_dirty:
                self._clean(segments, aborted, on_replacement)
        except OSError as error:
            raise as_storage_error(error, "cannot clean", self._job.directory) from error
        return Outcome(
            self._seen_end,
            self._read_bytes,
            self._written_bytes,
            self._read_records,
            self._kept_records,
            len(self._map),
            self._map.memory_bytes,
            self._map.utilization,
        )

    def _segment(self, base_offset: int, size: int) -> Segment:
        return Segment(
            self._disk, self._open_files, self._job.directory, base_offset, size=size, created_ms=0
        )

    def _remove_leftovers(self) -> None:
        """Remove what a cleaning left that did not come to its end.

        The next start would take it for work under way, and drop segments that are about to replace others.
        """
        for name in self._disk.listdir(self._job.directory):
            if name.endswith(names.CLEANED):
                self._disk.unlink(f"{self._job.directory}/{name}")

    # The map

    def _build_map(self, segments: Sequence[Segment], aborted: list[AbortedTransaction]) -> None:
        first_dirty = self._job.first_dirty
        transactions = CleanedTransactions(aborted, first_dirty)
        for number, segment in enumerate(segments):
            end = self._end_of(segments, number)
            if end <= first_dirty:
                continue
            for piece in self._pieces(segment, check_crc=True):
                if not self._map_piece(piece, transactions, first_dirty):
                    return
                self._note(segment, piece)
            self._checked.add(segment.base_offset)
            self._seen_end = max(self._seen_end, end)

    def _map_piece(self, piece: Piece, transactions: CleanedTransactions, first_dirty: int) -> bool:
        """Put a piece's keys into the map; say whether there was room for all."""
        chosen = []
        # In the order of offsets: behind the first dirty one no batch needs to be asked.
        is_dirty = piece.batches[0].header.base_offset >= first_dirty
        for batch in piece.batches:
            header = batch.header
            if not is_dirty and header.last_offset < first_dirty:
                continue
            if header.attributes & CONTROL_BIT:
                transactions.has_no_trace(header, self._marker_of(piece, batch))
            elif not transactions.is_aborted(header) and header.record_count:
                chosen.append(batch)
        for run in self._reader.runs(piece, chosen):
            if not self._map_run(run, first_dirty):
                return False
        self._seen_end = max(self._seen_end, piece.batches[-1].header.next_offset)
        return True

    def _note(self, segment: Segment, piece: Piece) -> None:
        """Remember a piece that need not be read again if nothing in it is any key's latest."""
        first, last = piece.batches[0].header, piece.batches[-1]
        if (
            len(self._notes) < NOTES_MAX
            and first.base_offset >= self._job.first_dirty
            and not any(header.attributes & TRANSACTIONAL_BIT for _, header in piece.batches)
        ):
            self._notes[segment.base_offset, piece.position] = PieceNote(
                piece.position + last.start + last.header.size, first.base_offset, last.header.next_offset
            )

    def _map_run(self, run: Run, first_dirty: int) -> bool:
        columns = run.columns
        self._read_records += len(columns.start)
        chosen = np.flatnonzero((columns.key_length >= 0) & (columns.offset >= first_dirty))
        offsets = columns.offset[chosen]
        high, low = self._hasher.hash(
            np.frombuffer(run.data, np.uint8), columns.key_start[chosen], columns.key_length[chosen]
        )
        done = 0
        while done < len(chosen):
            room = self._map.room
            if not room:
                return False
            until = min(done + room, len(chosen))
            self._map.put(high[done:until], low[done:until], offsets[done:until])
            self._seen_end = int(offsets[until - 1]) + 1
            done = until
        return True

    # Copying

    def _clean(
        self,
        segments: Sequence[Segment],
        aborted: list[AbortedTransaction],
        on_replacement: Callable[[Replacement], None],
    ) -> None:
        job = self._job
        reached = [segment for segment in segments if segment.base_offset < self._seen_end]
        sizes = [
            SegmentSizes(
                segment.base_offset,
                segment.size,
                segment.offset_index.size_bytes,
                segment.time_index.size_bytes,
            )
            for segment in reached
        ]
        by_offset = {segment.base_offset: segment for segment in reached}
        groups = group_segments(
            sizes,
            self._end_of(segments, len(reached) - 1),
            segment_bytes=job.segment_bytes,
            index_bytes=job.segment_index_bytes,
        )
        self._filter = RecordFilter(
            self._map,
            self._hasher,
            first_dirty=job.first_dirty,
            seen_end=self._seen_end,
            now_ms=job.now_ms,
            delete_retention_ms=job.delete_retention_ms,
        )
        self._last_offsets = np.array(sorted(each.last_offset for each in job.last_batches), np.int64)
        transactions = CleanedTransactions(aborted)
        for group in groups:
            parts = [by_offset[each.base_offset] for each in group]
            size = self._clean_group(parts, transactions)
            on_replacement(Replacement(tuple(part.base_offset for part in parts), size))

    def _clean_group(self, parts: Sequence[Segment], transactions: CleanedTransactions) -> int:
        """Write what stays of some segments into one; give its size."""
        job = self._job
        cleaned = CleanedSegment(
            self._disk,
            self._open_files,
            job.directory,
            parts[0].base_offset,
            index_interval_bytes=job.index_interval_bytes,
            write_bytes=job.io_bytes,
            now_ms=job.now_ms,
        )
        try:
            for part in parts:
                check_crc = part.base_offset not in self._checked
                for piece in self._pieces(part, check_crc=check_crc, skip_to=partial(self._skip, part)):
                    self._copy_piece(piece, transactions, cleaned)
            self._count_written(cleaned.finish(self._disk.modified_ms(parts[-1].log_path)))
            self._disk.sync_directory(job.directory)
        except BaseException:
            cleaned.discard()
            raise
        for part in parts:
            part.close()
        return cleaned.size

    def _copy_piece(self, piece: Piece, transactions: CleanedTransactions, cleaned: CleanedSegment) -> None:
        kept: dict[int, KeptBatch] = {}
        undecided: list[Batch] = []
        traceless_markers: set[int] = set()
        may_live = self._filter.may_live(piece.batches)
        for batch, may_have_live in zip(piece.batches, may_live, strict=True):
            header = batch.header
            if not header.is_control:
                if not transactions.is_aborted(header) and may_have_live:
                    undecided.append(batch)
                continue
            is_traceless = transactions.has_no_trace(header, self._marker_of(piece, batch))
            if is_traceless and self._is_over(header):
                continue
            if is_traceless and not header.has_delete_horizon:
                traceless_markers.add(batch.start)
                undecided.append(batch)
            elif header.record_count:
                kept[batch.start] = whole(piece, batch)
        for run in self._reader.runs(piece, undecided):
            self._read_records += len(run.columns.start)
            for each in self._filter.kept(piece, run, traceless_markers):
                kept[each.start] = each
        self._append(piece, kept, cleaned)
        for aborted in transactions.take_kept():
            cleaned.add_aborted(aborted)

    def _append(self, piece: Piece, kept: dict[int, KeptBatch], cleaned: CleanedSegment) -> None:
        written = 0
        for start, header in piece.batches:
            each = kept.get(start)
            if each is not None:
                written += cleaned.add(each.data, header.last_offset, each.max_timestamp)
                self._kept_records += each.record_count
            elif self._must_stay(header):
                written += cleaned.add(without_records(header), header.last_offset, NO_TIMESTAMP)
        self._count_written(written)

    def _skip(self, segment: Segment, position: int) -> int:
        """Give the end of the piece at a position if nothing in it stays."""
        note = self._notes.get((segment.base_offset, position))
        if (
            note is None
            or note.end_offset >= self._seen_end
            or _has_any(self._last_offsets, note.base_offset, note.end_offset)
            or self._filter.has_latest(note.base_offset, note.end_offset)
        ):
            return position
        return note.end

    def _is_over(self, header: BatchHeader) -> bool:
        """Say whether the time is over for which a marker stays without its transaction."""
        return header.has_delete_horizon and header.base_timestamp <= self._job.now_ms

    def _must_stay(self, header: BatchHeader) -> bool:
        """Say whether a batch stays even without records: the log's end or a producer's place needs it."""
        if header.next_offset == self._seen_end:
            return True
        last = self._last_batches.get(header.producer_id)
        return last is not None and header.has_producer and last.is_in(header)

    # Reading

    def _pieces(
        self,
        segment: Segment,
        *,
        check_crc: bool,
        skip_to: Callable[[int], int] = lambda position: position,
    ) -> Iterator[Piece]:
        file = segment.open()
        for piece in self._reader.pieces(
            file.fd, segment.log_path, segment.size, check_crc=check_crc, skip_to=skip_to
        ):
            if self._is_aborted():
                raise CleaningAborted("the cleaning was called off", path=self._job.directory)
            count = piece.batches[-1].start + piece.batches[-1].header.size
            self._read_bytes += count
            self._throttle.take(count)
            yield piece

    def _marker_of(self, piece: Piece, batch: Batch) -> TransactionMarker | None:
        """Read which end of a transaction a control batch is; None if its record was removed before."""
        try:
            record = next(read_records(piece.data, batch.start), None)
            return read_marker(record) if record is not None else None
        except RemoteProtocolError as error:
            raise CorruptBatch(f"the control batch at offset {batch.header.base_offset}: {error}") from error

    def _count_written(self, count: int) -> None:
        self._written_bytes += count
        if count:
            self._throttle.take(count)

    def _end_of(self, segments: Sequence[Segment], number: int) -> int:
        return segments[number + 1].base_offset if number + 1 < len(segments) else self._job.end


def _has_any(offsets: Places, start: int, end: int) -> bool:
    """Say whether any of some rising offsets lies in [start, end)."""
    return bool(offsets.searchsorted(end) > offsets.searchsorted(start))
