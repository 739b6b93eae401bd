"""One segment of a partition: a `.log` file of batches with its indexes.

    00000000000000000120.log   [120..124][125..131][132..132]...   base offset 120
    00000000000000000120.index      125..131 begins at 311
    00000000000000000120.timeindex  up to 131 the largest timestamp is ...
    00000000000000000120.txnindex   132 aborts what producer 7 wrote from 118 on

Only the newest segment of a partition, the active one, grows. The others are sealed: they are read, and
deleted one day. A sealed segment that nobody reads holds no descriptor and no index in memory.

Positions come from an index and a short walk over headers. An index is a hint and never trusted
blindly: if it points anywhere but at a batch, it is built again from the log.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

from riverlog.errors import CorruptBatch
from riverlog.log import names
from riverlog.log.disk import CREATE
from riverlog.log.header_walk import walk_headers
from riverlog.log.offset_index import OffsetIndex
from riverlog.log.time_index import TimeIndex
from riverlog.log.transaction_index import TransactionIndex
from riverlog.types import NO_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from riverlog.log.disk import Disk
    from riverlog.log.open_files import LogFile, OpenFiles
    from riverlog.protocol.batches import BatchHeader

logger = logging.getLogger("riverlog.log.segment")

INDEX_INTERVAL_BYTES = 4096
"""How far apart index entries are where an index must be built again and nobody says (Kafka's default)."""

_NOT_READ = -2

Found = TypeVar("Found")


class Segment:
    """The batches from `base_offset` up to the next segment's base offset."""

    __slots__ = (
        "_disk",
        "_largest_timestamp",
        "_largest_timestamp_offset",
        "_open_files",
        "base_offset",
        "bytes_since_index_entry",
        "created_ms",
        "file",
        "first_timestamp",
        "index_entries",
        "log_path",
        "offset_index",
        "path",
        "size",
        "time_index",
        "transaction_index",
    )

    def __init__(
        self,
        disk: Disk,
        open_files: OpenFiles,
        directory: str,
        base_offset: int,
        *,
        size: int,
        created_ms: int,
        is_new: bool = False,
        suffix: str = "",
    ) -> None:
        self._disk = disk
        self._open_files = open_files
        self.base_offset = base_offset
        # Without suffix; the files of a segment differ in nothing else.
        self.path = f"{directory}/{names.offset_name(base_offset)}"
        self.log_path = self.path + names.LOG + suffix
        self.size = size
        # The open file while the cache of open files keeps it.
        self.file: LogFile | None = None
        self.created_ms = created_ms
        # The largest timestamp of the first batch: rolling by age counts from it. -1 until there is one.
        # Known for the active segment only.
        self.first_timestamp = int(NO_TIMESTAMP)
        self.bytes_since_index_entry = 0
        # Of the offset index, which a segment must not outgrow. Kept for the active segment only.
        self.index_entries = 0
        self._largest_timestamp = int(NO_TIMESTAMP) if is_new else _NOT_READ
        self._largest_timestamp_offset = base_offset
        path = self.path
        self.offset_index = OffsetIndex(disk, path + names.OFFSET_INDEX + suffix, base_offset, is_new=is_new)
        self.time_index = TimeIndex(disk, path + names.TIME_INDEX + suffix, base_offset, is_new=is_new)
        self.transaction_index = TransactionIndex(
            disk, path + names.TRANSACTION_INDEX + suffix, base_offset, is_new=is_new
        )

    @classmethod
    def create(
        cls,
        disk: Disk,
        open_files: OpenFiles,
        directory: str,
        base_offset: int,
        now_ms: int,
        *,
        suffix: str = "",
    ) -> Segment:
        """Make a new, empty segment with its files; whatever had their names is gone. Raises OSError.

        With a suffix it is one that does not belong to the log yet.
        """
        segment = cls(
            disk, open_files, directory, base_offset, size=0, created_ms=now_ms, is_new=True, suffix=suffix
        )
        try:
            disk.ftruncate(open_files.open(segment, CREATE).fd, 0)
            segment.save_indexes()
            if segment.transaction_index.exists():
                disk.unlink(segment.transaction_index.path)
        except OSError:
            # Half a segment must not be found by the next start, beside one that went on growing instead.
            segment.close()
            for kind in names.SEGMENT_SUFFIXES:
                try:
                    disk.unlink(segment.path + kind + suffix)
                except OSError:
                    pass
            raise
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.path!r}, {self.size} bytes)"

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp of its records, -1 if they have none."""
        if self._largest_timestamp == _NOT_READ:
            self._largest_timestamp, self._largest_timestamp_offset = self.time_index.last_time()
        return self._largest_timestamp

    @property
    def largest_timestamp_offset(self) -> int:
        """The last offset of the batch where the largest timestamp came up first."""
        self.largest_timestamp  # noqa: B018  # reads both
        return self._largest_timestamp_offset

    def open(self) -> LogFile:
        """Give the open file. Raises OSError."""
        file = self.file
        if file is None:
            return self._open_files.open(self)
        file.was_used = True
        return file

    def close(self) -> None:
        """Let go of the file."""
        self._open_files.forget(self)

    # Growing

    def note_batch(self, size: int, last_offset: int, max_timestamp: int, index_interval_bytes: int) -> None:
        """Count a batch that is in the file now, at its end. Only for the active segment."""
        if max_timestamp > self._largest_timestamp:
            self._largest_timestamp = max_timestamp
            self._largest_timestamp_offset = last_offset
        position = self.size
        if not position:
            self.first_timestamp = max_timestamp
        since = self.bytes_since_index_entry
        if since > index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.index_entries += 1
            self.time_index.append_if_larger(self._largest_timestamp, self._largest_timestamp_offset)
            since = 0
        self.bytes_since_index_entry = since + size
        self.size = position + size

    def seal(self) -> None:
        """Complete the indexes: nothing will be appended any more, or not for a while. Raises OSError."""
        self.time_index.append_if_larger(self.largest_timestamp, self.largest_timestamp_offset)
        self.save_indexes()

    def save_indexes(self) -> None:
        """Bring all index entries to their files. Raises OSError."""
        self.offset_index.save()
        self.time_index.save()
        self.transaction_index.save()

    # Finding

    def find(self, offset: int) -> tuple[int, BatchHeader] | None:
        """Find the first batch that holds `offset` or a larger one. Raises OSError, CorruptBatch."""
        return self._with_sound_index(lambda: self._find(offset))

    def boundary_at_most(self, start: int, limit: int) -> tuple[int, int]:
        """Find the last beginning of a batch, or the segment's end, in [start, limit].

        A batch begins at `start`. Gives (position, next offset to read there). Raises OSError, CorruptBatch.
        """
        return self._with_sound_index(lambda: self._boundary_at_most(start, limit))

    def find_timestamp(self, timestamp: int, start_offset: int) -> tuple[int, BatchHeader] | None:
        """Find the first batch from `start_offset` on with a record of at least `timestamp`.

        Raises OSError, CorruptBatch.
        """
        if self.largest_timestamp < timestamp:
            return None
        found = self.find(max(self.time_index.offset_before(timestamp), start_offset))
        if found is None:
            return None
        for position, header in self.headers(found[0]):
            if header.records_timestamp >= timestamp and header.last_offset >= start_offset:
                return position, header
        return None

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Give (position, header) from the batch at `position` on. Raises OSError, CorruptBatch."""
        return walk_headers(self._disk, self.open(), position, self.size)

    def read_batch(self, position: int, header: BatchHeader) -> bytes:
        """Read one whole batch. Raises OSError, CorruptBatch."""
        data = self._disk.pread(self.open().fd, header.size, position)
        if len(data) != header.size:
            raise CorruptBatch("the segment ends inside a batch", path=self.log_path, position=position)
        return data

    def index_paths(self) -> list[str]:
        """Name the files of its indexes, as far as there is anything in them. Raises OSError."""
        paths = [self.offset_index.path, self.time_index.path]
        if not self.transaction_index.is_empty or self.transaction_index.exists():
            paths.append(self.transaction_index.path)
        return paths

    def has_indexes(self) -> bool:
        """Say whether the index files that every segment has are there. Raises OSError."""
        return self.offset_index.exists() and self.time_index.exists()

    def first_batch_timestamp(self) -> int:
        """Give the largest timestamp of its first batch, -1 if there is none. Raises OSError."""
        if self.first_timestamp < 0:
            self.first_timestamp = self._read_first_timestamp()
        return self.first_timestamp

    def newest_ms(self) -> int:
        """Give the largest timestamp; if no record has one, when the file was written. Raises OSError."""
        largest = self.largest_timestamp
        return largest if largest >= 0 else self._disk.modified_ms(self.log_path)

    # Loading and shrinking

    def resume(self, *, may_rebuild_indexes: bool = True) -> int:
        """Make the segment ready to be appended to, and give the offset behind its last batch.

        What appends keep count of is worked out from the indexes and the batches behind their last
        entry. Raises OSError; CorruptBatch where the segment does not end with a whole batch.
        """
        return self._with_sound_index(self._resume) if may_rebuild_indexes else self._resume()

    def cut(self, position: int, end_offset: int) -> None:
        """Drop all from `position` on, where the batch with `end_offset` begins.

        Raises OSError, CorruptBatch.
        """
        self._disk.ftruncate(self.open().fd, position)
        self.size = position
        self.offset_index.truncate_to(end_offset)
        self.time_index.truncate_to(end_offset)
        self.transaction_index.truncate_to(end_offset)
        self.save_indexes()
        self.resume()

    def rewind_to_index_entry(self, offset: int) -> tuple[int, int]:
        """Forget what is known from the last index entry below `offset` on.

        Gives the position and base offset of the batch there. Recovery goes on from it, with
        `note_batch` for each batch that is still good, and notes again what those abort. An index that
        does not fit the log is forgotten as a whole. Raises OSError.
        """
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        place = self._trusted_place(offset) if self.transaction_index.is_sound() else None
        if place is None:
            self.offset_index.clear()
            self.time_index.clear()
            place = 0, self.base_offset
        self.transaction_index.truncate_to(place[1])
        self._largest_timestamp, self._largest_timestamp_offset = self.time_index.last_time()
        self.first_timestamp = self._read_first_timestamp()
        self.size = place[0]
        self.bytes_since_index_entry = 0
        self.index_entries = len(self.offset_index)
        return place

    def rebuild_indexes(self, index_interval_bytes: int = INDEX_INTERVAL_BYTES) -> None:
        """Build both indexes of all batches again, from the headers of the log.

        What was aborted does not follow from headers: see `replay`. Raises OSError, CorruptBatch.
        """
        size, self.size = self.size, 0
        try:
            self.offset_index.clear()
            self.time_index.clear()
            self._largest_timestamp, self._largest_timestamp_offset = int(NO_TIMESTAMP), self.base_offset
            self.bytes_since_index_entry = 0
            self.index_entries = 0
            for _position, header in walk_headers(self._disk, self.open(), 0, size):
                self.note_batch(
                    header.size, header.last_offset, header.records_timestamp, index_interval_bytes
                )
        finally:
            self.size = size
        self.seal()

    def _with_sound_index(self, look_up: Callable[[], Found]) -> Found:
        try:
            return look_up()
        except CorruptBatch as error:
            logger.warning("building the indexes of %s again: %s", self.log_path, error)
            self.rebuild_indexes()
            return look_up()

    def _find(self, offset: int) -> tuple[int, BatchHeader] | None:
        if offset <= self.base_offset:
            start = 0
        else:
            start = self.offset_index.position_for(offset)
            self._check_position(start)
        is_first = start > 0
        for position, header in walk_headers(self._disk, self.open(), start, self.size):
            if is_first and header.base_offset > offset:
                raise CorruptBatch("the index leads too far", path=self.offset_index.path, position=position)
            is_first = False
            if header.last_offset >= offset:
                return position, header
        return None

    def _boundary_at_most(self, start: int, limit: int) -> tuple[int, int]:
        begin = max(self.offset_index.position_at_most(limit), start)
        self._check_position(begin)
        next_offset = -1
        for position, header in walk_headers(self._disk, self.open(), begin, self.size):
            if next_offset < 0:
                next_offset = header.base_offset
            if position + header.size > limit:
                return position, next_offset
            next_offset = header.next_offset
        return self.size, next_offset

    def _resume(self) -> int:
        place = self.offset_index.last_place()
        last_offset, start = place or (self.base_offset - 1, 0)
        self._check_position(start)
        self._largest_timestamp, self._largest_timestamp_offset = self.time_index.last_time()
        self.bytes_since_index_entry = self.size - start
        self.index_entries = len(self.offset_index)
        self.first_timestamp = int(NO_TIMESTAMP)
        end_offset = self.base_offset
        for position, header in walk_headers(self._disk, self.open(), start, self.size):
            if place and position == start and header.last_offset != last_offset:
                raise CorruptBatch(
                    "the index names another batch", path=self.offset_index.path, position=start
                )
            if position + header.size > self.size:
                raise CorruptBatch("the segment ends inside a batch", path=self.log_path, position=position)
            if not position:
                self.first_timestamp = header.max_timestamp
            if header.records_timestamp > self._largest_timestamp:
                self._largest_timestamp = header.records_timestamp
                self._largest_timestamp_offset = header.last_offset
            end_offset = header.next_offset
        if start:
            self.first_timestamp = self._read_first_timestamp()
        # A crash can leave it ahead of the log.
        self.transaction_index.truncate_to(end_offset)
        return end_offset

    def _check_position(self, position: int) -> None:
        if position and not 0 < position < self.size:
            raise CorruptBatch(
                "the index points outside of the log", path=self.offset_index.path, position=position
            )

    def _trusted_place(self, end_offset: int) -> tuple[int, int] | None:
        """Give position and base offset of the batch that the last index entry names, if it is there."""
        place = self.offset_index.last_place()
        if place is None or not (self.offset_index.is_sound() and self.time_index.is_sound(end_offset)):
            return None
        last_offset, position = place
        try:
            _position, header = next(walk_headers(self._disk, self.open(), position, self.size))
        except (CorruptBatch, StopIteration):
            return None
        return (position, header.base_offset) if header.last_offset == last_offset else None

    def _read_first_timestamp(self) -> int:
        try:
            first = next(walk_headers(self._disk, self.open(), 0, self.size), None)
        except CorruptBatch:
            return int(NO_TIMESTAMP)
        return first[1].max_timestamp if first else int(NO_TIMESTAMP)
