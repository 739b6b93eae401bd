"""One entry of `log.dirs`: its lock, its marker of a clean stop, its checkpoints, and whether it still works.

The marker `.kafka_cleanshutdown` says that everything below was saved completely: the next start may
believe the checkpoints and skip recovery. It is removed before anything is written, so a crash
at any later moment leaves none.
"""

from __future__ import annotations

import json
import logging
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from riverlog.errors import StorageError
from riverlog.log import names
from riverlog.log.checkpoints import Offsets, read_offsets, write_offsets
from riverlog.log.disk import READ, as_storage_error
from riverlog.log.identity import MetaProperties, decode_meta_properties, encode_meta_properties

if TYPE_CHECKING:
    from collections.abc import Iterable

    from riverlog.log.disk import Disk
    from riverlog.log.partition_log import PartitionLog

logger = logging.getLogger("riverlog.log.log_directory")

_MARKER_VERSION = 0
_CLOSED = -1


class DirectoryLocked(StorageError):
    """Another process, riverlog or Kafka, uses the log directory."""


class Checkpoints(NamedTuple):
    """What the checkpoint files of a directory say of its partitions."""

    recovery_points: Offsets
    log_start_offsets: Offsets
    """Only where the log starts inside its first segment: elsewhere the segment's name says it."""
    high_watermarks: Offsets
    cleaned_offsets: Offsets
    """Only where compaction has been."""

    @classmethod
    def none(cls) -> Checkpoints:
        """Give checkpoints without any partition."""
        return cls({}, {}, {}, {})

    @classmethod
    def of(cls, logs: Iterable[PartitionLog]) -> Checkpoints:
        """Take them from partitions as they are now."""
        checkpoints = cls.none()
        for log in logs:
            checkpoints.note(log)
        return checkpoints

    def note(self, log: PartitionLog) -> None:
        """Take in one partition."""
        partition = log.topic_partition
        self.recovery_points[partition] = log.recovery_point
        self.high_watermarks[partition] = log.high_watermark
        if log.log_start_offset > log.first_base_offset:
            self.log_start_offsets[partition] = log.log_start_offset
        if log.cleaned_offset > 0:
            self.cleaned_offsets[partition] = log.cleaned_offset


class LogDirectory:
    """A directory of partitions on one file system."""

    __slots__ = (
        "_disk",
        "_lock_fd",
        "_write_lock",
        "_written",
        "cleaned_offsets",
        "device",
        "failure",
        "fd",
        "high_watermarks",
        "identity",
        "log_start_offsets",
        "path",
        "recovery_points",
        "was_clean",
    )

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self.path = path
        # Why nothing in it can be used any more.
        self.failure: StorageError | None = None
        # Whether the last process to use it stopped in an orderly way.
        self.was_clean = False
        self.identity: MetaProperties | None = None
        self.device = -1
        # Kept open for syncfs, which reports to a descriptor what failed since it was opened.
        self.fd = _CLOSED
        self._lock_fd: int | None = None
        self._write_lock = Lock()
        self._written: Checkpoints | None = None
        # As the last process left them.
        self.recovery_points: Offsets = {}
        self.log_start_offsets: Offsets = {}
        self.high_watermarks: Offsets = {}
        self.cleaned_offsets: Offsets = {}

    def __repr__(self) -> str:
        return f"LogDirectory({self.path!r})"

    def open(self) -> None:
        """Make the directory if it is missing, lock it, and read what its last user left.

        Raises DirectoryLocked, StorageError.
        """
        disk = self._disk
        try:
            disk.make_directory(self.path)
            lock_path = self._in(names.LOCK)
            self._lock_fd = disk.lock(lock_path)
            if self._lock_fd is None:
                raise DirectoryLocked("another process uses this log directory", path=lock_path)
            self.fd = disk.open(self.path, READ)
            self.device = disk.device(self.path)
            self.was_clean = self._take_marker()
            self.identity = self._read_identity()
        except OSError as error:
            self.close()
            raise as_storage_error(error, "cannot use this log directory", self.path) from error
        except StorageError:
            self.close()
            raise
        self.recovery_points = read_offsets(disk, self._in(names.RECOVERY_POINTS))
        self.log_start_offsets = read_offsets(disk, self._in(names.LOG_START_OFFSETS))
        self.high_watermarks = read_offsets(disk, self._in(names.HIGH_WATERMARKS))
        self.cleaned_offsets = read_offsets(disk, self._in(names.CLEANED_OFFSETS))

    @property
    def is_open(self) -> bool:
        """Whether this process has it locked."""
        return self._lock_fd is not None

    def close(self) -> None:
        """Unlock the directory."""
        if self.fd != _CLOSED:
            self._disk.close(self.fd)
            self.fd = _CLOSED
        if self._lock_fd is not None:
            self._disk.close(self._lock_fd)
            self._lock_fd = None

    def write_checkpoints(self, checkpoints: Checkpoints) -> None:
        """Replace the checkpoint files that have changed; in any thread. Raises StorageError."""
        with self._write_lock:
            written = self._written
            cleaned = written.cleaned_offsets if written is not None else self.cleaned_offsets
            if cleaned != checkpoints.cleaned_offsets:
                write_offsets(self._disk, self._in(names.CLEANED_OFFSETS), checkpoints.cleaned_offsets)
            if written is None or written.recovery_points != checkpoints.recovery_points:
                write_offsets(self._disk, self._in(names.RECOVERY_POINTS), checkpoints.recovery_points)
            if written is None or written.log_start_offsets != checkpoints.log_start_offsets:
                write_offsets(self._disk, self._in(names.LOG_START_OFFSETS), checkpoints.log_start_offsets)
            if written is None or written.high_watermarks != checkpoints.high_watermarks:
                write_offsets(self._disk, self._in(names.HIGH_WATERMARKS), checkpoints.high_watermarks)
            self._written = checkpoints

    def write_marker(self, broker_epoch: int = -1) -> None:
        """Say that all partitions were saved completely. Raises StorageError."""
        content = json.dumps({"version": _MARKER_VERSION, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        self._replace(names.CLEAN_SHUTDOWN, content.encode())

    def write_identity(self, identity: MetaProperties) -> None:
        """Say whose directory this is. Raises StorageError."""
        self._replace(names.META_PROPERTIES, encode_meta_properties(identity))
        self.identity = identity

    def _take_marker(self) -> bool:
        """Say whether the marker is there, and remove it."""
        try:
            self._disk.unlink(self._in(names.CLEAN_SHUTDOWN))
        except FileNotFoundError:
            return False
        self._disk.sync_directory(self.path)
        return True

    def _read_identity(self) -> MetaProperties | None:
        path = self._in(names.META_PROPERTIES)
        try:
            return decode_meta_properties(self._disk.read_file(path), path)
        except FileNotFoundError:
            return None

    def _replace(self, name: str, content: bytes) -> None:
        path = self._in(name)
        try:
            self._disk.replace_file(path, content, durable=True)
        except OSError as error:
            raise as_storage_error(error, f"cannot write {name}", path) from error

    def _in(self, name: str) -> str:
        return f"{self.path}/{name}"
