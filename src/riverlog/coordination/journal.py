"""An append-only file of checksummed entries that survives a crash at any byte.

    file   := magic 8 bytes "rvrjrnl1" | entry*
    entry  := length int32 | crc32c uint32 (of the payload) | payload        big endian, length > 0

An entry is synced before `append` returns, and the next one is written after that: so at most the last
entry can be torn by a crash. On opening, bytes after the last whole entry are cut off if nothing valid
follows them (a torn tail), and refused otherwise: that is damage inside what was acknowledged, and
cutting there would lose it silently.

    [entry][entry][ent          -> cut:      [entry][entry]
    [entry][e??ry][entry]       -> refused:  CorruptJournal names the byte
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable

from crc32c import crc32c

from riverlog.errors import DiskFull, StorageError

MAGIC = b"rvrjrnl1"
ENTRY_BYTES_MAX = 4 << 20

_PREFIX = struct.Struct(">iI")


class CorruptJournal(StorageError):
    """Acknowledged entries that are not what was written."""


class Disk:
    """The calls that can fail while writing, as one object, so that a test can let them fail."""

    def write(self, descriptor: int, data: bytes) -> int:
        """Write at the file's position; may write less than all."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Return once the file's bytes are on the disk."""
        os.fsync(descriptor)


class Journal:
    """One open journal file. `entries` holds what it contained when it was opened, oldest first."""

    def __init__(self, path: str, disk: Disk | None = None) -> None:
        self.path = path
        self._disk = disk or Disk()
        self._failure: StorageError | None = None
        _remove_if_exists(_replacement_path(path))
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self.entries, self.size = self._recover()
        except BaseException:
            os.close(self._descriptor)
            raise

    def append(self, payload: bytes) -> None:
        """Add an entry; it is durable when this returns.

        Raises `DiskFull` or `StorageError`. The entry is then not in the journal, unless even taking it
        back failed: from then on every append is refused, since what the disk holds is unknown.
        """
        if self._failure is not None:
            raise self._failure
        assert 0 < len(payload) <= ENTRY_BYTES_MAX, len(payload)
        entry = _PREFIX.pack(len(payload), crc32c(payload)) + payload
        try:
            self._write(self._descriptor, entry)
            self._disk.sync(self._descriptor)
        except OSError as error:
            self._take_back()
            raise self._storage_error("journal cannot be written", error) from error
        self.size += len(entry)

    def replace(self, payloads: Iterable[bytes]) -> None:
        """Put these entries in place of all: a crash leaves either the old file or the new one."""
        if self._failure is not None:
            raise self._failure
        path = _replacement_path(self.path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            size = self._write(descriptor, MAGIC)
            for payload in payloads:
                assert 0 < len(payload) <= ENTRY_BYTES_MAX, len(payload)
                size += self._write(descriptor, _PREFIX.pack(len(payload), crc32c(payload)) + payload)
            self._disk.sync(descriptor)
            os.rename(path, self.path)
        except OSError as error:
            os.close(descriptor)
            _remove_if_exists(path)
            raise self._storage_error("journal cannot be rewritten", error) from error
        os.close(self._descriptor)
        self._descriptor, self.size = descriptor, size
        self._sync_directory()

    def close(self) -> None:
        """Close the file. Closing twice is allowed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _recover(self) -> tuple[list[bytes], int]:
        content = _read_all(self._descriptor)
        if len(content) < len(MAGIC) and MAGIC.startswith(content):
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            self._write(self._descriptor, MAGIC)
            self._disk.sync(self._descriptor)
            self._sync_directory()
            return [], len(MAGIC)
        if not content.startswith(MAGIC):
            raise CorruptJournal("not a riverlog journal", path=self.path, position=0)
        entries, end = read_entries(content)
        if end < len(content):
            if holds_entry(content, end + 1):
                raise CorruptJournal("damaged entry before intact ones", path=self.path, position=end)
            os.ftruncate(self._descriptor, end)
            self._disk.sync(self._descriptor)
        os.lseek(self._descriptor, end, os.SEEK_SET)
        return entries, end

    def _write(self, descriptor: int, data: bytes) -> int:
        remaining = data
        while remaining:
            remaining = remaining[self._disk.write(descriptor, remaining) :]
        return len(data)

    def _take_back(self) -> None:
        """Cut off an entry whose writing failed, so that it can neither surface later nor hide others."""
        try:
            os.ftruncate(self._descriptor, self.size)
            os.lseek(self._descriptor, self.size, os.SEEK_SET)
            self._disk.sync(self._descriptor)
        except OSError as error:
            self._failure = self._storage_error("journal is in an unknown state, restart is needed", error)

    def _sync_directory(self) -> None:
        """Make the file's name durable, which is not part of syncing the file."""
        descriptor = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _storage_error(self, message: str, error: OSError) -> StorageError:
        family = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else StorageError
        return family(f"{message}: {error.strerror or error}", path=self.path, position=self.size)


def read_entries(content: bytes) -> tuple[list[bytes], int]:
    """Read whole entries from behind the magic; returns them and where the last one ends."""
    entries = []
    position = len(MAGIC)
    while (payload := _entry_at(content, position)) is not None:
        entries.append(payload)
        position += _PREFIX.size + len(payload)
    return entries, position


def holds_entry(content: bytes, start: int) -> bool:
    """Say whether a whole entry begins anywhere from `start` on: then what is before it is no torn tail."""
    return any(_entry_at(content, position) is not None for position in range(start, len(content)))


def _entry_at(content: bytes, position: int) -> bytes | None:
    start = position + _PREFIX.size
    if start > len(content):
        return None
    length, crc = _PREFIX.unpack_from(content, position)
    if not 0 < length <= min(ENTRY_BYTES_MAX, len(content) - start):
        return None
    payload = content[start : start + length]
    return payload if crc32c(payload) == crc else None


def _read_all(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _replacement_path(path: str) -> str:
    return path + ".new"


def _remove_if_exists(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)
