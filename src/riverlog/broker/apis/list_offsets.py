"""ListOffsets (key 2), versions 1-11: offsets by time, and the ends of a log.

    timestamp   >= 0  the first record with at least that time, anywhere in a batch; none: -1 and -1
                  -1  the end: the high watermark, or under read_committed the last stable offset
                  -2  the start                  -3  the record with the largest time (version 7)
                  -4  the start of what is here, which is all there is (version 8)
                  -5  the end of what is in tiered storage: there is none, -1 (version 9)
                  -6  the start of what waits for tiered storage: likewise (version 11)

Each answer carries the leader epoch of the record found. After an election the end is not known until
the high watermark has reached the new epoch: the client is told to ask again. A partition that is asked
for twice is refused.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from riverlog.broker.handler import Handler
from riverlog.broker.leader_epochs import epoch_error
from riverlog.errors import StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.log import PartitionLog

READ_UNCOMMITTED, READ_COMMITTED = 0, 1

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

FIRST_VERSION = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE = 5


class Listed(NamedTuple):
    """One partition's answer."""

    error_code: int
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1


NOTHING_FOUND = Listed(ErrorCode.NONE)


def answer(
    broker: Broker, request: messages.ListOffsetsRequest, context: Context
) -> messages.ListOffsetsResponse:
    """List an offset for each partition."""
    asked = Counter(
        (topic.name, each.partition_index) for topic in request.topics for each in topic.partitions
    )
    topics = []
    for topic in request.topics:
        partitions = []
        for each in topic.partitions:
            if asked[topic.name, each.partition_index] > 1:
                listed = Listed(ErrorCode.INVALID_REQUEST)
            else:
                log = broker.partitions.find(topic.name, each.partition_index)
                listed = list_offset(log, each, request.isolation_level, context.api_version)
            partitions.append(
                messages.ListOffsetsPartitionResponse(
                    partition_index=each.partition_index,
                    error_code=listed.error_code,
                    timestamp=listed.timestamp,
                    offset=listed.offset,
                    leader_epoch=listed.leader_epoch,
                )
            )
        topics.append(messages.ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return messages.ListOffsetsResponse(topics=topics)


def list_offset(
    log: PartitionLog | None, asked: messages.ListOffsetsPartition, isolation_level: int, version: int
) -> Listed:
    """List one partition's offset, or say why not."""
    if log is None:
        return Listed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if log.is_offline is not None:
        return Listed(ErrorCode.KAFKA_STORAGE_ERROR)
    if isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        return Listed(ErrorCode.INVALID_REQUEST)
    if asked.timestamp < 0 and version < FIRST_VERSION.get(asked.timestamp, version + 1):
        return Listed(ErrorCode.UNSUPPORTED_VERSION)
    error_code = epoch_error(asked.current_leader_epoch, log.leader_epoch)
    if error_code:
        return Listed(error_code)
    try:
        return _look_up(
            log, asked.timestamp, read_committed=isolation_level == READ_COMMITTED, version=version
        )
    except StorageError:
        return Listed(ErrorCode.KAFKA_STORAGE_ERROR)


def _look_up(log: PartitionLog, timestamp: int, *, read_committed: bool, version: int) -> Listed:
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        is_empty = start == log.log_end_offset
        return Listed(ErrorCode.NONE, -1, start, log.leader_epoch if is_empty else log.epoch_at(start))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOTHING_FOUND
    end = log.last_stable_offset if read_committed else log.high_watermark
    if timestamp == LATEST:
        if end < start_of_leadership(log):
            return Listed(end_not_known(version))
        return Listed(ErrorCode.NONE, -1, end, log.leader_epoch)
    if timestamp == MAX_TIMESTAMP:
        found = log.max_timestamp(read_committed=read_committed)
    else:
        found = log.offset_for_timestamp(timestamp, read_committed=read_committed)
    if found is not None:
        return Listed(ErrorCode.NONE, found.timestamp, found.offset, found.leader_epoch)
    # What is not found below the end may still be found between the end and where this leader began.
    return Listed(end_not_known(version)) if end < start_of_leadership(log) else NOTHING_FOUND


def start_of_leadership(log: PartitionLog) -> int:
    """Find the offset where the current leader epoch begins."""
    _, end_of_former = log.end_offset_for_epoch(log.leader_epoch - 1)
    return max(end_of_former, log.log_start_offset)


def end_not_known(version: int) -> ErrorCode:
    """Tell the client to ask again; older versions have no number of their own for that."""
    is_known = version >= FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE
    return ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE


HANDLER = Handler(api_key=2, min_version=1, max_version=11, answer=answer)
