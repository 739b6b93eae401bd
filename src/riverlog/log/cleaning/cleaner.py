"""The cleaner: looks for what is due, has it done by helpers, puts the results in place.

    every worker    look for the dirtiest log ─▶ a helper cleans it ─▶ swap, segment by segment ─▶ checkpoint
                    nothing is due: rest for `log.cleaner.backoff.ms`

There are `log.cleaner.threads` workers: tasks of the event loop, each with a helper process while there is
work. A partition that cannot be cleaned is named, once, and left out: one with damaged data until anything of
its sealed segments changes, one whose disk or helper failed for a while. The others go on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from riverlog.errors import CorruptBatch, StorageError
from riverlog.log.cleaning.assignment import Assignment, cleanable_of, fingerprint, is_compacted
from riverlog.log.cleaning.helper_process import HelperDied, HelperProcess
from riverlog.log.cleaning.job import CleaningAborted, Outcome
from riverlog.log.cleaning.plan import Cleanable, dirtiest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from riverlog.config import CleanerSettings
    from riverlog.log.cleaning.helper_process import Helper
    from riverlog.log.manager import LogManager
    from riverlog.log.partition_log import PartitionLog
    from riverlog.types import TopicPartition

logger = logging.getLogger("riverlog.log.cleaning")

IDLE_SECONDS_MAX = 30.0
"""How long a helper is kept that has nothing to do."""

RETRY_MS = 60_000
"""How long a partition is left out after its disk or its helper failed."""

LOGS_PER_STEP = 16
"""How many logs are looked at before others get the event loop."""

SLICE_SECONDS = 0.002


class LeftOut(NamedTuple):
    """A partition that is not cleaned, and until when."""

    fingerprint: tuple[tuple[int, int], ...]
    until_ms: int | None
    """None: until its fingerprint changes."""


class CleanerFigures:
    """What operators watch."""

    __slots__ = (
        "cleaned_logs",
        "failures",
        "last_cleaned_seconds",
        "last_duration_seconds",
        "left_out",
        "map_utilization",
        "max_dirty_ratio",
        "max_overdue_ms",
        "read_bytes",
        "read_records",
        "written_bytes",
    )

    def __init__(self) -> None:
        self.max_dirty_ratio = 0.0
        self.max_overdue_ms = 0
        # When a log was last cleaned, in seconds since 1970; 0 before.
        self.last_cleaned_seconds = 0.0
        self.last_duration_seconds = 0.0
        self.cleaned_logs = 0
        self.failures = 0
        self.read_bytes = 0
        self.written_bytes = 0
        self.read_records = 0
        # How full the map of keys was at the end of the last cleaning.
        self.map_utilization = 0.0
        self.left_out = 0

    def note(self, outcome: Outcome, now_ms: int, seconds: float) -> None:
        """Take in a cleaning that was done."""
        self.last_cleaned_seconds = now_ms / 1000
        self.last_duration_seconds = seconds
        self.cleaned_logs += 1
        self.read_bytes += outcome.read_bytes
        self.written_bytes += outcome.written_bytes
        self.read_records += outcome.read_records
        self.map_utilization = outcome.map_utilization


class Cleaner:
    """Compaction of all partitions of one manager. Runs on the event loop."""

    def __init__(
        self,
        logs: LogManager,
        settings: CleanerSettings,
        *,
        now_ms: Callable[[], int],
        start_helper: Callable[[], Awaitable[Helper]] = HelperProcess.start,
    ) -> None:
        self._logs = logs
        self._settings = settings
        self._now_ms = now_ms
        self._start_helper = start_helper
        self._workers: dict[int, asyncio.Task[None]] = {}
        self._helpers: dict[int, Helper] = {}
        self._at_work: set[TopicPartition] = set()
        self._left_out: dict[TopicPartition, LeftOut] = {}
        # One worker at a time looks for a log, so that no two find the same one.
        self._looking = asyncio.Lock()
        self._changed = asyncio.Event()
        self.figures = CleanerFigures()

    def start(self) -> None:
        """Begin."""
        if self._settings.log_cleaner_enable:
            self._employ()

    async def stop(self) -> None:
        """End all work; what is half done is thrown away."""
        workers = list(self._workers.values())
        for worker in workers:
            worker.cancel()
        if workers:
            await asyncio.wait(workers)
        self._workers.clear()

    def change_settings(self, settings: CleanerSettings) -> None:
        """Obey changed settings: a log that is being cleaned keeps its memory, all else changes at once."""
        if settings == self._settings:
            return
        self._settings = settings
        threads = max(settings.log_cleaner_threads, 1)
        for helper in self._helpers.values():
            helper.change_rate(settings.log_cleaner_io_max_bytes_per_second / threads)
        if self._workers:
            self._employ()
        # Whoever rests looks again: the rest may be shorter now, or over for good.
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def left_out(self) -> list[TopicPartition]:
        """The partitions that cannot be cleaned."""
        return sorted(self._left_out)

    def _employ(self) -> None:
        for number in range(self._settings.log_cleaner_threads):
            worker = self._workers.get(number)
            if worker is None or worker.done():
                self._workers[number] = asyncio.get_running_loop().create_task(self._work(number))

    async def _work(self, number: int) -> None:
        idle_since = time.monotonic()
        try:
            while number < self._settings.log_cleaner_threads:
                try:
                    if await self._clean_one(number):
                        idle_since = time.monotonic()
                        continue
                except Exception:
                    # The edge of a task: what goes wrong today must be tried again tomorrow.
                    logger.exception("the cleaner failed")
                if time.monotonic() - idle_since >= IDLE_SECONDS_MAX:
                    await self._dismiss(number)
                await self._rest()
        finally:
            await self._dismiss(number)

    async def _rest(self) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), self._settings.log_cleaner_backoff_ms / 1000)
        except TimeoutError:
            pass

    async def _dismiss(self, number: int) -> None:
        helper = self._helpers.pop(number, None)
        if helper is not None:
            await helper.stop()

    async def _clean_one(self, number: int) -> bool:
        """Clean the log that needs it most; say whether there was one."""
        async with self._looking:
            found = await self._find_dirtiest()
            if found is None:
                return False
            log, cleanable = found
            partition = log.topic_partition
            self._at_work.add(partition)
        started = time.monotonic()
        try:
            outcome = await self._clean(number, log, cleanable)
        except CleaningAborted as error:
            logger.info("%s", error)
        except StorageError as error:
            self._leave_out(log, error)
            if isinstance(error, HelperDied):
                await self._dismiss(number)
        except OSError as error:
            self._leave_out(log, StorageError(f"cannot start a helper: {error}"))
        else:
            seconds = time.monotonic() - started
            self.figures.note(outcome, self._now_ms(), seconds)
            _tell(log, cleanable, outcome, seconds)
            await self._write_checkpoints()
        finally:
            self._at_work.discard(partition)
        return True

    async def _clean(self, number: int, log: PartitionLog, cleanable: Cleanable) -> Outcome:
        helper = self._helpers.get(number)
        if helper is not None and not helper.is_alive:
            await self._dismiss(number)
            helper = None
        if helper is None:
            helper = self._helpers[number] = await self._start_helper()
        assignment = Assignment(log, cleanable)
        job = assignment.job(self._settings, self._now_ms())
        outcome = await helper.run(
            job, lambda replacement: assignment.put_in_place(replacement, self._now_ms())
        )
        await asyncio.get_running_loop().run_in_executor(None, log.sync_names)
        if not assignment.is_current:
            raise CleaningAborted("the partition has changed while it was cleaned", path=log.path)
        if outcome.end <= cleanable.first_dirty:
            raise CorruptBatch("nothing could be cleaned", path=log.path)
        assignment.finish(outcome)
        return outcome

    async def _find_dirtiest(self) -> tuple[PartitionLog, Cleanable] | None:
        """Give the log to clean next, and what of it may be cleaned as of now."""
        figures = self.figures
        now_ms = self._now_ms()
        due: list[tuple[PartitionLog, Cleanable]] = []
        dirty_ratio, overdue_ms = 0.0, 0
        left_out: dict[TopicPartition, LeftOut] = {}
        for number, log in enumerate(self._logs):
            if not number % LOGS_PER_STEP:
                await asyncio.sleep(0)
            if not is_compacted(log) or log.topic_partition in self._at_work:
                continue
            was_left_out = self._left_out.get(log.topic_partition)
            if was_left_out is not None and self._is_left_out(log, was_left_out, now_ms):
                left_out[log.topic_partition] = was_left_out
                continue
            try:
                cleanable = cleanable_of(log, now_ms)
            except StorageError as error:
                self._leave_out(log, error)
                left_out[log.topic_partition] = self._left_out[log.topic_partition]
                continue
            dirty_ratio = max(dirty_ratio, cleanable.dirty_ratio)
            overdue_ms = max(overdue_ms, cleanable.overdue_ms)
            if cleanable.is_due(log.settings.min_cleanable_dirty_ratio):
                due.append((log, cleanable))
        self._left_out = left_out
        figures.max_dirty_ratio, figures.max_overdue_ms = dirty_ratio, overdue_ms
        figures.left_out = len(left_out)
        found = dirtiest(due)
        if found is None or not is_compacted(found[0]):
            return None
        # Others had the event loop meanwhile.
        return found[0], cleanable_of(found[0], now_ms)

    def _is_left_out(self, log: PartitionLog, left_out: LeftOut, now_ms: int) -> bool:
        if left_out.until_ms is not None:
            return now_ms < left_out.until_ms
        return fingerprint(log) == left_out.fingerprint

    def _leave_out(self, log: PartitionLog, error: StorageError) -> None:
        if log.is_closed:
            # Deleted while it was cleaned: nothing is wrong.
            return
        is_damaged = isinstance(error, CorruptBatch)
        logger.error(
            "%s cannot be compacted%s: %s",
            log.topic_partition,
            " and is left out until its segments change" if is_damaged else f" for {RETRY_MS // 1000} s",
            error,
        )
        until_ms = None if is_damaged else self._now_ms() + RETRY_MS
        self._left_out[log.topic_partition] = LeftOut(fingerprint(log), until_ms)
        self.figures.failures += 1
        self.figures.left_out = len(self._left_out)

    async def _write_checkpoints(self) -> None:
        slice_ends = time.monotonic() + SLICE_SECONDS
        for _ in self._logs.checkpoint_steps():
            if time.monotonic() > slice_ends:
                await asyncio.sleep(0)
                slice_ends = time.monotonic() + SLICE_SECONDS


def _tell(log: PartitionLog, cleanable: Cleanable, outcome: Outcome, seconds: float) -> None:
    logger.info(
        "%s is compacted from %d to %d: %.1f MB read, %.1f MB written, %d keys, in %.1f s",
        log.topic_partition,
        cleanable.first_dirty,
        outcome.end,
        outcome.read_bytes / 1e6,
        outcome.written_bytes / 1e6,
        outcome.keys,
        seconds,
    )
