"""The segment that cleaning writes: named `.cleaned` until it is complete and on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.errors import StorageError
from riverlog.log import names
from riverlog.log.disk import READ
from riverlog.log.segment import Segment

if TYPE_CHECKING:
    from riverlog.log.disk import Disk
    from riverlog.log.open_files import OpenFiles
    from riverlog.log.transaction_index import AbortedTransaction

SEGMENT_BYTES_MAX = 2**31 - 1
"""Positions in a segment take 31 bits in its index."""


class CleanedSegment:
    """Takes batches in the order of their offsets. Methods raise OSError."""

    __slots__ = ("_disk", "_index_interval_bytes", "_pending", "_segment", "_write_bytes", "_written")

    def __init__(
        self,
        disk: Disk,
        open_files: OpenFiles,
        directory: str,
        base_offset: int,
        *,
        index_interval_bytes: int,
        write_bytes: int,
        now_ms: int,
    ) -> None:
        self._disk = disk
        self._segment = Segment.create(disk, open_files, directory, base_offset, now_ms, suffix=names.CLEANED)
        self._index_interval_bytes = index_interval_bytes
        # How much is collected before it is written.
        self._write_bytes = write_bytes
        self._pending = bytearray()
        self._written = 0

    @property
    def size(self) -> int:
        return self._segment.size

    def add(self, batch: bytes | bytearray | memoryview, last_offset: int, max_timestamp: int) -> int:
        """Append a batch; give how many bytes went to the file for it."""
        if self.size + len(batch) > SEGMENT_BYTES_MAX:
            raise StorageError("cleaning made a segment too large", path=self._segment.log_path)
        self._pending += batch
        self._segment.note_batch(len(batch), last_offset, max_timestamp, self._index_interval_bytes)
        return self._flush() if len(self._pending) >= self._write_bytes else 0

    def add_aborted(self, aborted: AbortedTransaction) -> None:
        """Note an aborted transaction whose marker was appended."""
        self._segment.transaction_index.append(aborted)

    def finish(self, modified_ms: int) -> int:
        """Bring all of it to the disk; give how many bytes went to the file for it.

        The file takes over a time of modification: where records have no timestamps, retention goes by it.
        """
        written = self._flush()
        segment = self._segment
        segment.seal()
        for path in (segment.log_path, *segment.index_paths()):
            descriptor = self._disk.open(path, READ)
            try:
                self._disk.fdatasync(descriptor)
            finally:
                self._disk.close(descriptor)
        segment.close()
        self._disk.set_modified_ms(segment.log_path, modified_ms)
        return written

    def discard(self) -> None:
        """Remove its files."""
        segment = self._segment
        segment.close()
        for suffix in names.SEGMENT_SUFFIXES:
            try:
                self._disk.unlink(segment.path + suffix + names.CLEANED)
            except OSError:
                # What is left is removed by the next cleaning of this partition, or the next start.
                pass

    def _flush(self) -> int:
        count = len(self._pending)
        if count:
            self._disk.write_all(self._segment.open().fd, self._pending, self._written)
            self._written += count
            self._pending = bytearray()
        return count
