"""Rebuild what a log remembers about itself from its batches: producers, leader epochs, what was aborted.

The same `take` is used for batches that a recovery has just checked and for older ones that are only
walked over, so a restart ends with the state that appending had made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.errors import CorruptBatch, RemoteProtocolError
from riverlog.log.leader_epochs import LeaderEpochs
from riverlog.log.producer_state import ProducerState
from riverlog.protocol.control_records import read_marker
from riverlog.protocol.records import read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from riverlog.log.producer_snapshots import ProducerSnapshots
    from riverlog.log.segment import Segment
    from riverlog.log.transaction_index import AbortedTransaction
    from riverlog.protocol.batches import BatchHeader, ReadableBuffer


RETRIES_MS_MAX = 5 * 60 * 1000
"""For how long a producer may try to send a batch again: twice what clients do unless told otherwise."""

OFFSET_MAX = 2**63 - 1

INDEX_ENTRIES_BACK = 256
"""How far to look back for a producer's batches: as many large batches, or a megabyte of small ones."""


class Replay:
    """Takes in batches in the order of their offsets."""

    __slots__ = ("epochs", "high_watermark", "now_ms", "producers")

    def __init__(
        self,
        producers: ProducerState,
        epochs: LeaderEpochs,
        now_ms: int,
        high_watermark: int = OFFSET_MAX,
    ) -> None:
        self.producers = producers
        self.epochs = epochs
        self.now_ms = now_ms
        self.high_watermark = high_watermark

    def take(self, header: BatchHeader) -> None:
        """Take in a batch of data."""
        if header.leader_epoch > self.epochs.latest:
            self.epochs.assign(header.leader_epoch, header.base_offset)
        if header.producer_id >= 0:
            # When it was appended is not known any more. The producer may have been silent since, so it is
            # given its full time again: too long a memory does no harm, too short a one stores twice.
            self.producers.record(header, header.base_offset, self.now_ms)

    def take_control(self, header: BatchHeader, batch: ReadableBuffer) -> AbortedTransaction | None:
        """Take in a control batch, of which the header does not say all; give the transaction it aborts.

        Raises CorruptBatch.
        """
        if header.leader_epoch > self.epochs.latest:
            self.epochs.assign(header.leader_epoch, header.base_offset)
        try:
            record = next(read_records(batch), None)
            # Compaction can leave a control batch without its record: its transaction is gone altogether.
            marker = read_marker(record) if record is not None else None
        except RemoteProtocolError as error:
            raise CorruptBatch(f"a control batch at offset {header.base_offset}: {error}") from error
        if marker is None:
            return None
        aborted = self.producers.record_marker(header, marker, header.base_offset, self.now_ms)
        self.producers.transactions.replicated(self.high_watermark)
        return aborted

    def take_segments(
        self,
        segments: Sequence[Segment],
        start_offset: int,
        end_offset: int,
        on_aborted: Callable[[Segment, AbortedTransaction], None] | None = None,
    ) -> None:
        """Take in the batches of [start_offset, end_offset), read from the segments.

        `on_aborted` is told what was aborted, and in which segment. Raises OSError, CorruptBatch.
        """
        for number, segment in enumerate(segments):
            if number + 1 < len(segments) and segments[number + 1].base_offset <= start_offset:
                continue
            found = segment.find(start_offset)
            if found is None:
                continue
            for position, header in segment.headers(found[0]):
                if header.base_offset >= end_offset:
                    return
                if header.is_control:
                    aborted = self.take_control(header, segment.read_batch(position, header))
                    if aborted is not None and on_aborted is not None:
                        on_aborted(segment, aborted)
                else:
                    self.take(header)


def rebuild_producers(
    segments: Sequence[Segment],
    snapshots: ProducerSnapshots,
    end_offset: int,
    now_ms: int,
    high_watermark: int = OFFSET_MAX,
) -> ProducerState:
    """Give the producer state before `end_offset`: a snapshot and the batches behind it.

    A snapshot knows the last batch of a producer only. One that was active a moment ago may have to send
    up to five again, so for those the batches shortly before the snapshot are looked at, too. Neither does
    it know of transactions that are decided but not replicated, so none above the high watermark is used.
    Raises OSError, CorruptBatch.
    """
    loaded = snapshots.load(min(end_offset, high_watermark))
    start_offset, producers = loaded or (segments[0].base_offset, ProducerState())
    if producers.was_active_since(now_ms - RETRIES_MS_MAX):
        before = Replay(ProducerState(), LeaderEpochs(), now_ms)
        before.take_segments(segments, _some_batches_before(start_offset, segments), start_offset)
        producers.remember_from(before.producers)
    if start_offset < end_offset:
        behind = Replay(producers, LeaderEpochs(), now_ms, high_watermark)
        behind.take_segments(segments, start_offset, end_offset)
    return producers


def rebuild_transaction_indexes(
    segments: Sequence[Segment], damaged: Collection[Segment], snapshots: ProducerSnapshots, now_ms: int
) -> None:
    """Build the transaction indexes of some segments again. Raises OSError, CorruptBatch.

    A transaction may have begun in an earlier segment, so what was open where a segment begins must be known.
    """
    numbers = [number for number, segment in enumerate(segments) if segment in damaged]
    first, last = numbers[0], numbers[-1]
    for segment in damaged:
        segment.transaction_index.clear()

    def note(segment: Segment, aborted: AbortedTransaction) -> None:
        if segment in damaged:
            segment.transaction_index.append(aborted)

    start_offset = segments[first].base_offset
    producers = rebuild_producers(segments, snapshots, start_offset, now_ms)
    replay = Replay(producers, LeaderEpochs(), now_ms)
    replay.take_segments(segments[first : last + 1], start_offset, OFFSET_MAX, note)
    for segment in damaged:
        segment.transaction_index.save()


def _some_batches_before(offset: int, segments: Sequence[Segment]) -> int:
    """Give the offset of a batch `INDEX_ENTRIES_BACK` index entries before `offset`, or of the first."""
    entries_back = INDEX_ENTRIES_BACK
    found = offset
    for segment in reversed(segments):
        if segment.base_offset < offset:
            index = segment.offset_index
            number = index.count_up_to(offset) - entries_back
            if number >= 0:
                return index.place(number)[0]
            found = segment.base_offset
            # A segment counts as one more, so that many small ones are not all opened.
            entries_back = -number - 1
            if entries_back <= 0:
                break
    return found
