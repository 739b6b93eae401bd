"""Which records of some batches stay, and what their batches become."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from riverlog.log.cleaning.record_columns import Flags, Places
from riverlog.protocol.rewriting import with_delete_horizon, with_some_records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from riverlog.log.cleaning.key_hashes import KeyHasher
    from riverlog.log.cleaning.offset_map import OffsetMap
    from riverlog.log.cleaning.record_columns import RecordColumns
    from riverlog.log.cleaning.segment_reader import Batch, Piece, Run
    from riverlog.protocol.batches import BatchHeader


class KeptBatch(NamedTuple):
    """What a batch becomes that keeps records."""

    start: int
    """Where the batch stood in its piece."""
    data: bytearray | memoryview
    record_count: int
    max_timestamp: int


def whole(piece: Piece, batch: Batch) -> KeptBatch:
    """Keep a batch as it is."""
    start, header = batch
    data = memoryview(piece.data)[start : start + header.size]
    return KeptBatch(start, data, header.record_count, header.max_timestamp)


class RecordFilter:
    """Decides with the help of a complete map. Pure."""

    __slots__ = (
        "_delete_retention_ms",
        "_first_dirty",
        "_hasher",
        "_latest",
        "_map",
        "_now_ms",
        "_seen_end",
    )

    def __init__(
        self,
        offset_map: OffsetMap,
        hasher: KeyHasher,
        *,
        first_dirty: int,
        seen_end: int,
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        self._map = offset_map
        self._hasher = hasher
        self._latest = offset_map.offsets()
        # The map has seen [first dirty, seen end).
        self._first_dirty = first_dirty
        self._seen_end = seen_end
        self._now_ms = now_ms
        self._delete_retention_ms = delete_retention_ms

    def may_live(self, batches: Sequence[Batch]) -> list[bool]:
        """Say of each batch whether it can have records that stay, by its header alone."""
        base = np.array([batch.header.base_offset for batch in batches], np.int64)
        last = np.array([batch.header.last_offset for batch in batches], np.int64)
        was_seen = (base >= self._first_dirty) & (last < self._seen_end)
        latest = self._latest
        has_latest = latest.searchsorted(last, "right") > latest.searchsorted(base, "left")
        found: list[bool] = (has_latest | ~was_seen).tolist()
        return found

    def has_latest(self, start: int, end: int) -> bool:
        """Say whether any record in [start, end) is its key's latest, if the map has seen them all."""
        return bool(self._latest.searchsorted(end) > self._latest.searchsorted(start))

    def kept(self, piece: Piece, run: Run, traceless_markers: Collection[int]) -> Iterator[KeptBatch]:
        """Give what becomes of the run's batches, but for those that keep nothing.

        `traceless_markers`: where the batches begin that end a transaction of which nothing else is left;
        they stay, and get a horizon.
        """
        columns = run.columns
        stays = self._records_that_stay(run, traceless_markers)
        kept = np.flatnonzero(stays)
        if not len(kept):
            return
        batch_count = len(run.batches)
        of_batch = columns.batch[kept]
        bounds = of_batch.searchsorted(np.arange(batch_count + 1)).tolist()
        tombstones = np.bincount(of_batch[~columns.has_value[kept]], minlength=batch_count).tolist()
        timestamps = columns.timestamp[kept]
        stretches = _Stretches(run, kept, of_batch)
        for number, batch in enumerate(run.batches):
            first, end = bounds[number], bounds[number + 1]
            if first == end:
                continue
            start, header = batch
            count = end - first
            max_timestamp = int(timestamps[first:end].max())
            is_to_be_marked = tombstones[number] or start in traceless_markers
            if is_to_be_marked and not header.has_delete_horizon:
                data = with_delete_horizon(
                    header,
                    _without_timestamp_field(run, kept[first:end]),
                    self._now_ms + self._delete_retention_ms,
                    max_timestamp,
                )
            elif count == header.record_count:
                yield whole(piece, batch)
                continue
            else:
                data = with_some_records(header, stretches.join(number), count, max_timestamp)
            yield KeptBatch(start, data, count, _told_timestamp(header, max_timestamp))

    def _records_that_stay(self, run: Run, traceless_markers: Collection[int]) -> Flags:
        columns = run.columns
        offset = columns.offset
        has_key = columns.key_length >= 0
        is_latest = self._is_in_map(offset)
        older = np.flatnonzero((offset < self._first_dirty) & has_key)
        if len(older):
            high, low = self._hasher.hash(
                np.frombuffer(run.data, np.uint8), columns.key_start[older], columns.key_length[older]
            )
            is_latest[older] = self._map.get(high, low) < 0
        keeps_tombstones = np.array(
            [
                not header.has_delete_horizon or header.base_timestamp > self._now_ms
                for _start, header in run.batches
            ],
            np.bool_,
        )
        is_of_use = columns.has_value | keeps_tombstones[columns.batch]
        stays = (offset >= self._seen_end) | (is_latest & has_key & is_of_use)
        if traceless_markers:
            is_marker = np.array([batch.start in traceless_markers for batch in run.batches], np.bool_)
            stays |= is_marker[columns.batch]
        return stays

    def _is_in_map(self, offset: Places) -> Flags:
        latest = self._latest
        if not len(latest):
            return np.zeros(len(offset), np.bool_)
        found: Flags = latest[np.minimum(latest.searchsorted(offset), len(latest) - 1)] == offset
        return found


class _Stretches:
    """Records that stay and stand beside each other in a batch: copied in one piece."""

    __slots__ = ("_bounds", "_ends", "_starts", "_view")

    def __init__(self, run: Run, kept: Places, of_batch: Places) -> None:
        begins = _begins(run)
        is_first = np.ones(len(kept), np.bool_)
        is_first[1:] = (np.diff(kept) != 1) | (np.diff(of_batch) != 0)
        firsts = np.flatnonzero(is_first)
        lasts = np.append(firsts[1:], len(kept)) - 1
        self._starts = begins[kept[firsts]].tolist()
        self._ends = run.columns.end[kept[lasts]].tolist()
        self._bounds = of_batch[firsts].searchsorted(np.arange(len(run.batches) + 1)).tolist()
        self._view = memoryview(run.data)

    def join(self, number: int) -> bytes:
        """Give the records of one batch that stay."""
        chosen = slice(self._bounds[number], self._bounds[number + 1])
        view = self._view
        return b"".join(
            view[start:end] for start, end in zip(self._starts[chosen], self._ends[chosen], strict=True)
        )


def _begins(run: Run) -> Places:
    """Give where each record begins with its length: where the one before it ends, or its batch begins."""
    columns = run.columns
    begins = np.empty(len(columns.end), np.int64)
    begins[1:] = columns.end[:-1]
    firsts = columns.batch.searchsorted(np.arange(len(run.blocks)))
    for first, block in zip(firsts.tolist(), run.blocks, strict=True):
        if block.record_count:
            begins[first] = block.start
    return begins


def _without_timestamp_field(run: Run, records: Places) -> Iterator[tuple[int, bytes]]:
    columns: RecordColumns = run.columns
    data = run.data
    for timestamp, start, end in zip(
        columns.timestamp[records].tolist(),
        columns.timestamp_end[records].tolist(),
        columns.end[records].tolist(),
        strict=True,
    ):
        yield timestamp, bytes(data[start:end])


def _told_timestamp(header: BatchHeader, max_timestamp: int) -> int:
    return header.max_timestamp if header.uses_log_append_time else max_timestamp
