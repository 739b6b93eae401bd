"""What of a log may be cleaned, which log first, and which of its segments become one. Pure.

    [ clean ........ | dirty ................ | may not be cleaned ...........]
    log start        first dirty              end                       log end

    clean   the last cleaning got this far: it holds each key once
    end     the base offset of a segment. Behind it lie: the active segment, whatever is above the last stable
            offset (thus above the high watermark, or in an open transaction), and records that are younger
            than `min.compaction.lag.ms`

A log is due once more than `min.cleanable.dirty.ratio` of what may be cleaned is dirty, or once its oldest
dirty record is older than `max.compaction.lag.ms`. The dirtiest of those that are due comes first. Kafka's
rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from riverlog.log.offset_index import RELATIVE_OFFSET_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class SegmentPlace(Protocol):
    """What of a segment costs nothing to know."""

    @property
    def base_offset(self) -> int: ...

    @property
    def size(self) -> int: ...


class Offsets(NamedTuple):
    """Where a log stands."""

    log_start: int
    cleaned: int
    """As the last cleaning left it; may have been overtaken by the log's start, or cut off."""
    last_stable: int
    log_end: int


class Lags(NamedTuple):
    """For how long records must, and may at most, stay as they came."""

    min_ms: int
    max_ms: int


class Cleanable(NamedTuple):
    """What of a log may be cleaned now."""

    first_dirty: int
    end: int
    clean_bytes: int
    dirty_bytes: int
    overdue_ms: int
    """How long ago its oldest dirty record should have been cleaned at the latest; 0 if it need not have."""

    @property
    def dirty_ratio(self) -> float:
        """Which share of it was written since the last cleaning."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_due(self, dirty_ratio_min: float) -> bool:
        """Say whether it is worth the work, or cannot wait."""
        return self.dirty_bytes > 0 and (self.overdue_ms > 0 or self.dirty_ratio > dirty_ratio_min)


def find_cleanable(
    segments: Sequence[SegmentPlace],
    offsets: Offsets,
    lags: Lags,
    now_ms: int,
    *,
    largest_timestamp: Callable[[int], int],
    first_timestamp: Callable[[int], int],
) -> Cleanable:
    """Tell what may be cleaned of a log with these segments, of which the last is the active one.

    The timestamps of segment n, the largest one and the first batch's, are asked for only if they matter.
    """
    active = len(segments) - 1
    first_dirty = offsets.cleaned
    if not offsets.log_start <= first_dirty <= offsets.log_end:
        first_dirty = offsets.log_start
    first_dirty_segment = _number_holding(segments, first_dirty)
    end_segment = min(_number_holding(segments, offsets.last_stable), active)
    if lags.min_ms > 0:
        for number in range(first_dirty_segment, end_segment):
            if largest_timestamp(number) > now_ms - lags.min_ms:
                end_segment = number
                break
    end = segments[end_segment].base_offset
    overdue_ms = 0
    if lags.max_ms < now_ms:
        stamps = [first_timestamp(number) for number in range(first_dirty_segment, active)]
        oldest = min((stamp for stamp in stamps if stamp > 0), default=now_ms)
        overdue_ms = max(now_ms - lags.max_ms - oldest, 0)
    first_dirty = min(first_dirty, end)
    dirty_from = min(first_dirty_segment, end_segment)
    return Cleanable(
        first_dirty,
        end,
        sum(segment.size for segment in segments[:dirty_from]),
        sum(segment.size for segment in segments[dirty_from:end_segment]),
        overdue_ms,
    )


Log = TypeVar("Log")


def dirtiest(due: Iterable[tuple[Log, Cleanable]]) -> tuple[Log, Cleanable] | None:
    """Give the log of which the largest share is dirty."""
    return max(due, key=lambda each: each[1].dirty_ratio, default=None)


class SegmentSizes(NamedTuple):
    """How much a sealed segment adds to the one that it becomes a part of."""

    base_offset: int
    size: int
    offset_index_bytes: int
    time_index_bytes: int


def group_segments(
    segments: Sequence[SegmentSizes], end: int, *, segment_bytes: int, index_bytes: int
) -> list[list[SegmentSizes]]:
    """Put neighbours together as far as one segment may hold them all, even if nothing of them goes.

    [60 MB][30 MB][5 MB][80 MB] | 100 MB at the most -> [60 + 30 + 5][80]        `end`: behind the last one
    """
    groups: list[list[SegmentSizes]] = []
    size = offset_index_bytes = time_index_bytes = 0
    for number, segment in enumerate(segments):
        ends_at = segments[number + 1].base_offset if number + 1 < len(segments) else end
        size += segment.size
        offset_index_bytes += segment.offset_index_bytes
        time_index_bytes += segment.time_index_bytes
        if (
            groups
            and size <= segment_bytes
            and max(offset_index_bytes, time_index_bytes) <= index_bytes
            and (not segment.size or ends_at - 1 - groups[-1][0].base_offset <= RELATIVE_OFFSET_MAX)
        ):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            _, size, offset_index_bytes, time_index_bytes = segment
    return groups


def _number_holding(segments: Sequence[SegmentPlace], offset: int) -> int:
    """Give the number of the segment that would hold `offset`; the first one for what is gone."""
    number = 0
    while number + 1 < len(segments) and segments[number + 1].base_offset <= offset:
        number += 1
    return number
