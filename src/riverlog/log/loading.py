"""Open a partition's directory, whoever wrote it: we or Kafka, stopped in an orderly way or not.

1. Finish what was interrupted: remove `.deleted` and `.cleaned` files, put `.swap` files in place, drop
   indexes without a log.
2. Find the log's end. After a clean stop it is behind the last index entry; after a crash everything from
   the recovery point on is read and checked (see `recovery`).
3. Rebuild the producers from a snapshot and the batches behind it, and transaction indexes that are damaged.

Files that have no meaning here are left alone.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from riverlog.errors import CorruptBatch, StorageError
from riverlog.log import names
from riverlog.log.disk import READ, as_storage_error
from riverlog.log.header_walk import walk_headers
from riverlog.log.identity import ZERO_ID, decode_partition_metadata, encode_partition_metadata
from riverlog.log.leader_epochs import LeaderEpochs
from riverlog.log.open_files import LogFile
from riverlog.log.partition_log import PartitionLog, discard_segment
from riverlog.log.producer_snapshots import ProducerSnapshots
from riverlog.log.producer_state import ProducerState
from riverlog.log.recovery import Recovered, recover_segments, start_segment
from riverlog.log.replay import Replay, rebuild_producers, rebuild_transaction_indexes
from riverlog.log.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from riverlog.config import TopicSettings
    from riverlog.log.context import LogContext
    from riverlog.log.disk import Disk
    from riverlog.log.log_directory import LogDirectory
    from riverlog.types import TopicPartition

logger = logging.getLogger("riverlog.log.loading")


class Loaded(NamedTuple):
    """An open partition, and what opening it took."""

    log: PartitionLog
    recovered: Recovered | None
    """None after a clean stop."""


def create_partition(
    context: LogContext,
    directory: LogDirectory,
    partition: TopicPartition,
    topic_id: bytes,
    settings: TopicSettings,
    now_ms: int,
) -> PartitionLog:
    """Make the directory of a new, empty partition. Raises StorageError."""
    disk = context.disk
    path = f"{directory.path}/{partition}"
    try:
        disk.make_directory(path)
        disk.replace_file(
            f"{path}/{names.PARTITION_METADATA}", encode_partition_metadata(topic_id), durable=False
        )
        segment = Segment.create(disk, context.open_files, path, 0, now_ms)
    except OSError as error:
        raise as_storage_error(error, f"cannot create {partition}", path) from error
    log = PartitionLog(
        context,
        partition,
        topic_id,
        directory,
        path,
        settings,
        segments=[segment],
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        high_watermark=0,
        epochs=LeaderEpochs(),
        producers=ProducerState(),
        snapshots=ProducerSnapshots(disk, path),
        was_saved=True,
    )
    log.assign_epoch(0)
    log.note_new_files(f"{path}/{names.PARTITION_METADATA}")
    return log


def load_partition(
    context: LogContext,
    directory: LogDirectory,
    partition: TopicPartition,
    settings: TopicSettings,
    now_ms: int,
) -> Loaded:
    """Open the directory of an existing partition; may run in any thread. Raises StorageError."""
    path = f"{directory.path}/{partition}"
    try:
        return _Loader(context, directory, partition, settings, now_ms, path).load()
    except OSError as error:
        raise as_storage_error(error, f"cannot open {partition}", path) from error


class _Loader:
    """The steps of opening one partition. They raise OSError, StorageError."""

    def __init__(
        self,
        context: LogContext,
        directory: LogDirectory,
        partition: TopicPartition,
        settings: TopicSettings,
        now_ms: int,
        path: str,
    ) -> None:
        self._context = context
        self._disk = context.disk
        self._directory = directory
        self._partition = partition
        self._settings = settings
        self._now_ms = now_ms
        self._path = path

    def load(self) -> Loaded:
        files = PartitionFiles.of(
            finish_interrupted_work(self._disk, self._path, self._disk.listdir(self._path))
        )
        epochs = self._read_epochs(files)
        epochs_as_stored = list(epochs)
        snapshots = ProducerSnapshots(self._disk, self._path, files.snapshots)
        segments = [
            Segment(
                self._disk,
                self._context.open_files,
                self._path,
                base_offset,
                size=self._disk.size(f"{self._path}/{names.offset_name(base_offset)}{names.LOG}"),
                created_ms=self._now_ms,
            )
            for base_offset in sorted(files.logs)
        ]
        log_start_offset = self._directory.log_start_offsets.get(self._partition, 0)
        if not segments:
            segments.append(self._new_segment(log_start_offset))
        log_start_offset = max(log_start_offset, segments[0].base_offset)

        checked_from = recovery_point = self._directory.recovery_points.get(self._partition, 0)
        recovered: Recovered | None = None
        end_offset = self._find_end(segments, files, recovery_point)
        if end_offset is not None:
            recovery_point = end_offset
            producers = self._producers_behind_snapshots(segments, snapshots, end_offset)
        else:
            recovered, producers = self._recover(segments, recovery_point, epochs, snapshots)
            end_offset = recovered.end_offset
            recovery_point = min(recovery_point, end_offset)

        if end_offset < log_start_offset:
            logger.warning(
                "%s ends at %d, before its start at %d: it begins again there, empty",
                self._partition,
                end_offset,
                log_start_offset,
            )
            for segment in segments:
                self._set_aside(segment)
            segments = [self._new_segment(log_start_offset)]
            epochs, producers = LeaderEpochs(), ProducerState()
            end_offset = recovery_point = log_start_offset
        self._mend_transaction_indexes(segments, files, snapshots)
        snapshots.drop_after(end_offset)
        snapshots.drop_oldest()
        epochs.truncate_to(end_offset)
        epochs.start_at(log_start_offset)
        log = PartitionLog(
            self._context,
            self._partition,
            self._read_topic_id(files),
            self._directory,
            self._path,
            self._settings,
            segments=segments,
            log_start_offset=log_start_offset,
            log_end_offset=end_offset,
            recovery_point=recovery_point,
            high_watermark=end_offset,
            epochs=epochs,
            producers=producers,
            snapshots=snapshots,
            was_saved=self._directory.was_clean and recovered is None,
            cleaned_offset=min(self._directory.cleaned_offsets.get(self._partition, 0), end_offset),
        )
        if not self._directory.was_clean:
            # What the crashed process wrote can be in the page cache only: names, indexes, small files.
            log.note_new_files(*self._unsynced_beside(segments, checked_from))
        if list(epochs) != epochs_as_stored:
            log.save_epochs()
        return Loaded(log, recovered)

    def _find_end(self, segments: list[Segment], files: PartitionFiles, recovery_point: int) -> int | None:
        """Find the log's end if it needs no check: it was closed, or on the disk before the crash."""
        active = segments[-1]
        was_clean = self._directory.was_clean
        if not was_clean and (
            recovery_point < active.base_offset or active.base_offset not in files.complete_indexes
        ):
            return None
        try:
            for segment in segments:
                if segment.base_offset not in files.complete_indexes:
                    logger.warning("%s: building the indexes of %s", self._partition, segment.log_path)
                    segment.rebuild_indexes(self._settings.index_interval_bytes)
            end_offset = active.resume(may_rebuild_indexes=was_clean)
        except CorruptBatch as error:
            if was_clean:
                logger.warning("%s: checking the log although it was closed: %s", self._partition, error)
        else:
            if was_clean or end_offset == recovery_point:
                return end_offset
        active.size = self._disk.size(active.log_path)
        return None

    def _producers_behind_snapshots(
        self, segments: list[Segment], snapshots: ProducerSnapshots, end_offset: int
    ) -> ProducerState:
        """Give the producers before `end_offset`. After a clean stop without any snapshot there were none."""
        if self._directory.was_clean and snapshots.latest_offset < 0:
            return ProducerState()
        return rebuild_producers(segments, snapshots, end_offset, self._now_ms)

    def _recover(
        self,
        segments: list[Segment],
        recovery_point: int,
        epochs: LeaderEpochs,
        snapshots: ProducerSnapshots,
    ) -> tuple[Recovered, ProducerState]:
        producers = ProducerState()

        def replay_from(offset: int) -> Replay:
            nonlocal producers
            before = [segment for segment in segments if segment.base_offset < offset] or segments[:1]
            producers = rebuild_producers(before, snapshots, offset, self._now_ms)
            return Replay(producers, epochs, self._now_ms)

        recovered = recover_segments(
            self._disk,
            self._partition,
            segments,
            recovery_point,
            self._settings.index_interval_bytes,
            replay_from,
            self._set_aside,
        )
        return recovered, producers

    def _mend_transaction_indexes(
        self, segments: list[Segment], files: PartitionFiles, snapshots: ProducerSnapshots
    ) -> None:
        """Find out again what was aborted where that is damaged, or where a segment had lost its indexes."""
        damaged = {
            segment
            for segment in segments
            if segment.base_offset in files.logs - files.complete_indexes
            or (segment.base_offset in files.transaction_indexes and not segment.transaction_index.is_sound())
        }
        if damaged:
            logger.warning("%s: building the transaction indexes of %s", self._partition, damaged)
            rebuild_transaction_indexes(segments, damaged, snapshots, self._now_ms)

    def _read_epochs(self, files: PartitionFiles) -> LeaderEpochs:
        if names.LEADER_EPOCHS not in files.others:
            return LeaderEpochs()
        path = f"{self._path}/{names.LEADER_EPOCHS}"
        try:
            return LeaderEpochs.decode(self._disk.read_file(path), path)
        except StorageError as error:
            logger.warning("%s: ignoring its leader epochs: %s", self._partition, error)
            return LeaderEpochs()

    def _read_topic_id(self, files: PartitionFiles) -> bytes:
        if names.PARTITION_METADATA not in files.others:
            return ZERO_ID
        path = f"{self._path}/{names.PARTITION_METADATA}"
        try:
            return decode_partition_metadata(self._disk.read_file(path), path)
        except StorageError as error:
            # A crash right after the partition was made: nothing in it was promised to anybody yet.
            logger.warning("%s does not know its topic's id: %s", self._partition, error)
            return ZERO_ID

    def _unsynced_beside(self, segments: list[Segment], recovery_point: int) -> list[str]:
        paths = [f"{self._path}/{name}" for name in (names.LEADER_EPOCHS, names.PARTITION_METADATA)]
        number = start_segment([segment.base_offset for segment in segments], recovery_point)
        for segment in segments[number:]:
            paths += segment.index_paths()
        return paths

    def _new_segment(self, base_offset: int) -> Segment:
        return Segment.create(self._disk, self._context.open_files, self._path, base_offset, self._now_ms)

    def _set_aside(self, segment: Segment) -> None:
        discard_segment(self._context, segment, self._now_ms + self._settings.file_delete_delay_ms)


class PartitionFiles(NamedTuple):
    """The files of a partition's directory, by what they are. Pure."""

    logs: set[int]
    complete_indexes: set[int]
    """Base offsets of the segments that have both of the indexes that every segment has."""
    transaction_indexes: set[int]
    snapshots: set[int]
    others: set[str]

    @classmethod
    def of(cls, listed: Iterable[str]) -> PartitionFiles:
        """Sort names of files."""
        by_suffix: dict[str, set[int]] = {}
        others = set()
        for name in listed:
            offset = names.offset_in(name)
            if offset is None:
                others.add(name)
            else:
                by_suffix.setdefault(name[20:], set()).add(offset)
        none: set[int] = set()
        return cls(
            by_suffix.get(names.LOG, none),
            by_suffix.get(names.OFFSET_INDEX, none) & by_suffix.get(names.TIME_INDEX, none),
            by_suffix.get(names.TRANSACTION_INDEX, none),
            by_suffix.get(names.SNAPSHOT, none),
            others,
        )


def finish_interrupted_work(disk: Disk, path: str, listed: list[str]) -> list[str]:
    """Remove leftovers, put `.swap` files in place, drop indexes without a log; give the names that remain.

    `.swap` files are complete: whoever wrote them was about to let them take the place of all segments
    from the first of them up to where the last one ends. If there are `.cleaned` files as well, swaps
    from the first of those on belong to work that had not come so far. Raises OSError.
    """
    files = listed
    if any(name.endswith((names.DELETED, names.CLEANED, names.SWAP)) for name in listed):
        files = _put_in_place(disk, path, _without_leftovers(disk, path, listed))
    logs = {name[:20] for name in files if name.endswith(names.LOG)}
    orphans = [
        name
        for name in files
        if name.endswith(names.INDEX_SUFFIXES) and name[:20] not in logs and names.offset_in(name) is not None
    ]
    for name in orphans:
        disk.unlink(f"{path}/{name}")
        files.remove(name)
    return files


def _without_leftovers(disk: Disk, path: str, listed: list[str]) -> list[str]:
    cleaned = [names.offset_in(name) or 0 for name in listed if name.endswith(names.CLEANED)]
    remaining = []
    for name in listed:
        is_unfinished_swap = (
            bool(cleaned) and name.endswith(names.SWAP) and (names.offset_in(name) or 0) >= min(cleaned)
        )
        if name.endswith((names.DELETED, names.CLEANED)) or is_unfinished_swap:
            disk.unlink(f"{path}/{name}")
        else:
            remaining.append(name)
    return remaining


def _put_in_place(disk: Disk, path: str, files: list[str]) -> list[str]:
    """Let the `.swap` files take the place of what they replace; give the names that remain."""
    swaps = sorted(name for name in files if name.endswith(names.SWAP))
    if not swaps:
        return files
    first, end = _range_of(disk, path, swaps)
    remaining = []
    for name in files:
        offset = names.offset_in(name)
        if name.endswith(names.SWAP):
            remaining.append(name.removesuffix(names.SWAP))
        elif offset is not None and first <= offset < end and name.endswith(names.SEGMENT_SUFFIXES):
            disk.unlink(f"{path}/{name}")
        else:
            remaining.append(name)
    for name in swaps:
        disk.rename(f"{path}/{name}", f"{path}/{name.removesuffix(names.SWAP)}")
    disk.sync_directory(path)
    return remaining


def _range_of(disk: Disk, path: str, swaps: list[str]) -> tuple[int, int]:
    """Give the first offset of the swapped logs and the one behind their last."""
    logs = [name for name in swaps if name.endswith(names.LOG + names.SWAP)]
    first = min((names.offset_in(name) or 0 for name in logs), default=0)
    end = max((_end_offset(disk, f"{path}/{name}", names.offset_in(name) or 0) for name in logs), default=0)
    return first, end


def _end_offset(disk: Disk, path: str, base_offset: int) -> int:
    file = LogFile(disk.open(path, READ), path, disk.close)
    end_offset = base_offset
    for _position, header in walk_headers(disk, file, 0, disk.size(path)):
        end_offset = header.next_offset
    return end_offset
