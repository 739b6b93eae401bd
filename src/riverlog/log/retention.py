"""Which segments have outlived their use. Pure: facts and settings in, a count out.

    segments, oldest first   [0..99][100..199][200..299]▸active
    always from the oldest on, without a gap; never what is above the high watermark; -1 means for ever

The three reasons are asked one after the other, as an operator thinks of them: too old, too much, no longer
part of the log (DeleteRecords moved its start).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

UNLIMITED = -1


class SegmentFacts(NamedTuple):
    """What retention needs to know of one segment, but for its age: that may cost a look at the disk."""

    end_offset: int
    size: int


def count_expired(
    segments: Sequence[SegmentFacts],
    newest_ms: Callable[[int], int],
    *,
    now_ms: int,
    retention_ms: int,
    retention_bytes: int,
    log_start_offset: int,
    high_watermark: int,
) -> int:
    """Count the segments, from the oldest on, that are to be deleted. It may be all of them.

    `newest_ms(n)` is the largest timestamp in segment n, asked for only as far as it matters.
    """
    deletable = _count_deletable(segments, high_watermark)
    count = 0
    if retention_ms != UNLIMITED:
        while count < deletable and now_ms - newest_ms(count) > retention_ms:
            count += 1
    if retention_bytes != UNLIMITED:
        surplus = sum(segment.size for segment in segments[count:]) - retention_bytes
        while count < deletable and surplus >= segments[count].size:
            surplus -= segments[count].size
            count += 1
    while count < min(deletable, len(segments) - 1) and segments[count].end_offset <= log_start_offset:
        count += 1
    return count


def _count_deletable(segments: Sequence[SegmentFacts], high_watermark: int) -> int:
    """Leave alone what is not replicated yet, and an empty newest segment: there is nothing to gain."""
    count = 0
    for segment in segments:
        if segment.end_offset > high_watermark:
            break
        count += 1
    if count == len(segments) and segments and not segments[-1].size:
        count -= 1
    return count
