"""A file of fixed-size entries in rising order, its newest entries still in memory.

Every index of a segment is one of these. An index may be lost at any time and is then built again from
the segment, so nothing here is synced before it must be.

    ┌─────────── file ───────────┬──── tail ────┐
    │ entry 0 │ ... │ entry s-1  │ s │ ... │ n-1 │   add goes to the tail, save moves it to the file
    └────────────────────────────┴──────────────┘

- The tail holds the very bytes that the file will hold.
- It goes to the file once it has `TAIL_ENTRIES_MAX` entries, so the memory of an index is bounded.
- A file is opened for a look-up and closed again: an idle index costs neither descriptor nor memory.
- Entries of zeros behind the last real one are not entries: Kafka sizes an index file in advance and cuts
  it when the segment is sealed, which a crash can forestall.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from typing import TYPE_CHECKING

from riverlog.log.disk import CREATE, READ, Disk

if TYPE_CHECKING:
    from struct import Struct

logger = logging.getLogger("riverlog.log.entry_file")

TAIL_ENTRIES_MAX = 1024
"""Entries kept in memory at the most: 4 MB of log at an index interval of 4 KB."""

BLOCK_ENTRIES = 512
"""A look-up halves its range by single entries down to this many, then reads them at once."""

_NOT_COUNTED = -1


class EntryFile:
    """Sorted entries of `entry_bytes` bytes each."""

    __slots__ = (
        "_disk",
        "_entry_bytes",
        "_is_exact",
        "_is_made_when_needed",
        "_last_stored",
        "_stored",
        "_tail",
        "path",
    )

    def __init__(
        self,
        disk: Disk,
        path: str,
        entry_bytes: int,
        *,
        is_new: bool = False,
        is_made_when_needed: bool = False,
    ) -> None:
        self.path = path
        self._disk = disk
        self._entry_bytes = entry_bytes
        # Entries in the file; looked up when first needed.
        self._stored = 0 if is_new else _NOT_COUNTED
        # Whether no file stands for no entries.
        self._is_made_when_needed = is_made_when_needed
        # Whether the file ends behind its last entry; if not, saving cuts it there.
        self._is_exact = is_new and is_made_when_needed
        # The bytes of the last entry in the file, if they were read.
        self._last_stored: bytes | None = None
        self._tail = bytearray()

    def __len__(self) -> int:
        return self._stored_count() + len(self._tail) // self._entry_bytes

    @property
    def size_bytes(self) -> int:
        """Bytes of all entries. Raises OSError."""
        return len(self) * self._entry_bytes

    def exists(self) -> bool:
        """Say whether the file is there. Raises OSError."""
        try:
            self._disk.size(self.path)
        except FileNotFoundError:
            return False
        return True

    def add(self, entry: bytes) -> None:
        """Append an entry; its keys are not below those of the entry before it (the caller's promise)."""
        tail = self._tail
        tail += entry
        if not len(tail) % (TAIL_ENTRIES_MAX * self._entry_bytes):
            try:
                self.save()
            except OSError as error:
                # The log itself is written; its index stays in memory until the disk takes it again.
                logger.warning("cannot write %s: %s", self.path, error)

    def entry(self, number: int) -> bytes:
        """Give one entry's bytes. Raises OSError."""
        return self.entries(number, 1)

    def entries(self, first: int, count: int) -> bytes:
        """Give the bytes of `count` entries from `first` on. Raises OSError."""
        size = self._entry_bytes
        stored = self._stored_count()
        assert 0 <= first <= first + count <= len(self), "entries beyond the end"
        parts = b""
        if first < stored:
            descriptor = self._disk.open(self.path, READ)
            try:
                parts = self._read(descriptor, first, min(count, stored - first))
            finally:
                self._disk.close(descriptor)
        start = max(first - stored, 0) * size
        return parts + self._tail[start : max(first + count - stored, 0) * size]

    def last(self) -> bytes | None:
        """Give the newest entry's bytes, None if there are no entries. Raises OSError."""
        if self._tail:
            return bytes(self._tail[-self._entry_bytes :])
        stored = self._stored_count()
        if stored and self._last_stored is None:
            self._last_stored = self.entry(stored - 1)
        return self._last_stored

    def count_at_most(self, key: Struct, target: int) -> int:
        """Count the entries whose key is at most `target`. `key` reads one integer from an entry's start.

        keys 3 5 5 9 | target 2 -> 0 | target 5 -> 3 | target 100 -> 4        Raises OSError.
        """
        tail, size = self._tail, self._entry_bytes
        stored = self._stored_count()
        if tail and key.unpack_from(tail)[0] <= target:
            return stored + _count_in(tail, size, key, target)
        if not stored:
            return 0
        low, high = 0, stored
        descriptor = self._disk.open(self.path, READ)
        try:
            while high - low > BLOCK_ENTRIES:
                middle = (low + high) // 2
                if key.unpack_from(self._read(descriptor, middle, 1))[0] <= target:
                    low = middle
                else:
                    high = middle
            return low + _count_in(self._read(descriptor, low, high - low), size, key, target)
        finally:
            self._disk.close(descriptor)

    def save(self) -> None:
        """Bring the tail to the file, and cut what lies behind. Raises OSError."""
        stored = self._stored_count()
        if not self._tail and self._is_exact:
            return
        end = stored * self._entry_bytes
        descriptor = self._disk.open(self.path, CREATE)
        try:
            self._disk.ftruncate(descriptor, end)
            self._disk.write_all(descriptor, bytes(self._tail), end)
        finally:
            self._disk.close(descriptor)
        if self._tail:
            self._last_stored = bytes(self._tail[-self._entry_bytes :])
        self._stored = stored + len(self._tail) // self._entry_bytes
        self._is_exact = True
        self._tail = bytearray()

    def keep_first(self, count: int) -> None:
        """Forget all entries from number `count` on. The file is cut by the next `save`."""
        stored = self._stored_count()
        if count < stored:
            self._stored = count
            self._is_exact = False
            self._last_stored = None
            self._tail = bytearray()
        else:
            del self._tail[(count - stored) * self._entry_bytes :]

    def clear(self) -> None:
        """Forget all entries."""
        self.keep_first(0)

    def _stored_count(self) -> int:
        if self._stored == _NOT_COUNTED:
            self._stored, self._is_exact = self._count_stored()
        return self._stored

    def _count_stored(self) -> tuple[int, bool]:
        """Count the entries of the file, and say whether they fill it."""
        size = self._entry_bytes
        try:
            file_bytes = self._disk.size(self.path)
            if not file_bytes:
                return 0, True
            descriptor = self._disk.open(self.path, READ)
        except FileNotFoundError:
            return 0, self._is_made_when_needed
        try:
            low, high = 0, file_bytes // size
            zeros = bytes(size)
            last = self._read(descriptor, high - 1, 1) if high else zeros
            if last != zeros:
                self._last_stored = last
                return high, file_bytes == high * size
            while low < high:
                middle = (low + high) // 2
                if self._read(descriptor, middle, 1) != zeros:
                    low = middle + 1
                else:
                    high = middle
            return low, False
        finally:
            self._disk.close(descriptor)

    def _read(self, descriptor: int, first: int, count: int) -> bytes:
        size = self._entry_bytes
        data = self._disk.pread(descriptor, count * size, first * size)
        if len(data) != count * size:
            raise OSError(0, f"the file has become shorter than its {first + count} entries")
        return data


def _count_in(data: bytes | bytearray, size: int, key: Struct, target: int) -> int:
    unpack = key.unpack_from
    count: int = bisect_right(
        range(len(data) // size), target, key=lambda number: unpack(data, number * size)[0]
    )
    return count
