"""Which segments have outlived their use, and how long others have left. Pure: facts and settings in, a count
or a forecast out.

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


class Outlook(NamedTuple):
    """How long the segment that holds an offset stays, if the settings do. None: that limit never ends it."""

    left_ms: int | None
    """Until it is too old; negative once it is."""
    left_bytes: int | None
    """That may still be written before it is too much; 0 or less once it is."""
    left_share: float
    """What is left of the limit that comes first, from 1 (all of it) to 0 (the next look deletes it)."""


STAYS = Outlook(None, None, 1.0)
"""No limit ends it."""


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


def foresee(
    segments: Sequence[SegmentFacts],
    newest_ms: Callable[[int], int],
    offset: int,
    *,
    now_ms: int,
    retention_ms: int,
    retention_bytes: int,
) -> Outlook:
    """Tell how far the segment that holds `offset` is from being counted by `count_expired`.

    [0..99][100..199][200..299]   offset 120: the age of the older of the first two, the bytes of the last one
    """
    number = next((number for number, each in enumerate(segments) if each.end_offset > offset), None)
    if number is None:
        return STAYS
    left_ms = left_bytes = None
    left_share = 1.0
    if retention_ms != UNLIMITED:
        # The older ones go first, so the youngest record among them and itself decides.
        left_ms = max(map(newest_ms, range(number + 1))) + retention_ms - now_ms
        left_share = left_ms / retention_ms if retention_ms else 0.0
    if retention_bytes != UNLIMITED:
        left_bytes = retention_bytes - sum(segment.size for segment in segments[number + 1 :])
        left_share = min(left_share, left_bytes / retention_bytes if retention_bytes else 0.0)
    return Outlook(left_ms, left_bytes, min(max(left_share, 0.0), 1.0))


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
