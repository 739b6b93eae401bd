"""What must be done for all partitions from time to time, in steps that are short even with ten thousand.

    every second    remove what was deleted long enough ago, honour flush.ms, look whether a full disk has
                    room again
    retention       roll old segments, delete those that outlived the topic's limits
    producers       forget those that were silent for too long
    checkpoints     save the indexes and have them synced; a round later write how far each partition has come

A partition that fails is offline and is said to be; the others go on.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from riverlog.errors import DiskFull, StorageError
from riverlog.log.log_directory import Checkpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from riverlog.config import LogSettings
    from riverlog.log.disk import Disk
    from riverlog.log.log_directory import LogDirectory
    from riverlog.log.manager import LogManager
    from riverlog.log.partition_log import PartitionLog
    from riverlog.log.trash import Trash

logger = logging.getLogger("riverlog.log.housekeeping")

RESUME_FREE_BYTES = 64 * 1024 * 1024
"""A disk that was full takes appends again once this much is free."""

UNINDEXED_BYTES_MAX = 64 * 1024 * 1024
"""How much may be appended to a synced partition before its recovery point follows, whatever the interval.

It bounds what the start after a crash must check, and is why that does not depend on how fast it was written.
"""

PARTITIONS_PER_STEP = 64
"""How many partitions a step looks at where a look costs next to nothing."""


class Timer:
    """Says when it is time again."""

    __slots__ = ("_due_ms", "_interval_ms")

    def __init__(self, interval_ms: int) -> None:
        self._interval_ms = interval_ms
        self._due_ms: int | None = None

    def is_due(self, now_ms: int) -> bool:
        """Say whether the interval is over, and begin the next one if so. The first call begins the first."""
        if self._due_ms is None:
            self._due_ms = now_ms + self._interval_ms
        if now_ms < self._due_ms:
            return False
        self._due_ms = now_ms + self._interval_ms
        return True


class Housekeeping:
    """The periodic work of one manager."""

    def __init__(
        self,
        manager: LogManager,
        settings: LogSettings,
        disk: Disk,
        trash: Trash,
        run_in_thread: Callable[[Callable[[], None]], object],
    ) -> None:
        self._manager = manager
        self._settings = settings
        self._disk = disk
        self._trash = trash
        self._run_in_thread = run_in_thread
        self._retention = Timer(settings.log_retention_check_interval_ms)
        self._producers = Timer(settings.producer_id_expiration_check_interval_ms)
        self._checkpoints = Timer(
            min(
                settings.log_flush_offset_checkpoint_interval_ms,
                settings.log_flush_start_offset_checkpoint_interval_ms,
            )
        )
        self._are_checkpoints_due = False

    def follow(self, settings: LogSettings) -> None:
        """Obey changed settings from now on; how often work is due is fixed at the start."""
        self._settings = settings

    def run(self, now_ms: int) -> Iterator[None]:
        """Do what is due."""
        if self._are_checkpoints_due:
            # In the last round indexes were saved and a sync was asked for: the recovery points have moved.
            self._are_checkpoints_due = False
            yield from self.write_checkpoints()
        self._remove_deleted(now_ms)
        self._look_for_room()
        for number, log in enumerate(self._manager):
            log.sync_if_due(now_ms)
            if log.unindexed_bytes > UNINDEXED_BYTES_MAX and log.settings.durability == "fsync":
                self._try(self._save_indexes, log)
            if not number % PARTITIONS_PER_STEP:
                yield
        if self._retention.is_due(now_ms):
            yield from self._each(lambda log: _age(log, now_ms))
        if self._producers.is_due(now_ms):
            after_ms = self._settings.producer_id_expiration_ms
            yield from self._each(lambda log: log.expire_producers(now_ms, after_ms))
        if self._checkpoints.is_due(now_ms):
            # High watermarks and log starts move without any of the above.
            self._are_checkpoints_due = True
            yield from self._each(self._save_indexes)

    def write_checkpoints(self) -> Iterator[None]:
        """Write how far each partition has come, in a thread."""
        checkpoints: dict[LogDirectory, Checkpoints] = {}
        for number, log in enumerate(self._manager):
            if log.directory.failure is None:
                checkpoints.setdefault(log.directory, Checkpoints.none()).note(log)
            if not number % PARTITIONS_PER_STEP:
                yield
        for directory, content in checkpoints.items():
            self._run_in_thread(_writing(directory, content))

    def _remove_deleted(self, now_ms: int) -> None:
        due = self._trash.take_due(now_ms)
        if due:
            self._run_in_thread(lambda: self._trash.remove(due))

    def _look_for_room(self) -> None:
        """Let partitions go on whose disk was full and is not any more."""
        room: dict[LogDirectory, bool] = {}
        for log in self._manager:
            if isinstance(log.is_offline, DiskFull) and log.directory.failure is None:
                if log.directory not in room:
                    room[log.directory] = self._has_room(log.directory)
                if room[log.directory]:
                    log.resume()

    def _has_room(self, directory: LogDirectory) -> bool:
        try:
            return self._disk.free_bytes(directory.path) >= RESUME_FREE_BYTES
        except OSError:
            return False

    def _save_indexes(self, log: PartitionLog) -> None:
        if log.recovery_point < log.log_end_offset:
            log.save_indexes()
            self._manager.request_sync(log)
            self._are_checkpoints_due = True

    def _each(self, work: Callable[[PartitionLog], object]) -> Iterator[None]:
        """Do something with every partition that takes appends, one by one."""
        logs: Iterable[PartitionLog] = self._manager
        for log in logs:
            if log.is_offline is None:
                self._try(work, log)
                yield

    def _try(self, work: Callable[[PartitionLog], object], log: PartitionLog) -> None:
        try:
            work(log)
        except StorageError as error:
            logger.error("housekeeping of %s: %s", log.topic_partition, error)


def _age(log: PartitionLog, now_ms: int) -> None:
    log.roll_if_due(now_ms)
    log.apply_retention(now_ms)


def _writing(directory: LogDirectory, content: Checkpoints) -> Callable[[], None]:
    def write() -> None:
        try:
            directory.write_checkpoints(content)
        except StorageError as error:
            # The old ones stay: a recovery would take longer, nothing is lost.
            logger.error("%s", error)

    return write
