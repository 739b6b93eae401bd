"""All partitions of one broker, over all its log directories.

    load ─▶ create / get / delete ... housekeeping, now and then ... ─▶ close

- A new partition goes into the directory where the least is stored.
- A directory whose disk fails goes offline with all its partitions; the others go on. A partition whose
  disk is merely full refuses appends until there is room again.
- Housekeeping is a generator of short steps: the caller decides how much time a slice of it may take.
- After a clean stop a partition is opened from its checkpoints and last index entries alone. After a
  crash `num.recovery.threads.per.data.dir` threads per directory read and check what the last
  recovery point does not cover.
"""

from __future__ import annotations

import errno
import gc
import logging
import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from riverlog.errors import CorruptBatch, RemoteProtocolError, StorageError
from riverlog.log import names
from riverlog.log.context import LogContext
from riverlog.log.disk import Disk, as_storage_error, errno_of
from riverlog.log.durability import SYNCFS_FILES_MIN
from riverlog.log.housekeeping import Housekeeping
from riverlog.log.identity import MetaProperties
from riverlog.log.loading import create_partition, load_partition
from riverlog.log.log_directory import Checkpoints, DirectoryLocked, LogDirectory
from riverlog.log.open_files import OPEN_FILES_MAX, OpenFiles
from riverlog.log.placement import Placement
from riverlog.log.trash import Trash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from riverlog.config import LogSettings, TopicSettings
    from riverlog.log.partition_log import PartitionLog
    from riverlog.types import TopicPartition

logger = logging.getLogger("riverlog.log.manager")

DEVICE_FAILURES = frozenset((errno.EIO, errno.EROFS, errno.ENXIO, errno.ENODEV, errno.ESTALE))
"""What concerns the device under a directory, not one file on it."""


class LoadProgress(NamedTuple):
    """How far the start has come in one log directory."""

    path: str
    is_clean: bool
    loaded: int
    total: int
    partition: TopicPartition | None
    """The one just opened."""
    recovered_bytes: int
    """How much of it had to be read and checked."""


class LogManager:
    """Every partition of one broker. Runs on one event loop, but for `load` and `close`, which block."""

    def __init__(
        self,
        settings: LogSettings,
        settings_for: Callable[[str], TopicSettings],
        *,
        disk: Disk | None = None,
        run_in_thread: Callable[[Callable[[], None]], object] = lambda function: function(),
        request_sync: Callable[[PartitionLog], None] = lambda _log: None,
        on_failure: Callable[[PartitionLog, StorageError], None] = lambda _log, _error: None,
        before_deletion: Callable[[PartitionLog, int], None] = lambda _log, _offset: None,
        new_id: Callable[[], bytes] = lambda: os.urandom(16),
        open_files_max: int = OPEN_FILES_MAX,
    ) -> None:
        self._settings = settings
        self._settings_for = settings_for
        self._disk = disk = disk or Disk()
        self._on_failure = on_failure
        self.request_sync = request_sync
        self._new_id = new_id
        # Half of what the process may open is left to connections.
        open_files = OpenFiles(disk, max(min(open_files_max, disk.descriptor_limit() // 2), 1))
        self._trash = Trash(disk)
        self._context = LogContext(
            disk, open_files, self._trash, request_sync, self._take_failure, before_deletion
        )
        self._logs: dict[TopicPartition, PartitionLog] = {}
        # Partitions whose directory is there and cannot be opened.
        self.failed: dict[TopicPartition, StorageError] = {}
        self.directories = [LogDirectory(disk, os.path.abspath(path)) for path in settings.log_dirs]
        self._placement = Placement(self.directories)
        self._housekeeping = Housekeeping(self, settings, disk, self._trash, run_in_thread)

    def __len__(self) -> int:
        return len(self._logs)

    def __iter__(self) -> Iterator[PartitionLog]:
        return iter(list(self._logs.values()))

    def get(self, partition: TopicPartition) -> PartitionLog | None:
        """Give an open partition."""
        return self._logs.get(partition)

    def follow(self, settings: LogSettings) -> None:
        """Obey changed settings from now on."""
        self._settings = settings
        self._housekeeping.follow(settings)

    @property
    def open_file_count(self) -> int:
        """Segment files open now."""
        return len(self._context.open_files)

    # Start

    def load(self, now_ms: int, progress: Callable[[LoadProgress], None] | None = None) -> None:
        """Lock the directories and open all that is in them, after recovering it where that is needed.

        Blocking. `progress` is called from any thread, one call at a time. A directory that cannot be
        used is offline; raises DirectoryLocked if another process uses one, StorageError if none is left
        or a partition lies in two of them.
        """
        for directory in self.directories:
            try:
                directory.open()
            except DirectoryLocked:
                self._close_directories()
                raise
            except StorageError as error:
                self._fail_directory(directory, error)
        found: dict[TopicPartition, LogDirectory] = {}
        try:
            for directory in self.online_directories():
                self._find_partitions(directory, found, now_ms)
            self._check_somewhere_to_store()
        except StorageError:
            self._close_directories()
            raise
        # Nothing of what is made now goes away again: looking for garbage would cost a quarter of the time.
        collects_garbage = gc.isenabled()
        gc.disable()
        try:
            self._load_all(found, now_ms, _Reporter(found.values(), progress))
        finally:
            if collects_garbage:
                gc.enable()

    def _load_all(self, found: dict[TopicPartition, LogDirectory], now_ms: int, report: _Reporter) -> None:
        threads = [
            threading.Thread(target=self._load_directory, args=(directory, found, now_ms, report))
            for directory in self.online_directories()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def online_directories(self) -> list[LogDirectory]:
        """Give the log directories that work."""
        return [directory for directory in self.directories if directory.failure is None]

    def write_identity(self, cluster_id: str, node_id: int) -> None:
        """Mark every log directory as this node's. Raises StorageError if one is another's."""
        for directory in self.online_directories():
            identity = directory.identity
            if identity is None:
                directory.write_identity(MetaProperties(cluster_id, node_id, self._new_id()))
            elif (identity.cluster_id, identity.node_id) != (cluster_id, node_id):
                raise StorageError(
                    f"the log directory belongs to node {identity.node_id} of cluster {identity.cluster_id},"
                    f" not to node {node_id} of cluster {cluster_id}",
                    path=directory.path,
                )

    def _find_partitions(
        self, directory: LogDirectory, found: dict[TopicPartition, LogDirectory], now_ms: int
    ) -> None:
        """Note the partitions of one directory and throw away what was deleted. Raises StorageError."""
        try:
            entries = self._disk.list_directories(directory.path)
        except OSError as error:
            self._fail_directory(directory, as_storage_error(error, "cannot list it", directory.path))
            return
        for name in entries:
            path = f"{directory.path}/{name}"
            partition = names.partition_in(name)
            if names.is_deleted_directory(name):
                self._trash.add_directory(path, now_ms)
            elif partition is None:
                continue
            elif partition in found:
                raise StorageError(
                    f"{partition} lies in {found[partition].path} as well: one of them must go", path=path
                )
            else:
                found[partition] = directory

    def _load_directory(
        self,
        directory: LogDirectory,
        found: dict[TopicPartition, LogDirectory],
        now_ms: int,
        report: _Reporter,
    ) -> None:
        partitions = [partition for partition, where in found.items() if where is directory]

        def load(partition: TopicPartition) -> None:
            recovered_bytes = 0
            try:
                loaded = load_partition(
                    self._context, directory, partition, self._settings_for(partition.topic), now_ms
                )
            except (StorageError, RemoteProtocolError) as error:
                logger.error("%s cannot be used: %s", partition, error)
                self.failed[partition] = (
                    error
                    if isinstance(error, StorageError)
                    else CorruptBatch(str(error), path=f"{directory.path}/{partition}")
                )
            else:
                self._logs[partition] = loaded.log
                recovered_bytes = loaded.recovered.scanned_bytes if loaded.recovered else 0
            report.opened(directory, partition, recovered_bytes)

        if directory.was_clean:
            # A few small reads each, all in the interpreter: threads would only get in each other's way.
            for partition in partitions:
                load(partition)
            return
        count = max(self._settings.num_recovery_threads_per_data_dir, 1)
        with ThreadPoolExecutor(count, thread_name_prefix="riverlog-recovery") as pool:
            for future in [pool.submit(load, partition) for partition in partitions]:
                future.result()

    def _check_somewhere_to_store(self) -> None:
        if not self.online_directories():
            first = self.directories[0].failure
            assert first is not None
            raise first

    # Partitions come and go

    def create(
        self, partition: TopicPartition, topic_id: bytes, now_ms: int, *, is_new: bool = True
    ) -> PartitionLog:
        """Make a partition where the least is stored. Raises StorageError.

        With `is_new` false the partition was there before: then it is not made again while it may
        lie in a directory that is offline.
        """
        if partition in self._logs:
            raise StorageError(f"{partition} exists", path=self._logs[partition].path)
        if partition in self.failed:
            raise self.failed[partition]
        offline = [directory for directory in self.directories if directory.failure is not None]
        if offline and not is_new:
            raise StorageError(f"{partition} may lie in a directory that is offline", path=offline[0].path)
        self._check_somewhere_to_store()
        directory = self._placement.choose(self._logs.values(), now_ms)
        if self._disk.is_directory(f"{directory.path}/{partition}"):
            raise StorageError(
                f"{partition} is there and was not opened", path=f"{directory.path}/{partition}"
            )
        log = create_partition(
            self._context, directory, partition, topic_id, self._settings_for(partition.topic), now_ms
        )
        self._logs[partition] = log
        self._placement.note_created(directory)
        return log

    def delete(self, partition: TopicPartition, now_ms: int) -> None:
        """Delete one partition. Raises StorageError."""
        self.delete_all([partition], now_ms)

    def delete_all(self, partitions: list[TopicPartition], now_ms: int) -> None:
        """Delete partitions: renamed for good when this returns, removed later. Unknown ones are passed over.

        Raises StorageError.
        """
        changed: list[LogDirectory] = []
        for partition in partitions:
            log = self._logs.get(partition)
            if log is None:
                continue
            name = names.deleted_directory(partition, self._new_id().hex())
            path = f"{log.directory.path}/{name}"
            try:
                self._disk.rename(log.path, path)
            except OSError as error:
                failure = as_storage_error(error, f"cannot delete {partition}", log.path)
                log.fail(failure)
                raise failure from error
            log.close()
            del self._logs[partition]
            self._placement.note_deleted(log.directory)
            self._trash.add_directory(path, now_ms + log.settings.file_delete_delay_ms)
            if log.directory not in changed:
                changed.append(log.directory)
        for directory in changed:
            try:
                self._disk.sync_directory(directory.path)
            except OSError as error:
                failure = as_storage_error(error, "cannot sync a log directory", directory.path)
                self._fail_directory(directory, failure)
                raise failure from error

    # Housekeeping

    def housekeeping(self, now_ms: int) -> Iterator[None]:
        """Do what is due, in steps of which none takes long. Call it every second or so."""
        return self._housekeeping.run(now_ms)

    def checkpoint_steps(self) -> Iterator[None]:
        """Write the checkpoint files of all directories, in a thread, after steps that are short."""
        return self._housekeeping.write_checkpoints()

    def checkpoint(self) -> None:
        """Write the checkpoint files of all directories, in a thread."""
        for _step in self.checkpoint_steps():
            pass

    def _take_failure(self, log: PartitionLog, error: StorageError) -> None:
        """A partition went offline: tell it, and let its directory follow if the device is to blame."""
        self._on_failure(log, error)
        if errno_of(error) in DEVICE_FAILURES:
            self._fail_directory(log.directory, error)

    def _fail_directory(self, directory: LogDirectory, error: StorageError) -> None:
        if directory.failure is not None:
            return
        directory.failure = error
        logger.error("the log directory %s is offline: %s", directory.path, error)
        for log in self:
            if log.directory is directory:
                log.fail(StorageError(f"its log directory is offline: {error}", path=directory.path))

    # Stop

    def close(self, now_ms: int, is_late: Callable[[], bool] = lambda: False) -> None:
        """Save all partitions, mark the directories as cleanly closed, unlock them. Blocking.

        Once `is_late()`, what is left is not saved and its directory gets no mark: the next start
        recovers it.
        """
        self._trash.remove(self._trash.take_due(now_ms))
        for directory in self.online_directories():
            logs = [log for log in self._logs.values() if log.directory is directory]
            if directory.is_open and self._save(directory, logs, is_late):
                try:
                    directory.write_checkpoints(Checkpoints.of(logs))
                    directory.write_marker()
                except StorageError as error:
                    logger.error("%s was not closed cleanly: %s", directory.path, error)
        for log in self._logs.values():
            log.close()
        self._logs.clear()
        self._close_directories()

    def _save(self, directory: LogDirectory, logs: list[PartitionLog], is_late: Callable[[], bool]) -> bool:
        """Bring a directory's partitions to the disk as a clean stop leaves them; say whether all are."""
        changed = [log for log in logs if log.needs_saving]
        try:
            for log in changed:
                if is_late():
                    logger.warning("no time left to save all of %s", directory.path)
                    return False
                log.save()
            if len(changed) >= SYNCFS_FILES_MIN and self._disk.can_syncfs():
                self._disk.syncfs(directory.fd)
                for log in changed:
                    log.note_synced()
            for log in changed:
                if is_late():
                    logger.warning("no time left to bring all of %s to the disk", directory.path)
                    return False
                log.sync()
        except (OSError, StorageError) as error:
            logger.error("%s was not closed cleanly: %s", directory.path, error)
            return False
        return all(log.is_offline is None for log in logs) and not any(
            error.path.startswith(directory.path + "/") for error in self.failed.values()
        )

    def _close_directories(self) -> None:
        for directory in self.directories:
            directory.close()


class _Reporter:
    """Counts opened partitions over all threads and tells the caller."""

    def __init__(
        self, found: Iterable[LogDirectory], progress: Callable[[LoadProgress], None] | None
    ) -> None:
        self._lock = threading.Lock()
        self._progress = progress
        self._totals = Counter(directory.path for directory in found)
        self._opened: Counter[str] = Counter()

    def opened(self, directory: LogDirectory, partition: TopicPartition, recovered_bytes: int) -> None:
        with self._lock:
            self._opened[directory.path] += 1
            if self._progress is not None:
                self._progress(
                    LoadProgress(
                        directory.path,
                        directory.was_clean,
                        self._opened[directory.path],
                        self._totals[directory.path],
                        partition,
                        recovered_bytes,
                    )
                )
