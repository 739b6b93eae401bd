"""One partition: a chain of segments, appended to at one end, read anywhere, shortened at the other.

    log start              high watermark   log end
        ▼                        ▼             ▼
    [0..99][100..199][200..........................
     gone    sealed    active: appends go here
                                     ▲ flushed: below, all is on the disk

- Offsets only grow and are never used twice, except above a point of truncation (replication's rule).
- An append is one write. Its offset is given out only after the write succeeded; what a failed write left
  in the file is cut off again, and if that fails too, nothing is appended any more.
- The core of the hot path is `append` and `read`. The rest may be slower and clearer.
- One owner: everything runs on one event loop, but for `SyncTicket.run`, which touches files only.
"""

from __future__ import annotations

import logging
import zlib
from typing import TYPE_CHECKING

from riverlog.config import TopicSettings
from riverlog.errors import DiskFull, StorageError
from riverlog.log import names, retention, timestamp_lookup
from riverlog.log.admission import examine
from riverlog.log.disk import as_storage_error, is_shortage
from riverlog.log.identity import encode_partition_metadata
from riverlog.log.offset_index import RELATIVE_OFFSET_MAX
from riverlog.log.replacing import begin_replacement, finish_replacement, has_leftovers, set_old_aside
from riverlog.log.replay import rebuild_producers
from riverlog.log.results import AppendResult, FoundOffset, ReadResult
from riverlog.log.segment import Segment
from riverlog.log.segment_chain import SegmentChain
from riverlog.log.sync_state import SyncState
from riverlog.log.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from riverlog.log.transaction_index import aborted_between
from riverlog.protocol.batches import patch_log_append_time, patch_offset_and_epoch, read_header
from riverlog.protocol.control_records import TransactionMarker, build_marker_batch
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from riverlog.log.context import LogContext
    from riverlog.log.durability import SyncTicket
    from riverlog.log.leader_epochs import LeaderEpochs
    from riverlog.log.log_directory import LogDirectory
    from riverlog.log.producer_snapshots import ProducerSnapshots
    from riverlog.log.producer_state import Producer, ProducerState, SequenceVerdict
    from riverlog.log.transaction_index import AbortedTransaction
    from riverlog.protocol.batches import BatchHeader, WritableBuffer
    from riverlog.types import TopicPartition

logger = logging.getLogger("riverlog.log.partition_log")

SNAPSHOT_BYTES = 32 * 1024 * 1024
"""How much log may lie behind the newest producer snapshot when a checkpoint is made."""

LATEST_PRODUCE_VERSION = 13

_NEVER = 2**63 - 1
_new = tuple.__new__
_STORAGE_ERROR = int(ErrorCode.KAFKA_STORAGE_ERROR)
_OUT_OF_RANGE = int(ErrorCode.OFFSET_OUT_OF_RANGE)
_POLICY_VIOLATION = int(ErrorCode.POLICY_VIOLATION)


class PartitionLog:
    """One partition on disk."""

    __slots__ = (
        "_appended_before",
        "_chain",
        "_context",
        "_epochs",
        "_flush_messages",
        "_index_entries_max",
        "_index_interval_bytes",
        "_indexed_place",
        "_is_closed",
        "_leader_epoch",
        "_producers",
        "_pwrite",
        "_roll_after",
        "_saved_offset",
        "_segment_bytes",
        "_settings",
        "_snapshot_place",
        "_snapshots",
        "_sync",
        "_unflushed_since_ms",
        "cleaned_offset",
        "directory",
        "follows_log_end",
        "high_watermark",
        "is_offline",
        "log_end_offset",
        "log_start_offset",
        "path",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        context: LogContext,
        topic_partition: TopicPartition,
        topic_id: bytes,
        directory: LogDirectory,
        path: str,
        settings: TopicSettings,
        *,
        segments: list[Segment],
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        high_watermark: int,
        epochs: LeaderEpochs,
        producers: ProducerState,
        snapshots: ProducerSnapshots,
        was_saved: bool,
        cleaned_offset: int = 0,
    ) -> None:
        self._context = context
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.directory = directory
        self.path = path
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.high_watermark = high_watermark
        # Below it, compaction has been: the first dirty offset. Means nothing below the log start.
        self.cleaned_offset = cleaned_offset
        # Whether all that is appended is committed at once: there is no other replica to wait for.
        self.follows_log_end = True
        self._sync = SyncState(recovery_point)
        # Why appends are refused; None while all is well.
        self.is_offline: StorageError | None = None
        self._chain = SegmentChain(segments)
        # What was appended is worked out from these when somebody asks, so that an append need not count:
        # offsets less the log end, bytes less the active segment's size.
        self._appended_before = (-log_end_offset, -self._chain.active.size)
        self._epochs = epochs
        self._leader_epoch = max(epochs.latest, 0)
        self._producers = producers
        self._snapshots = snapshots
        # Where the log ended at the newest producer snapshot, or at the start.
        self._snapshot_place = (self._chain.active, self._chain.active.size)
        self._is_closed = False
        self._indexed_place = self._snapshot_place
        # The log end when all was last written that a clean start relies on; -1: it must be written.
        self._saved_offset = log_end_offset if was_saved else -1
        self._unflushed_since_ms = _NEVER
        self._pwrite = context.disk.pwrite
        self._apply(settings)

    def __repr__(self) -> str:
        return f"PartitionLog({self.topic_partition}, [{self.log_start_offset}..{self.log_end_offset}))"

    # State

    @property
    def settings(self) -> TopicSettings:
        """The topic's settings; assign others to change them from now on."""
        return self._settings

    @settings.setter
    def settings(self, settings: TopicSettings) -> None:
        self._apply(settings)

    @property
    def leader_epoch(self) -> int:
        """The epoch that is written into each batch."""
        return self._leader_epoch

    @property
    def last_stable_offset(self) -> int:
        """Where reading committed data ends: the first open transaction, else the high watermark.

        A transaction is open until the high watermark has passed its marker.
        """
        unstable = self._producers.transactions.first_unstable(self.high_watermark)
        if unstable < 0:
            return self.high_watermark
        return min(max(unstable, self.log_start_offset), self.high_watermark)

    @property
    def flushed_offset(self) -> int:
        """Below it, the log is on the disk."""
        return self._sync.flushed_offset

    @property
    def recovery_point(self) -> int:
        """Below it, the log and its indexes are on the disk: after a crash nothing there needs a look."""
        return self._sync.recovery_point

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return self._chain.size

    @property
    def appended_records(self) -> int:
        """Offsets given out since the partition was opened; what was cut off again counts too."""
        return self._appended_before[0] + self.log_end_offset

    @property
    def appended_bytes(self) -> int:
        """Bytes appended since the partition was opened; what was cut off again counts too."""
        return self._appended_before[1] + self._chain.active.size

    @property
    def first_base_offset(self) -> int:
        """The base offset of the oldest segment, at or before the log start."""
        return self._chain[0].base_offset

    @property
    def segment_count(self) -> int:
        return len(self._chain)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Its segments, oldest first, the active one last: to look at."""
        return tuple(self._chain)

    @property
    def truncation_count(self) -> int:
        """How often its end was cut off since it was opened."""
        return self._sync.generation

    @property
    def is_closed(self) -> bool:
        """Whether its files were let go of: it was deleted, or the broker stops."""
        return self._is_closed

    @property
    def producer_count(self) -> int:
        """Idempotent producers remembered."""
        return len(self._producers)

    def producers(self) -> Iterable[Producer]:
        """Give what is remembered of each idempotent producer, to look at."""
        return self._producers

    def open_transaction_of(self, producer_id: int) -> int:
        """Give the first offset of a producer's open transaction, -1 if it has none here."""
        producer = self._producers.get(producer_id)
        return -1 if producer is None else producer.open_transaction_offset

    def is_in_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Say whether a producer has an open transaction here, in this epoch."""
        producer = self._producers.get(producer_id)
        return (
            producer is not None
            and producer.open_transaction_offset >= 0
            and producer.epoch == producer_epoch
        )

    def aborted_behind(self, offset: int) -> list[AbortedTransaction]:
        """Give the aborted transactions that begin before `offset` and whose markers lie behind it.

        `offset` is a segment's base offset. Raises StorageError.
        """
        try:
            return aborted_between(self._chain.from_offset(offset), offset, offset)
        except OSError as error:
            raise as_storage_error(error, "cannot read what was aborted", self.path) from error

    # Appending

    def append(
        self,
        buffer: WritableBuffer,
        start: int,
        end: int,
        now_ms: int,
        produce_version: int = LATEST_PRODUCE_VERSION,
        *,
        is_sequenced: bool = True,
    ) -> AppendResult:
        """Append the one batch that a client sent in [start, end), as the leader. Patches it in place.

        With `is_sequenced` False it is a coordinator's, which may write for a producer without knowing of
        its sequences. Disk trouble is answered with KAFKA_STORAGE_ERROR, never raised.
        """
        if self.is_offline is not None:
            return AppendResult(_STORAGE_ERROR, -1, -1, self.log_start_offset, str(self.is_offline))
        error_code, message, record_errors, header, replacement, append_time_ms = examine(
            buffer,
            start,
            end,
            self._settings,
            now_ms,
            produce_version=produce_version,
            is_sequenced=is_sequenced,
        )
        if header is None:
            return AppendResult(error_code, -1, -1, self.log_start_offset, message, record_errors)
        if replacement is not None:
            buffer, start, end = replacement, 0, len(replacement)
        is_idempotent = header.producer_id >= 0
        if is_idempotent:
            verdict = self._producers.check(header)
            if verdict is not None:
                return self._answer(verdict)
        failure = self._write(buffer, start, end, header, now_ms)
        if failure is not None:
            return failure
        base_offset = self.log_end_offset - header.last_offset_delta - 1
        if is_idempotent:
            self._producers.record(header, base_offset, now_ms)
        return _new(AppendResult, (0, base_offset, append_time_ms, self.log_start_offset, None, (), False))

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        is_commit: bool,
        coordinator_epoch: int,
        now_ms: int,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Append the end of a producer's transaction, as the leader, on behalf of its coordinator.

        Disk trouble is answered with KAFKA_STORAGE_ERROR, never raised.
        """
        if self.is_offline is not None:
            return AppendResult(_STORAGE_ERROR, -1, -1, self.log_start_offset, str(self.is_offline))
        verdict = self._producers.check_marker(
            producer_id, producer_epoch, coordinator_epoch, transaction_version
        )
        if verdict is not None:
            return self._answer(verdict)
        marker = TransactionMarker(is_commit, coordinator_epoch)
        batch = build_marker_batch(
            marker, producer_id=producer_id, producer_epoch=producer_epoch, timestamp=now_ms
        )
        if self._settings.message_timestamp_type == "LogAppendTime":
            patch_log_append_time(batch, 0, now_ms)
        header = read_header(batch)
        failure = self._write(batch, 0, len(batch), header, now_ms)
        if failure is not None:
            return failure
        offset = self.log_end_offset - 1
        aborted = self._producers.record_marker(header, marker, offset, now_ms)
        if aborted is not None:
            self._chain.active.transaction_index.append(aborted)
        return AppendResult(0, offset, -1, self.log_start_offset)

    def _write(
        self, buffer: WritableBuffer, start: int, end: int, header: BatchHeader, now_ms: int
    ) -> AppendResult | None:
        """Write an admitted batch at the log end; give None, or why it is not there."""
        size = end - start
        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        max_timestamp = header.max_timestamp
        segment = self._chain.active
        position = segment.size
        if (
            position + size > self._segment_bytes
            or max_timestamp > self._roll_after
            or last_offset > segment.base_offset + RELATIVE_OFFSET_MAX
            or segment.index_entries >= self._index_entries_max
        ) and position:
            try:
                segment = self._roll(now_ms)
            except OSError as error:
                return self._refuse_append(
                    as_storage_error(error, "cannot begin a segment", self.path), error
                )
            position = 0
        patch_offset_and_epoch(buffer, start, base_offset, self._leader_epoch)
        try:
            file = segment.file or segment.open()
            view = memoryview(buffer)[start:end]
            written = self._pwrite(file.fd, view, position)
            if written != size:
                self._context.disk.write_all(file.fd, view[written:], position + written)
        except OSError as error:
            return self._undo_append(segment, error)
        segment.note_batch(size, last_offset, max_timestamp, self._index_interval_bytes)
        self.log_end_offset = end_offset = last_offset + 1
        if self.follows_log_end:
            self.high_watermark = end_offset
        if not position:
            self._begin_ageing(segment, now_ms)
        if end_offset - self._sync.flushed_offset >= self._flush_messages:
            self._context.request_sync(self)
        return None

    def _answer(self, verdict: SequenceVerdict) -> AppendResult:
        again = verdict.duplicate_of
        if again is None:
            return AppendResult(int(verdict.error_code), -1, -1, self.log_start_offset, verdict.message)
        stamps = self._settings.message_timestamp_type == "LogAppendTime"
        return AppendResult(
            0,
            again.base_offset,
            again.timestamp if stamps else -1,
            self.log_start_offset,
            is_duplicate=True,
        )

    def _undo_append(self, segment: Segment, error: OSError) -> AppendResult:
        """Cut off what a failed write may have left."""
        failure = as_storage_error(error, "cannot append", segment.log_path, segment.size)
        file = segment.file
        if file is not None:
            try:
                self._context.disk.ftruncate(file.fd, segment.size)
                self._sync.note_paths(segment.log_path)
            except OSError as second:
                # Room on the disk would not help any more: an end that nobody knows is for recovery.
                failure = StorageError(f"{failure}; nor can it be undone: {second}", path=segment.log_path)
                failure.__cause__ = error
        return self._refuse_append(failure, error)

    def _refuse_append(self, failure: StorageError, error: OSError) -> AppendResult:
        if is_shortage(error):
            # Too few descriptors: nothing the partition suffers from for long, the next append may work.
            logger.warning("%s: %s", self.topic_partition, failure)
        else:
            self.fail(failure)
        return AppendResult(_STORAGE_ERROR, -1, -1, self.log_start_offset, str(failure))

    # Rolling

    def roll_if_due(self, now_ms: int) -> bool:
        """Begin a new segment if the active one is older than `segment.ms`; say whether.

        Raises StorageError.
        """
        active = self._chain.active
        if not active.size or now_ms - active.created_ms <= self._segment_age_max(active):
            return False
        try:
            self._roll(now_ms)
        except OSError as error:
            raise self._failed(error, "cannot begin a segment") from error
        return True

    def _roll(self, now_ms: int) -> Segment:
        """Seal the active segment and begin the next one at the log end. Raises OSError."""
        sealed = self._chain.active
        sealed.seal()
        snapshot = self._snapshots.write(self.log_end_offset, self._producers)
        context = self._context
        segment = self._create_segment(self.log_end_offset, now_ms)
        self._chain.add(segment)
        records, size = self._appended_before
        self._appended_before = records, size + sealed.size
        self._sync.note_indexes(self.log_end_offset, *sealed.index_paths(), snapshot)
        self._snapshot_place = (segment, 0)
        self._roll_after = _NEVER
        context.request_sync(self)
        return segment

    def _begin_ageing(self, segment: Segment, now_ms: int) -> None:
        """The segment got its first batch."""
        segment.created_ms = now_ms
        self._roll_after = self._age_limit(segment)

    def _age_limit(self, segment: Segment) -> int:
        """Give the timestamp that a batch must not pass to be appended to this segment."""
        if not segment.size or segment.first_timestamp < 0:
            return _NEVER
        return segment.first_timestamp + self._segment_age_max(segment)

    def _segment_age_max(self, segment: Segment) -> int:
        """Give `segment.ms` less the segment's share of the jitter, which is always the same for it.

        Compaction does not touch the active segment, so what must be cleaned in time must be sealed in time.
        """
        settings = self._settings
        age_max = settings.segment_ms
        if "compact" in settings.cleanup_policy and settings.max_compaction_lag_ms > 0:
            age_max = min(age_max, settings.max_compaction_lag_ms)
        jitter_max = min(settings.segment_jitter_ms, age_max)
        jitter = zlib.crc32(segment.path.encode()) % jitter_max if jitter_max > 0 else 0
        return age_max - jitter

    def _apply(self, settings: TopicSettings) -> None:
        self._settings = settings
        self._segment_bytes = settings.segment_bytes
        self._index_interval_bytes = settings.index_interval_bytes
        # The time index has larger entries and is held to the same size.
        self._index_entries_max = max(settings.segment_index_bytes // TIME_ENTRY_BYTES - 1, 1)
        self._flush_messages = settings.flush_messages
        self._roll_after = self._age_limit(self._chain.active)

    # Reading

    def read(
        self, offset: int, max_bytes: int, *, read_committed: bool = False, must_return_one_batch: bool
    ) -> ReadResult:
        """Read whole batches from the one that holds `offset` on, at most `max_bytes`.

        Nothing above the high watermark is given out, nor above the last stable offset if only
        committed data is wanted. With `must_return_one_batch` a first batch larger than `max_bytes` is
        given all the same. With committed data come the aborted transactions that are to be skipped in it.
        Disk trouble is answered with KAFKA_STORAGE_ERROR, never raised.
        """
        high_watermark = self.high_watermark
        stable = self.last_stable_offset if self._producers.transactions else high_watermark
        limit = stable if read_committed else high_watermark
        aborted: list[tuple[int, int]] | None = [] if read_committed else None
        start = self.log_start_offset
        if not start <= offset < limit:
            if not start <= offset <= self.log_end_offset:
                return _unreadable(_OUT_OF_RANGE)
            return ReadResult(0, None, high_watermark, stable, start, aborted)
        if self._sync.has_lost_data:
            limit = min(limit, self.flushed_offset)
            if offset >= limit:
                return _unreadable(_STORAGE_ERROR)
        try:
            found = self._chain.slice(
                offset, limit, self.log_end_offset, max_bytes, must_return_one_batch=must_return_one_batch
            )
            if found is None:
                return ReadResult(0, None, high_watermark, stable, start, aborted)
            records, end_offset = found
            if read_committed:
                aborted = [
                    (each.producer_id, each.first_offset)
                    for each in aborted_between(self._chain.from_offset(offset), offset, end_offset)
                ]
        except (OSError, StorageError) as error:
            logger.error("%s: cannot read at offset %d: %s", self.topic_partition, offset, error)
            return _unreadable(_STORAGE_ERROR)
        return ReadResult(0, records, high_watermark, stable, start, aborted)

    def offset_for_timestamp(self, timestamp: int, *, read_committed: bool = False) -> FoundOffset | None:
        """Find the first record with at least that timestamp, also inside a batch. Raises StorageError."""
        try:
            found = timestamp_lookup.first_since(self._chain, timestamp, self.log_start_offset)
        except OSError as error:
            raise as_storage_error(error, "cannot look up a timestamp", self.path) from error
        return self._if_visible(found, read_committed=read_committed)

    def max_timestamp(self, *, read_committed: bool = False) -> FoundOffset | None:
        """Find the first record with the largest timestamp. Raises StorageError."""
        try:
            found = timestamp_lookup.latest(self._chain, self.log_start_offset)
        except OSError as error:
            raise as_storage_error(error, "cannot look up the largest timestamp", self.path) from error
        return self._if_visible(found, read_committed=read_committed)

    def epoch_at(self, offset: int) -> int:
        """Give the leader epoch in which `offset` was written, -1 if unknown."""
        return self._epochs.epoch_at(offset)

    def _if_visible(self, found: FoundOffset | None, *, read_committed: bool) -> FoundOffset | None:
        limit = self.last_stable_offset if read_committed else self.high_watermark
        return found if found is not None and found.offset < limit else None

    # Replication

    def advance_high_watermark(self, offset: int) -> None:
        """Let readers see up to `offset`, as far as the log goes; it never moves back."""
        self.high_watermark = max(self.high_watermark, min(offset, self.log_end_offset))

    def assign_epoch(self, epoch: int, start_offset: int | None = None) -> None:
        """Go on in a new leader epoch, which begins at the log end unless said otherwise.

        Raises StorageError.
        """
        if self._epochs.assign(epoch, self.log_end_offset if start_offset is None else start_offset):
            self.save_epochs()
        self._leader_epoch = max(self._leader_epoch, epoch)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Give the largest epoch that is at most `epoch` and where it ends; (-1, -1) if unknown."""
        return self._epochs.end_offset_for(epoch, self.log_end_offset)

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Cut the log before the batch that holds `offset`. Raises StorageError.

        [0..4][5..9] | truncate_to(7) -> [0..4], log end 5 | truncate_to(12) -> no batch goes

        Epochs that begin at the new end or later are forgotten even if no batch goes (kafka#9633).
        """
        if offset < self.log_end_offset:
            # Before anything else: what a sync that runs now finds out is worth nothing any more.
            self._sync.begin_truncation()
            self._saved_offset = -1
            try:
                self._cut(max(offset, 0), now_ms)
                self._snapshots.drop_after(self.log_end_offset)
                self._producers = rebuild_producers(
                    list(self._chain),
                    self._snapshots,
                    self.log_end_offset,
                    now_ms,
                    self.high_watermark,
                )
            except OSError as error:
                raise self._failed(error, "cannot truncate") from error
        if self._epochs.truncate_to(min(offset, self.log_end_offset)):
            self.save_epochs()

    def _cut(self, offset: int, now_ms: int) -> None:
        """Drop the batches from the one that holds `offset` on. Raises OSError, CorruptBatch."""
        chain = self._chain
        records, size = self.appended_records, self.appended_bytes
        if offset < chain[0].base_offset:
            self._discard(list(chain), now_ms)
            chain.replace_all(self._create_segment(offset, now_ms))
        elif (found := chain.find(offset)) is not None:
            segment, position, header = found
            number = next(number for number, each in enumerate(chain) if each is segment)
            self._discard(chain.drop_after(number), now_ms)
            offset = header.base_offset
            segment.cut(position, offset)
            self._sync.note_paths(segment.log_path, *segment.index_paths())
        self.log_end_offset = offset
        self._appended_before = records - offset, size - chain.active.size
        self.log_start_offset = min(self.log_start_offset, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.cleaned_offset = min(self.cleaned_offset, offset)
        self._sync.truncate_to(offset)
        self._snapshot_place = (chain.active, chain.active.size)
        self._roll_after = self._age_limit(chain.active)

    def save_epochs(self) -> None:
        """Write the leader epochs; the next sync covers them. Raises StorageError."""
        path = f"{self.path}/{names.LEADER_EPOCHS}"
        try:
            self._context.disk.replace_file(path, self._epochs.encode(), durable=False)
        except OSError as error:
            raise self._failed(error, "cannot write the leader epochs") from error
        self._sync.note_paths(path)
        self._sync.note_directories(self.path)

    # Shortening at the start

    def delete_records_before(self, offset: int) -> tuple[int, int]:
        """Let the log start at `offset` (-1: the high watermark); give (error code, log start).

        The segments before it go with the next retention.
        """
        if "delete" not in self._settings.cleanup_policy:
            return _POLICY_VIOLATION, self.log_start_offset
        if offset == -1:
            offset = self.high_watermark
        if not 0 <= offset <= self.high_watermark:
            return _OUT_OF_RANGE, self.log_start_offset
        try:
            self._start_at(offset)
        except StorageError:
            return _STORAGE_ERROR, self.log_start_offset
        return 0, self.log_start_offset

    def apply_retention(self, now_ms: int) -> int:
        """Delete the segments that have outlived the topic's limits; say how many. Raises StorageError."""
        chain = self._chain
        retention_ms, retention_bytes = self._retention_limits()
        try:
            count = retention.count_expired(
                self._segment_facts(),
                lambda number: chain[number].newest_ms(),
                now_ms=now_ms,
                retention_ms=retention_ms,
                retention_bytes=retention_bytes,
                log_start_offset=self.log_start_offset,
                high_watermark=self.high_watermark,
            )
            if not count:
                return 0
            new_start = chain.end_offset_of(count - 1, self.log_end_offset)
            if new_start > self.log_start_offset:
                self._context.before_deletion(self, new_start)
            if count == len(chain):
                # Offsets go on where they were: the new segment's name must be on the disk before the old
                # ones' are gone, or a crash between the two would begin again at 0.
                self._roll(now_ms)
                self._context.disk.sync_directory(self.path)
            self._discard(chain.drop_first(count), now_ms)
        except OSError as error:
            raise self._failed(error, "cannot delete old segments") from error
        self._start_at(chain[0].base_offset)
        logger.info(
            "%s: %d old segments deleted, it starts at %d", self.topic_partition, count, self.log_start_offset
        )
        return count

    def outlook(self, offset: int, now_ms: int) -> retention.Outlook:
        """Tell how long retention leaves what lies at `offset`. Raises OSError."""
        retention_ms, retention_bytes = self._retention_limits()
        if retention_ms == retention_bytes == retention.UNLIMITED:
            return retention.STAYS
        return retention.foresee(
            self._segment_facts(),
            lambda number: self._chain[number].newest_ms(),
            offset,
            now_ms=now_ms,
            retention_ms=retention_ms,
            retention_bytes=retention_bytes,
        )

    def _retention_limits(self) -> tuple[int, int]:
        settings = self._settings
        if "delete" not in settings.cleanup_policy:
            return retention.UNLIMITED, retention.UNLIMITED
        return settings.retention_ms, settings.retention_bytes

    def _segment_facts(self) -> list[retention.SegmentFacts]:
        chain = self._chain
        return [
            retention.SegmentFacts(chain.end_offset_of(number, self.log_end_offset), segment.size)
            for number, segment in enumerate(chain)
        ]

    def expire_producers(self, now_ms: int, after_ms: int) -> int:
        """Forget producers that were silent for `after_ms`; say how many."""
        return self._producers.expire(now_ms, after_ms)

    def _start_at(self, offset: int) -> None:
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            if self._epochs.start_at(offset):
                self.save_epochs()

    def _create_segment(self, base_offset: int, now_ms: int) -> Segment:
        context = self._context
        self._sync.note_directories(self.path)
        return Segment.create(context.disk, context.open_files, self.path, base_offset, now_ms)

    def _discard(self, segments: Iterable[Segment], now_ms: int) -> None:
        """Rename the files of segments that were taken out of the chain. Raises OSError."""
        due_ms = now_ms + self._settings.file_delete_delay_ms
        for segment in segments:
            discard_segment(self._context, segment, due_ms)
            self._snapshots.forget(segment.base_offset)
        self._sync.note_directories(self.path)

    # Compaction

    def replace_segments(self, old: Sequence[Segment], size: int, now_ms: int) -> None:
        """Let what cleaning made of some sealed segments take their place: `.cleaned` files of `size` bytes.

        Its name is the first one's. Raises StorageError; then the log is as it was, or offline.
        """
        context, disk = self._context, self._context.disk
        path = old[0].path
        try:
            suffixes = begin_replacement(disk, path)
        except OSError as error:
            if has_leftovers(disk, path):
                raise self._failed_half_way(error, path) from error
            raise as_storage_error(error, "cannot put a cleaned segment in place", path) from error
        try:
            discarded = set_old_aside(disk, old)
            finish_replacement(disk, path, suffixes)
            segment = Segment(
                disk, context.open_files, self.path, old[0].base_offset, size=size, created_ms=now_ms
            )
        except OSError as error:
            raise self._failed_half_way(error, path) from error
        self._chain.replace(old, segment)
        context.trash.add_files(discarded, now_ms + self._settings.file_delete_delay_ms)

    def sync_names(self) -> None:
        """Bring the names of its files to the disk; in any thread. Raises StorageError."""
        try:
            self._context.disk.sync_directory(self.path)
        except OSError as error:
            raise as_storage_error(error, "cannot sync a partition's directory", self.path) from error

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Say whose partition this is, where its directory does not. Raises StorageError."""
        path = f"{self.path}/{names.PARTITION_METADATA}"
        try:
            self._context.disk.replace_file(path, encode_partition_metadata(topic_id), durable=False)
        except OSError as error:
            raise self._failed(error, "cannot write the topic's id") from error
        self.topic_id = topic_id
        self.note_new_files(path)

    # Reaching the disk

    def note_new_files(self, *paths: str) -> None:
        """Let the first sync cover a new partition's files, its directory, and the name of that."""
        self._sync.note_paths(*paths)
        self._sync.note_directories(self.path, self.directory.path)

    def begin_sync(self) -> SyncTicket:
        """Name what must be synced for all that is appended now to be on the disk. Raises StorageError."""
        if self._sync.has_lost_data or self._is_closed:
            raise self.is_offline or StorageError("the partition is closed", path=self.path)
        files = []
        if self.flushed_offset < self.log_end_offset:
            try:
                for segment in reversed(self._chain):
                    if segment.size:
                        files.append(segment.open())
                    if segment.base_offset <= self.flushed_offset:
                        break
            except OSError as error:
                raise as_storage_error(error, "cannot open a segment to sync it", self.path) from error
        return self._sync.ticket(self, files)

    def finish_sync(self, ticket: SyncTicket, failure: StorageError | None) -> StorageError | None:
        """Take in how the sync of a ticket went; give why those who waited for it must not rely on it."""
        if failure is not None:
            self._sync.has_lost_data = True
            self.fail(failure)
            return failure
        return self._sync.settle(ticket)

    def sync(self) -> None:
        """Bring all to the disk here and now. Raises StorageError."""
        ticket = self.begin_sync()
        failure = self.finish_sync(ticket, ticket.run(self._context.disk))
        if failure is not None:
            raise failure

    @property
    def unindexed_bytes(self) -> int:
        """How much was appended since the indexes were last saved for a sync to cover."""
        active = self._chain.active
        segment, size = self._indexed_place
        return active.size - size if active is segment else active.size

    def note_synced(self) -> None:
        """Take in that the whole file system was synced, with all that `save` wrote."""
        self._sync.settle(self._sync.ticket(self, []))

    @property
    def has_unsynced(self) -> bool:
        """Whether a crash would leave anything to recover."""
        return self.recovery_point < self.log_end_offset or self._sync.has_beside

    @property
    def needs_saving(self) -> bool:
        """Whether a clean stop has anything to write for it."""
        return self._saved_offset != self.log_end_offset or self.has_unsynced

    def sync_if_due(self, now_ms: int) -> None:
        """Ask for a sync once something has waited for `flush.ms`."""
        if self.flushed_offset >= self.log_end_offset:
            self._unflushed_since_ms = _NEVER
        elif self._unflushed_since_ms == _NEVER:
            self._unflushed_since_ms = now_ms
        elif now_ms - self._unflushed_since_ms >= self._settings.flush_ms:
            self._unflushed_since_ms = _NEVER
            self._context.request_sync(self)

    def save_indexes(self) -> None:
        """Let the next sync cover the indexes too, so that the recovery point can follow.

        A producer snapshot is written with them if much was appended since the last one. Raises StorageError.
        """
        active = self._chain.active
        try:
            active.save_indexes()
            segment, size = self._snapshot_place
            if active is not segment or active.size - size >= SNAPSHOT_BYTES:
                self._write_snapshot()
        except OSError as error:
            raise self._failed(error, "cannot save the indexes") from error
        self._note_saved_indexes()

    def save(self) -> None:
        """Write all that a start after a clean stop relies on; `sync` brings it to the disk.

        Raises StorageError.
        """
        active = self._chain.active
        try:
            active.seal()
            if self.log_end_offset > self._snapshots.latest_offset and (
                self._producers or self._snapshots.latest_offset >= 0
            ):
                self._write_snapshot()
        except OSError as error:
            raise self._failed(error, "cannot save the partition") from error
        self._note_saved_indexes()
        self._saved_offset = self.log_end_offset

    def _note_saved_indexes(self) -> None:
        active = self._chain.active
        self._sync.note_indexes(self.log_end_offset, *active.index_paths())
        if not active.transaction_index.is_empty:
            # Its file may be new.
            self._sync.note_directories(self.path)
        self._indexed_place = (active, active.size)

    def _write_snapshot(self) -> None:
        self._sync.note_paths(self._snapshots.write(self.log_end_offset, self._producers))
        self._sync.note_directories(self.path)
        self._snapshot_place = (self._chain.active, self._chain.active.size)

    # Going offline

    def fail(self, error: StorageError) -> None:
        """Refuse all appends from now on. What is there can still be read, if the disk lets us."""
        if self.is_offline is not None:
            return
        self.is_offline = error
        logger.error("%s is offline: %s", self.topic_partition, error)
        self._context.report_failure(self, error)

    def resume(self) -> None:
        """Take appends again: there was no room on the disk, and now there is."""
        if isinstance(self.is_offline, DiskFull) and not self._sync.has_lost_data:
            logger.info("%s takes appends again", self.topic_partition)
            self.is_offline = None

    def close(self) -> None:
        """Let go of the files; nothing can be appended or read after it."""
        self._is_closed = True
        if self.is_offline is None:
            self.is_offline = StorageError("the partition is closed", path=self.path)
        self._chain.forget_places()
        for segment in self._chain:
            segment.close()

    def _failed_half_way(self, error: OSError, path: str) -> StorageError:
        """Go offline with a segment half replaced: room would not help, the next start finishes it."""
        failure = StorageError(f"half of a cleaned segment is in place: {error}", path=path)
        failure.__cause__ = error.with_traceback(None)
        self.fail(failure)
        return failure

    def _failed(self, error: OSError, attempted: str) -> StorageError:
        """Go offline over what the disk refused, unless the process only lacks descriptors."""
        failure = as_storage_error(error, f"{self.topic_partition}: {attempted}", self.path)
        if not is_shortage(error):
            self.fail(failure)
        return failure


def _unreadable(error_code: int) -> ReadResult:
    """Give nothing but the error; as in Kafka, where the log begins and ends is not told beside it."""
    return ReadResult(error_code, None, -1, -1, -1)


def discard_segment(context: LogContext, segment: Segment, due_ms: int) -> None:
    """Rename all files of a segment and have them removed later. Raises OSError."""
    segment.close()
    discarded = []
    for suffix in (*names.SEGMENT_SUFFIXES, names.SNAPSHOT):
        path = segment.path + suffix
        try:
            context.disk.rename(path, path + names.DELETED)
        except FileNotFoundError:
            continue
        discarded.append(path + names.DELETED)
    context.trash.add_files(discarded, due_ms)
