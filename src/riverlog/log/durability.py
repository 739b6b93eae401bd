"""Group commit: many acknowledgements wait for one fsync.

    loop     wait_for ─┐ wait_for ─┐   wait_for ──────────────┐
                       ▼           ▼                          ▼
    rounds          [ round 1 takes what waits ]   [ round 2 takes what came meanwhile ]
    thread              sync ... sync                  sync ... sync
    loop                            on_done on_done                on_done

- A round begins as soon as the last one ends and somebody waits: there is no timer to tune.
- What a round covers is fixed on the loop when it begins: a ticket names the files and the offset
  that they reach. Whatever is appended or rolled later is another round's business.
- A failed sync is final. The kernel may drop the pages it could not write and report the failure once,
  so a second attempt can succeed without the data being there. The log goes offline.
- With many dirty files one `syncfs` is cheaper than a sync for each, unless somebody else is
  writing a lot to the same file system: then it waits for their data too, and we go back for a while.

`CommitQueue` decides who waits for what and is pure. `GroupCommit` has the thread.
"""

from __future__ import annotations

import logging
import threading
import time
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING

from riverlog.errors import StorageError
from riverlog.log.disk import READ_WRITE, Disk, as_storage_error

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

    from riverlog.log.log_directory import LogDirectory
    from riverlog.log.open_files import LogFile
    from riverlog.log.partition_log import PartitionLog

    OnDone = Callable[[StorageError | None], None]
    Settled = tuple[PartitionLog, int, StorageError | None]

logger = logging.getLogger("riverlog.log.durability")

SYNCFS_FILES_MIN = 6
"""Fewer dirty files on one file system are synced one by one."""

ROUND_LOGS_MAX = 1000
"""Logs synced in one round: each holds files open while it lasts."""

SYNCFS_PAUSE_ROUNDS = 100
"""For how many rounds `syncfs` is left alone after it took longer than single syncs would have."""


class SyncTicket:
    """What must be synced so that a log is on the disk up to `end_offset`. Made and settled on the loop."""

    __slots__ = ("directories", "end_offset", "files", "generation", "indexed_offset", "log", "paths")

    def __init__(
        self,
        log: PartitionLog,
        end_offset: int,
        indexed_offset: int,
        generation: int,
        files: list[LogFile],
        paths: Iterable[str],
        directories: Iterable[str],
    ) -> None:
        self.log = log
        self.end_offset = end_offset
        # Below it the index entries are in their files as well.
        self.indexed_offset = indexed_offset
        # Of the log's history: a truncation in the meantime makes the ticket worthless.
        self.generation = generation
        self.files = files
        # Small files beside the log, by their path. Gone since then: nothing to sync.
        self.paths = tuple(paths)
        self.directories = tuple(directories)

    def __len__(self) -> int:
        return len(self.files) + len(self.paths) + len(self.directories)

    def run(self, disk: Disk) -> StorageError | None:
        """Sync all of it, in any thread."""
        path = ""
        try:
            for file in self.files:
                path = file.path
                disk.fdatasync(file.fd)
            for path in self.paths:
                _sync_path(disk, path)
            for path in self.directories:
                try:
                    disk.sync_directory(path)
                except FileNotFoundError:
                    pass
        except OSError as error:
            return as_storage_error(error, "cannot bring it to the disk", path)
        return None


class CommitQueue:
    """Who waits for which log to be on the disk how far. Pure: no thread, no clock, no files."""

    __slots__ = ("_waiting", "is_running")

    def __init__(self) -> None:
        self.is_running = False
        self._waiting: dict[PartitionLog, list[tuple[int, OnDone | None]]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, log: PartitionLog, end_offset: int, on_done: OnDone | None) -> None:
        """Let `on_done` wait until `log` is on the disk below `end_offset`."""
        waiting = self._waiting.get(log)
        if waiting is None:
            self._waiting[log] = [(end_offset, on_done)]
        else:
            waiting.append((end_offset, on_done))

    def start_round(self) -> list[PartitionLog]:
        """Begin a round: give the logs to sync, at most `ROUND_LOGS_MAX`, those that wait longest first.

        Empty if a round is running or nobody waits.
        """
        if self.is_running or not self._waiting:
            return []
        self.is_running = True
        return list(islice(self._waiting, ROUND_LOGS_MAX))

    def finish_round(self, outcomes: Iterable[Settled]) -> list[tuple[OnDone, StorageError | None]]:
        """End the round and give whom to tell what.

        `outcomes`: for each log how far it is on the disk now, or why it is not. Whoever waits for
        more than that goes on waiting, unless the log failed.
        """
        self.is_running = False
        told: list[tuple[OnDone, StorageError | None]] = []
        for log, flushed_offset, error in outcomes:
            still_waiting = []
            for end_offset, on_done in self._waiting.pop(log, ()):
                if error is None and end_offset > flushed_offset:
                    still_waiting.append((end_offset, on_done))
                elif on_done is not None:
                    told.append((on_done, error))
            if still_waiting:
                self._waiting[log] = still_waiting
        return told

    def abandon(self) -> list[OnDone]:
        """Forget everybody; give them, to be told."""
        everybody = [
            on_done for waiting in self._waiting.values() for _, on_done in waiting if on_done is not None
        ]
        self._waiting.clear()
        return everybody


class SyncStrategy:
    """Choose between a sync per file and one for the whole file system, by what both cost lately. Pure."""

    __slots__ = ("_file_seconds", "_pause")

    def __init__(self) -> None:
        self._file_seconds = 0.0
        self._pause = 0

    def prefers_syncfs(self, file_count: int) -> bool:
        """Say how to sync this many files of one file system."""
        if self._pause:
            self._pause -= 1
            return False
        return file_count >= SYNCFS_FILES_MIN

    def note_files(self, file_count: int, seconds: float) -> None:
        """Learn what syncing files one by one took."""
        average = seconds / file_count
        self._file_seconds = average if not self._file_seconds else 0.8 * self._file_seconds + 0.2 * average

    def note_syncfs(self, file_count: int, seconds: float) -> None:
        """Learn what syncing the file system took, in place of this many files."""
        if self._file_seconds and seconds > self._file_seconds * file_count:
            self._pause = SYNCFS_PAUSE_ROUNDS


class GroupCommit:
    """The commit queue of one event loop, and the thread that syncs for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, disk: Disk | None = None) -> None:
        self._loop = loop
        self._disk = disk or Disk()
        self._queue = CommitQueue()
        self._syncer = Syncer(self._disk)
        self._orders: SimpleQueue[list[SyncTicket] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        # Logs of the running round that could not even be opened.
        self._failed: list[Settled] = []
        self._is_scheduled = False
        self._is_closed = False

    def wait_for(self, log: PartitionLog, end_offset: int, on_done: OnDone) -> None:
        """Call `on_done(None)` once `log` is on the disk below `end_offset`, or with what prevents it.

        It is called on the loop, once, and never before this returns.
        """
        if self._is_closed:
            self._loop.call_soon(on_done, StorageError("the broker is stopping"))
        elif log.flushed_offset >= end_offset:
            self._loop.call_soon(on_done, None)
        else:
            self._queue.add(log, end_offset, on_done)
            self._schedule()

    def request(self, log: PartitionLog) -> None:
        """Bring `log` to the disk soon; nobody waits for it."""
        if not self._is_closed:
            self._queue.add(log, log.log_end_offset, None)
            self._schedule()

    @property
    def synced(self) -> tuple[int, float]:
        """How often something was brought to the disk so far, and how long that took in all."""
        return self._syncer.count, self._syncer.seconds

    @property
    def waiting_count(self) -> int:
        """How many logs wait for the disk."""
        return len(self._queue)

    def close(self) -> None:
        """End the thread once its round is done; all who still wait learn that nothing is promised to them.

        Blocking. May be called from another thread once the loop serves nobody any more.
        """
        self._is_closed = True
        if self._thread is not None:
            self._orders.put(None)
            self._thread.join()
            self._thread = None
        for on_done in self._queue.abandon():
            self._loop.call_soon_threadsafe(on_done, StorageError("the broker is stopping"))

    def _schedule(self) -> None:
        # At the end of the loop's turn, so that all requests read in this turn share the round.
        if not self._queue.is_running and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._start_round)

    def _start_round(self) -> None:
        self._is_scheduled = False
        if self._is_closed:
            return
        logs = self._queue.start_round()
        if not logs:
            return
        tickets = []
        for log in logs:
            try:
                tickets.append(log.begin_sync())
            except StorageError as error:
                self._failed.append((log, 0, error))
        if not tickets:
            self._finish_round([])
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="riverlog-sync", daemon=True)
            self._thread.start()
        self._orders.put(tickets)

    def _work(self) -> None:
        """The thread: sync what it is given, report once per round."""
        while (tickets := self._orders.get()) is not None:
            outcomes = self._syncer.sync(tickets)
            del tickets
            try:
                self._loop.call_soon_threadsafe(self._finish_round, outcomes)
            except RuntimeError:
                # The loop was closed before us; nobody is left to be told.
                return

    def _finish_round(self, outcomes: list[tuple[SyncTicket, StorageError | None]]) -> None:
        settled, self._failed = self._failed, []
        for ticket, failure in outcomes:
            error = ticket.log.finish_sync(ticket, failure)
            settled.append((ticket.log, ticket.log.flushed_offset, error))
        for on_done, error in self._queue.finish_round(settled):
            try:
                on_done(error)
            except Exception:
                # The edge of one waiter's work: the others have nothing to do with it.
                logger.exception("whoever waited for the disk failed")
        if len(self._queue):
            self._schedule()


class Syncer:
    """Runs the tickets of a round, with as few calls as the disk allows. For one thread."""

    def __init__(self, disk: Disk, clock: Callable[[], float] = time.perf_counter) -> None:
        self._disk = disk
        self._clock = clock
        self._strategies: dict[int, SyncStrategy] = {}
        # Calls to the disk so far and what they took, to be read from any thread.
        self.count = 0
        self.seconds = 0.0

    def sync(self, tickets: list[SyncTicket]) -> list[tuple[SyncTicket, StorageError | None]]:
        """Sync everything the tickets name; give each with what went wrong."""
        outcomes: list[tuple[SyncTicket, StorageError | None]] = []
        for directory, group in _by_file_system(tickets):
            strategy = self._strategies.setdefault(directory.device, SyncStrategy())
            count = sum(map(len, group))
            began = self._clock()
            # If syncfs fails, somebody's data is lost on this file system. Each file knows: was it ours?
            if (
                self._disk.can_syncfs()
                and strategy.prefers_syncfs(count)
                and self._sync_file_system(directory)
            ):
                outcomes += [(ticket, None) for ticket in group]
                seconds = self._clock() - began
                strategy.note_syncfs(count, seconds)
                self._note(1, seconds)
                continue
            outcomes += [(ticket, ticket.run(self._disk)) for ticket in group]
            if count:
                seconds = self._clock() - began
                strategy.note_files(count, seconds)
                self._note(count, seconds)
        return outcomes

    def _note(self, count: int, seconds: float) -> None:
        self.count += count
        self.seconds += seconds

    def _sync_file_system(self, directory: LogDirectory) -> bool:
        try:
            self._disk.syncfs(directory.fd)
        except OSError as error:
            logger.error("cannot bring the file system of %s to the disk: %s", directory.path, error)
            return False
        return True


def _by_file_system(tickets: list[SyncTicket]) -> list[tuple[LogDirectory, list[SyncTicket]]]:
    """Group tickets by file system; any log directory on it stands for it."""
    groups: dict[int, tuple[LogDirectory, list[SyncTicket]]] = {}
    for ticket in tickets:
        directory = ticket.log.directory
        groups.setdefault(directory.device, (directory, []))[1].append(ticket)
    return list(groups.values())


def _sync_path(disk: Disk, path: str) -> None:
    try:
        descriptor = disk.open(path, READ_WRITE)
    except FileNotFoundError:
        return
    try:
        disk.fdatasync(descriptor)
    finally:
        disk.close(descriptor)
