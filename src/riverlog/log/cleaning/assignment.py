"""A partition between the event loop, where it lives, and the cleaning of it, which happens elsewhere.

    what may be cleaned ─▶ Assignment ─▶ job ... elsewhere ... replacements ─▶ put in place, if still right

Meanwhile the partition goes on: it is appended to, read, shortened by retention, truncated, deleted. Appends
and reads do not matter. For the rest an assignment remembers what it was about, and refuses what comes late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.log.cleaning.job import CleaningAborted, Job, LastBatch, Outcome, Replacement
from riverlog.log.cleaning.plan import Cleanable, Lags, Offsets, find_cleanable
from riverlog.log.disk import as_storage_error

if TYPE_CHECKING:
    from riverlog.config import CleanerSettings
    from riverlog.log.partition_log import PartitionLog

DEDUPE_BYTES_MAX = 2**31 - 1
"""For one helper; Kafka's bound."""


def is_compacted(log: PartitionLog) -> bool:
    """Say whether a partition is to be cleaned at all, and can be."""
    return "compact" in log.settings.cleanup_policy and log.is_offline is None


def cleanable_of(log: PartitionLog, now_ms: int) -> Cleanable:
    """Tell what of a partition may be cleaned now. Raises StorageError."""
    settings = log.settings
    segments = log.segments
    offsets = Offsets(log.log_start_offset, log.cleaned_offset, log.last_stable_offset, log.log_end_offset)
    try:
        return find_cleanable(
            segments,
            offsets,
            Lags(settings.min_compaction_lag_ms, settings.max_compaction_lag_ms),
            now_ms,
            largest_timestamp=lambda number: segments[number].largest_timestamp,
            first_timestamp=lambda number: segments[number].first_batch_timestamp(),
        )
    except OSError as error:
        raise as_storage_error(error, "cannot see what is to be cleaned", log.path) from error


class Assignment:
    """One cleaning of one partition, seen from the partition. Its owner is the event loop."""

    __slots__ = ("_cleanable", "_segments", "_truncation_count", "log")

    def __init__(self, log: PartitionLog, cleanable: Cleanable) -> None:
        self.log = log
        self._cleanable = cleanable
        self._segments = {
            segment.base_offset: (segment, segment.size)
            for segment in log.segments[:-1]
            if segment.base_offset < cleanable.end
        }
        self._truncation_count = log.truncation_count

    def job(self, settings: CleanerSettings, now_ms: int) -> Job:
        """Describe it for whoever does it. Raises StorageError."""
        log, topic = self.log, self.log.settings
        threads = max(settings.log_cleaner_threads, 1)
        return Job(
            directory=log.path,
            segments=tuple((base_offset, size) for base_offset, (_, size) in self._segments.items()),
            first_dirty=self._cleanable.first_dirty,
            end=self._cleanable.end,
            now_ms=now_ms,
            delete_retention_ms=topic.delete_retention_ms,
            segment_bytes=topic.segment_bytes,
            segment_index_bytes=topic.segment_index_bytes,
            index_interval_bytes=topic.index_interval_bytes,
            map_bytes=min(settings.log_cleaner_dedupe_buffer_size // threads, DEDUPE_BYTES_MAX),
            map_load_factor=settings.log_cleaner_io_buffer_load_factor,
            io_bytes=settings.log_cleaner_io_buffer_size // threads,
            bytes_per_second=settings.log_cleaner_io_max_bytes_per_second / threads,
            last_batches=tuple(
                LastBatch(
                    producer.producer_id,
                    producer.epoch,
                    producer.batches[-1].last_offset if producer.batches else -1,
                )
                for producer in log.producers()
            ),
            aborted_behind=tuple(log.aborted_behind(self._cleanable.end)),
        )

    def put_in_place(self, replacement: Replacement, now_ms: int) -> None:
        """Let a new segment take the place of those it was made of.

        Raises CleaningAborted if they are not what they were any more, StorageError.
        """
        log = self.log
        if not self.is_current:
            raise CleaningAborted("the partition has changed while it was cleaned", path=log.path)
        old = [self._segments[base_offset] for base_offset in replacement.replaced]
        # Retention takes from the front; what was truncated is found by the count.
        sealed = set(log.segments[:-1])
        if any(segment not in sealed or segment.size != size for segment, size in old):
            raise CleaningAborted("a segment has gone while it was cleaned", path=log.path)
        log.replace_segments([segment for segment, _ in old], replacement.size, now_ms)

    @property
    def is_current(self) -> bool:
        """Whether it still makes sense to go on."""
        log = self.log
        return not log.is_closed and is_compacted(log) and log.truncation_count == self._truncation_count

    def finish(self, outcome: Outcome) -> None:
        """Take in that all replacements are in place, and their names on the disk (`sync_names`).

        Were the log said to be clean before, and power failed between, nobody would look at it again.
        """
        assert self.is_current, "what was truncated meanwhile is not clean"
        self.log.cleaned_offset = max(self.log.cleaned_offset, outcome.end)


def fingerprint(log: PartitionLog) -> tuple[tuple[int, int], ...]:
    """Tell a partition's sealed segments from what they become when anything of them changes."""
    return tuple((segment.base_offset, segment.size) for segment in log.segments[:-1])
