"""The disk: the only place of this room that calls the operating system about files.

Everything else in `log` is handed a `Disk`, so that a test can hand it one that is full, slow or broken.
Methods raise `OSError` as the system does; the caller, who knows the partition and what was attempted,
turns it into a `StorageError` with `as_storage_error`.

`pwrite` and `pread` are the system calls themselves, without a Python frame: they are the hot path.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import shutil
import sys

from riverlog.errors import DiskFull, StorageError

READ = os.O_RDONLY | os.O_CLOEXEC
READ_WRITE = os.O_RDWR | os.O_CLOEXEC
CREATE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC

SYNCFS_TELLS_ERRORS_SINCE = (5, 8)
"""Linux before 5.8 answers success from syncfs whatever happened to the data."""

_READ_BYTES = 64 * 1024
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_SHORTAGES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))


class Disk:
    """The file system of this machine."""

    pwrite = staticmethod(os.pwrite)
    pread = staticmethod(os.pread)
    preadv = staticmethod(os.preadv)

    def open(self, path: str, flags: int) -> int:
        """Open a file and give its descriptor."""
        return os.open(path, flags, 0o644)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def ftruncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def fdatasync(self, descriptor: int) -> None:
        """Wait until the file's bytes, and the size needed to read them, are on the device."""
        if sys.platform == "darwin":
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(descriptor)

    def sync_directory(self, path: str) -> None:
        """Wait until the names in a directory are on the device."""
        descriptor = os.open(path, READ)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def syncfs(self, descriptor: int) -> None:
        """Wait until everything written to the descriptor's file system is on the device."""
        assert _syncfs is not None, "ask can_syncfs first"
        if _syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def can_syncfs(self) -> bool:
        """Say whether `syncfs` exists here and reports a failed write."""
        return _syncfs is not None

    def rename(self, old: str, new: str) -> None:
        """Rename a file or directory, replacing a file of the new name."""
        os.replace(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def listdir(self, path: str) -> list[str]:
        return os.listdir(path)

    def list_directories(self, path: str) -> list[str]:
        """Give the names of the directories in a directory."""
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir()]

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it; fine if it is there."""
        os.makedirs(path, exist_ok=True)

    def remove_directory(self, path: str) -> None:
        """Remove a directory and all that is in it; fine if it is gone."""
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            pass

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: str, time_ms: int) -> None:
        """Let a file look as if it was last written at that time."""
        os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))

    def device(self, path: str) -> int:
        """Give a number that is the same for two paths of one file system."""
        return os.stat(path).st_dev

    def free_bytes(self, path: str) -> int:
        """Give how much an ordinary process may still write where `path` is."""
        status = os.statvfs(path)
        return status.f_bavail * status.f_frsize

    def descriptor_limit(self) -> int:
        """Give how many files this process may have open."""
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]

    def read_file(self, path: str) -> bytes:
        """Read a small file whole."""
        descriptor = self.open(path, READ)
        try:
            chunks: list[bytes] = []
            while True:
                chunk = os.read(descriptor, _READ_BYTES)
                if len(chunk) < _READ_BYTES and not chunks:
                    # A regular file gives less than was asked for at its end only.
                    return chunk
                if not chunk:
                    return b"".join(chunks)
                chunks.append(chunk)
        finally:
            self.close(descriptor)

    def replace_file(self, path: str, content: bytes, *, durable: bool) -> None:
        """Write a small file so that its name shows either the old content or the new one, never a mix.

        With `durable` both content and name are on the device when this returns.
        """
        temporary = path + ".tmp"
        descriptor = self.open(temporary, CREATE | os.O_TRUNC)
        try:
            self.write_all(descriptor, content, 0)
            if durable:
                self.fdatasync(descriptor)
        finally:
            self.close(descriptor)
        self.rename(temporary, path)
        if durable:
            self.sync_directory(os.path.dirname(path))

    def write_all(self, descriptor: int, data: bytes | bytearray | memoryview, position: int) -> None:
        """Write all of `data`, however many calls that takes."""
        view = memoryview(data)
        while view:
            written = self.pwrite(descriptor, view, position)
            if written <= 0:
                raise OSError(errno.EIO, "the system wrote nothing and gave no reason")
            position += written
            view = view[written:]

    def lock(self, path: str) -> int | None:
        """Lock a file for this process until its descriptor is closed; None if another one has it.

        Two kinds of lock: `lockf` is the one a Java process takes and sees, `flock` also keeps a second
        log manager of this very process out.
        """
        descriptor = self.open(path, CREATE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close(descriptor)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return None
            raise
        return descriptor


def as_storage_error(error: OSError, attempted: str, path: str, position: int = -1) -> StorageError:
    """Say what was attempted when the system refused; `errno_of` finds its reason again."""
    family = DiskFull if error.errno in _FULL else StorageError
    reason = error.strerror or str(error)
    result = family(f"{attempted}: {reason}", path=path, position=position)
    # The error is kept for long. Its frames would keep buffers that somebody wants to resize.
    result.__cause__ = error.with_traceback(None)
    return result


def errno_of(error: BaseException) -> int:
    """Give the system's number for what went wrong, 0 if it was not the system."""
    cause = error.__cause__
    return (cause.errno or 0) if isinstance(cause, OSError) else 0


def is_shortage(error: OSError) -> bool:
    """Say whether the process ran out of descriptors or memory: no fault of the file or the disk."""
    return error.errno in _SHORTAGES


def _find_syncfs() -> ctypes._NamedFuncPointer | None:
    if sys.platform != "linux":
        return None
    release = os.uname().release.split(".")
    try:
        if (int(release[0]), int(release[1])) < SYNCFS_TELLS_ERRORS_SINCE:
            return None
        function = ctypes.CDLL(None, use_errno=True).syncfs
    except (ValueError, IndexError, AttributeError, OSError):
        return None
    function.argtypes = (ctypes.c_int,)
    function.restype = ctypes.c_int
    return function


_syncfs = _find_syncfs()
