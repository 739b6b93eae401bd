"""The segments of one partition, and finding one's way in them.

    [0..99][100..199][200..        ]
     first  sealed    active

Reads of the same log follow each other: where one ends, another begins. So the ends of the latest reads
are remembered as places, (segment, position) by the next offset, and a consumer that
keeps up finds its data without a look at an index. A place is only ever a shortcut.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from riverlog.log.open_files import FileSlice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from riverlog.log.segment import Segment
    from riverlog.protocol.batches import BatchHeader

PLACES_MAX = 64
"""Ends of reads remembered per partition: about one for each consumer."""


class SegmentChain:
    """Segments in the order of their base offsets; never empty. Methods raise OSError, CorruptBatch."""

    __slots__ = ("_places", "_segments", "active")

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments
        # The newest; the only one that grows.
        self.active = segments[-1]
        self._places: dict[int, tuple[Segment, int]] = {}

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __getitem__(self, number: int) -> Segment:
        return self._segments[number]

    def __reversed__(self) -> Iterator[Segment]:
        return reversed(self._segments)

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self._segments)

    def end_offset_of(self, number: int, log_end_offset: int) -> int:
        """Give the offset where segment `number` ends and the next one begins."""
        after = number + 1
        return self._segments[after].base_offset if after < len(self._segments) else log_end_offset

    def slice(
        self, offset: int, limit: int, log_end_offset: int, max_bytes: int, *, must_return_one_batch: bool
    ) -> tuple[FileSlice, int] | None:
        """Give whole batches from the one that holds `offset` on, up to `limit`, in one segment.

        Beside them stands the offset where they end. `limit` is a batch's beginning or the log end.
        None where `max_bytes` does not suffice for the first batch, unless that must be returned in any
        case.
        """
        places = self._places
        place = places.get(offset)
        if place is None or place[1] >= place[0].size:
            place = self._find_place(offset)
            if place is None:
                return None
        segment, position = place
        if limit == log_end_offset or (segment is not self.active and limit >= self.active.base_offset):
            end = segment.size
        else:
            end = self._position_of_limit(segment, limit)
        length = end - position
        next_offset = log_end_offset
        if length > max_bytes:
            boundary, next_offset = segment.boundary_at_most(position, position + max_bytes)
            length = boundary - position
            if not length:
                if not must_return_one_batch:
                    return None
                _, header = next(segment.headers(position))
                length, next_offset = header.size, header.next_offset
        elif length <= 0:
            return None
        elif segment is not self.active or limit != log_end_offset:
            # A sealed segment's end, or a limit inside of one: the next read looks for itself.
            return FileSlice(segment.open(), position, length), min(limit, self._end_of(segment, limit))
        places[next_offset] = (segment, position + length)
        if len(places) > PLACES_MAX:
            del places[next(iter(places))]
        return FileSlice(segment.file or segment.open(), position, length), next_offset

    def from_offset(self, offset: int) -> list[Segment]:
        """Give the segments from the one that would hold `offset` on."""
        number = self._number_holding(offset)
        return self._segments[number:] if number else self._segments

    def find_timestamp(self, timestamp: int, start_offset: int) -> tuple[Segment, int, BatchHeader] | None:
        """Find the first batch from `start_offset` on with a record of at least `timestamp`."""
        for number in range(self._number_holding(start_offset), len(self._segments)):
            segment = self._segments[number]
            found = segment.find_timestamp(timestamp, start_offset)
            if found is not None:
                return segment, *found
        return None

    def find_largest_timestamp(self, start_offset: int) -> tuple[Segment, int, BatchHeader] | None:
        """Find the first batch with the largest timestamp, of those that begin at `start_offset` or later."""
        segments = self._segments[self._number_holding(start_offset) :]
        segment = max(segments, key=lambda each: each.largest_timestamp)
        found = segment.find(segment.largest_timestamp_offset)
        if found is not None and found[1].base_offset >= start_offset:
            return segment, *found
        # It lies before the start, in the segment that the log starts in: only a look at all batches helps.
        candidates = (
            (each, position, header)
            for each in segments
            for position, header in each.headers()
            if header.base_offset >= start_offset
        )
        return max(candidates, key=lambda found: found[2].records_timestamp, default=None)

    def find(self, offset: int) -> tuple[Segment, int, BatchHeader] | None:
        """Find the first batch that holds `offset` or a larger one."""
        for number in range(self._number_holding(offset), len(self._segments)):
            segment = self._segments[number]
            found = segment.find(offset)
            if found is not None:
                return segment, *found
        return None

    def add(self, segment: Segment) -> None:
        """Let a new, empty segment be the active one."""
        assert segment.base_offset > self.active.base_offset
        self._segments.append(segment)
        self.active = segment

    def drop_first(self, count: int) -> list[Segment]:
        """Take the oldest segments out; at least one stays."""
        assert count < len(self._segments)
        dropped = self._segments[:count]
        del self._segments[:count]
        self._places.clear()
        return dropped

    def drop_after(self, number: int) -> list[Segment]:
        """Take out the segments behind number `number`, which is the active one from now on."""
        dropped = self._segments[number + 1 :]
        del self._segments[number + 1 :]
        self.active = self._segments[-1]
        self._places.clear()
        return dropped

    def replace_all(self, segment: Segment) -> list[Segment]:
        """Take out all segments and go on with a new one."""
        dropped, self._segments[:] = list(self._segments), [segment]
        self.active = segment
        self._places.clear()
        return dropped

    def replace(self, old: Sequence[Segment], segment: Segment) -> None:
        """Let one segment take the place of some sealed ones that follow each other."""
        first = self._segments.index(old[0])
        assert self._segments[first : first + len(old)] == list(old), "they follow each other"
        assert self.active not in old, "the active segment is never replaced"
        self._segments[first : first + len(old)] = [segment]
        self._places.clear()

    def forget_places(self) -> None:
        """Forget where reads ended."""
        self._places.clear()

    def _number_holding(self, offset: int) -> int:
        """Give the number of the segment that would hold `offset`; the first one for what is gone."""
        if offset >= self.active.base_offset:
            return len(self._segments) - 1
        return max(bisect_right(self._segments, offset, key=lambda segment: segment.base_offset) - 1, 0)

    def _end_of(self, segment: Segment, log_end_offset: int) -> int:
        if segment is self.active:
            return log_end_offset
        return self.end_offset_of(self._number_holding(segment.base_offset), log_end_offset)

    def _find_place(self, offset: int) -> tuple[Segment, int] | None:
        number = self._number_holding(offset)
        segment = self._segments[number]
        if offset == segment.base_offset and segment.size:
            return segment, 0
        found = self.find(offset)
        return (found[0], found[1]) if found is not None else None

    def _position_of_limit(self, segment: Segment, limit: int) -> int:
        place = self._places.get(limit)
        if place is not None and place[0] is segment:
            return place[1]
        found = segment.find(limit)
        return found[0] if found is not None else segment.size
