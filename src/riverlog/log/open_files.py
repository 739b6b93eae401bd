"""Open segment files: opened when first needed, closed when too many are.

    Segment ──file──▶ LogFile(fd) ◀──file── FileSlice (a reply on its way out)
                         ▲
                      OpenFiles, at most `limit` of them

A `LogFile` closes its descriptor when nothing refers to it any more. So a slice that is still being
sent keeps its bytes reachable, whatever happens meanwhile: the cache dropped the file, the segment
was deleted and unlinked, the partition was closed.

The cache is a clock: a file used since the hand last passed gets a second round. That costs the hot
path one attribute write and keeps no order per access.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Protocol

from riverlog.log.disk import READ_WRITE, Disk

if TYPE_CHECKING:
    from collections.abc import Callable

OPEN_FILES_MAX = 4096
"""Descriptors kept open for segments; a manager takes less where the process may have few."""

READ_BYTES_MAX = 1 << 30
"""The largest piece asked of the system at once: Linux gives no more than 2 GiB per call."""


class LogFile:
    """An open file that closes itself once nobody has it."""

    __slots__ = ("_close", "fd", "path", "was_used")

    def __init__(self, fd: int, path: str, close: Callable[[int], None]) -> None:
        self.fd = fd
        self.path = path
        self.was_used = True
        self._close = close

    def __del__(self) -> None:
        self._close(self.fd)


class FileSlice:
    """A run of bytes in one segment file; the file stays open while the slice lives."""

    __slots__ = ("file", "length", "position")

    def __init__(self, file: LogFile, position: int, length: int) -> None:
        self.file = file
        self.position = position
        self.length = length

    def read(self) -> bytes:
        """Copy the bytes out. Sending them with `sendfile` is what slices are for."""
        data = Disk.pread(self.file.fd, min(self.length, READ_BYTES_MAX), self.position)
        if len(data) == self.length:
            return data
        parts = [data]
        missing = self.length - len(data)
        while missing and parts[-1]:
            parts.append(
                Disk.pread(self.file.fd, min(missing, READ_BYTES_MAX), self.position + self.length - missing)
            )
            missing -= len(parts[-1])
        return b"".join(parts)

    def after(self, done: int) -> FileSlice:
        """Give what is left once the first `done` bytes were sent."""
        return FileSlice(self.file, self.position + done, self.length - done)

    def __repr__(self) -> str:
        return f"FileSlice({self.file.path!r}, {self.position}, {self.length})"


class HasFile(Protocol):
    """What the cache keeps open: something with a path and a place for its file."""

    file: LogFile | None

    @property
    def log_path(self) -> str: ...


class OpenFiles:
    """The bounded set of open segment files of one process."""

    __slots__ = ("_disk", "_limit", "_lock", "_owners")

    def __init__(self, disk: Disk, limit: int = OPEN_FILES_MAX) -> None:
        assert limit > 0
        self._disk = disk
        self._limit = limit
        # Many partitions are recovered at once, in threads.
        self._lock = Lock()
        # In the order of the clock: the hand is at the first.
        self._owners: dict[HasFile, None] = {}

    def __len__(self) -> int:
        return len(self._owners)

    def open(self, owner: HasFile, flags: int = READ_WRITE) -> LogFile:
        """Give the owner its open file. Raises OSError."""
        file = owner.file
        if file is not None:
            file.was_used = True
            return file
        with self._lock:
            while len(self._owners) >= self._limit:
                self._advance_hand()
            file = LogFile(self._disk.open(owner.log_path, flags), owner.log_path, self._disk.close)
            owner.file = file
            self._owners[owner] = None
        return file

    def forget(self, owner: HasFile) -> None:
        """Let go of the owner's file; it closes once no slice needs it."""
        with self._lock:
            self._owners.pop(owner, None)
            owner.file = None

    def _advance_hand(self) -> None:
        owner = next(iter(self._owners))
        del self._owners[owner]
        file = owner.file
        if file is not None and file.was_used:
            file.was_used = False
            self._owners[owner] = None
        else:
            owner.file = None
