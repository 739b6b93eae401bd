"""After a crash: find where a partition's log is still whole, cut it there, rebuild what lies beside it.

    segments   [......sealed......][..........active......▒▒▒
                                       ▲ recovery point   ▲ torn
               below: on the disk,     from here on every byte is read and every CRC is checked;
               trusted                 the first batch that is not whole ends the log

- The walk starts at the last index entry below the recovery point, if the index fits the log there.
- Batches must follow each other in offset as well; a CRC alone does not notice a misplaced one.
- What is cut off is said in one line: partition, offset, bytes.
- Segments behind a cut are set aside like deleted ones: nothing may follow a gap.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, NamedTuple

from riverlog.log.header_walk import scan_batches
from riverlog.log.offset_index import RELATIVE_OFFSET_MAX
from riverlog.protocol.batches import CONTROL_BIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from riverlog.log.disk import Disk
    from riverlog.log.replay import Replay
    from riverlog.log.segment import Segment
    from riverlog.types import TopicPartition

logger = logging.getLogger("riverlog.log.recovery")


class Recovered(NamedTuple):
    """What a recovery found."""

    end_offset: int
    scanned_bytes: int
    dropped_bytes: int


def start_segment(base_offsets: list[int], recovery_point: int) -> int:
    """Give the number of the segment that holds the recovery point: there the check begins."""
    number = 0
    while number + 1 < len(base_offsets) and base_offsets[number + 1] <= recovery_point:
        number += 1
    return number


def recover_segments(
    disk: Disk,
    partition: TopicPartition,
    segments: list[Segment],
    recovery_point: int,
    index_interval_bytes: int,
    replay_from: Callable[[int], Replay],
    set_aside: Callable[[Segment], None],
) -> Recovered:
    """Check all segments from the recovery point on; cut the log behind the last good batch.

    `segments` loses those behind a cut. `replay_from(offset)` gives what takes in the good batches: it
    knows all before that offset already. Raises OSError, StorageError.
    """
    first = start_segment([segment.base_offset for segment in segments], recovery_point)
    for segment in segments[:first]:
        if not segment.has_indexes():
            segment.rebuild_indexes(index_interval_bytes)
    replay: Replay | None = None
    end_offset, scanned = 0, 0
    for number in range(first, len(segments)):
        segment = segments[number]
        file_size = segment.size
        position, begin_offset = segment.rewind_to_index_entry(max(recovery_point, segment.base_offset))
        replay = replay or replay_from(begin_offset)
        scanned += file_size - position
        end_offset, reason = _take_good_batches(
            disk, segment, file_size, max(begin_offset, end_offset), index_interval_bytes, replay
        )
        if reason:
            dropped = _cut_behind(disk, segments, number, file_size, set_aside)
            logger.warning(
                "%s: the log is cut at offset %d and %d bytes are dropped: %s (%s at byte %d)",
                partition,
                end_offset,
                dropped,
                reason,
                segment.log_path,
                segment.size,
            )
            return Recovered(end_offset, scanned, dropped)
        segment.seal()
    return Recovered(end_offset, scanned, 0)


def _take_good_batches(
    disk: Disk,
    segment: Segment,
    file_size: int,
    next_offset: int,
    index_interval_bytes: int,
    replay: Replay,
) -> tuple[int, str]:
    """Read on from the segment's present size; give the next offset, and why the rest is bad or ""."""
    last_offset_max = segment.base_offset + RELATIVE_OFFSET_MAX
    for run in scan_batches(disk, segment.open(), segment.size, file_size):
        for at, header in run.batches:
            last_offset = header.last_offset
            if not next_offset <= header.base_offset <= last_offset <= last_offset_max:
                return next_offset, f"offset {header.base_offset} stands where {next_offset} is next"
            if header.attributes & CONTROL_BIT:
                aborted = replay.take_control(header, run.buffer[at : at + header.size])
                if aborted is not None:
                    segment.transaction_index.append(aborted)
            else:
                replay.take(header)
            segment.note_batch(header.size, last_offset, header.records_timestamp, index_interval_bytes)
            next_offset = last_offset + 1
        if run.stop is not None and run.end < file_size:
            return next_offset, run.stop.value
    return next_offset, ""


def _cut_behind(
    disk: Disk,
    segments: list[Segment],
    number: int,
    file_size: int,
    set_aside: Callable[[Segment], None],
) -> int:
    """End the log with segment `number` at its present size; give how many bytes go."""
    segment = segments[number]
    later = segments[number + 1 :]
    del segments[number + 1 :]
    for each in later:
        set_aside(each)
    # All of this before anything is appended: if it were lost to another crash after that, what was cut
    # off would be back in the middle of the log.
    if later:
        disk.sync_directory(os.path.dirname(segment.path))
    file = segment.open()
    disk.ftruncate(file.fd, segment.size)
    disk.fdatasync(file.fd)
    segment.seal()
    return file_size - segment.size + sum(each.size for each in later)
