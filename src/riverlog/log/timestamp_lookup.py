"""Find records by their timestamps, also inside a batch (ListOffsets by time, and the largest of all).

A batch's header says its largest timestamp only. So a look-up goes by index and headers to the first batch
that can hold the record, then through the timestamps of its records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.errors import CorruptBatch, RemoteProtocolError
from riverlog.log.results import FoundOffset
from riverlog.protocol.records import read_heads

if TYPE_CHECKING:
    from riverlog.log.segment import Segment
    from riverlog.log.segment_chain import SegmentChain
    from riverlog.protocol.batches import BatchHeader
    from riverlog.protocol.records import RecordHead


def first_since(chain: SegmentChain, timestamp: int, start_offset: int) -> FoundOffset | None:
    """Find the first record from `start_offset` on with at least `timestamp`.

    Raises OSError, CorruptBatch.
    """
    while (found := chain.find_timestamp(timestamp, start_offset)) is not None:
        segment, position, header = found
        for head in _heads(segment, position, header):
            if head.timestamp >= timestamp and head.offset >= start_offset:
                return FoundOffset(head.offset, head.timestamp, header.leader_epoch)
        # What is young enough in this batch lies before the start.
        start_offset = header.next_offset
    return None


def latest(chain: SegmentChain, start_offset: int) -> FoundOffset | None:
    """Find the first record from `start_offset` on with the largest timestamp.

    Raises OSError, CorruptBatch.
    """
    best: FoundOffset | None = None
    # The batch that the start lies in counts with the records behind the start only.
    first = chain.find(start_offset)
    for found in (first, chain.find_largest_timestamp(start_offset)):
        if found is not None:
            segment, position, header = found
            for head in _heads(segment, position, header):
                if head.offset >= start_offset and (best is None or head.timestamp > best.timestamp):
                    best = FoundOffset(head.offset, head.timestamp, header.leader_epoch)
    return best if best is not None and best.timestamp >= 0 else None


def _heads(segment: Segment, position: int, header: BatchHeader) -> list[RecordHead]:
    try:
        return list(read_heads(segment.read_batch(position, header)))
    except RemoteProtocolError as error:
        raise CorruptBatch(str(error), path=segment.log_path, position=position) from error
