"""OffsetForLeaderEpoch (key 23), versions 2-4: where a leader epoch ends in a log.

Who has read in some epoch learns whether what it read is still there: the answer is the largest epoch
that is at most the one asked for, and the offset where the next one begins, or the log's end (KIP-320).
An unknown epoch is answered by -1 and -1. The client's own idea of the leader epoch is checked first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.broker.leader_epochs import epoch_error
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer(
    broker: Broker, request: messages.OffsetForLeaderEpochRequest, _context: Context
) -> messages.OffsetForLeaderEpochResponse:
    """Tell for each partition where the epoch ends."""
    return messages.OffsetForLeaderEpochResponse(
        topics=[
            messages.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_end_of_epoch(broker, topic.topic, each) for each in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _end_of_epoch(
    broker: Broker, topic: str, asked: messages.OffsetForLeaderPartition
) -> messages.OffsetForLeaderEpochResponseEpochEndOffset:
    log = broker.partitions.find(topic, asked.partition)
    if log is None:
        error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif log.is_offline is not None:
        error_code = ErrorCode.KAFKA_STORAGE_ERROR
    else:
        error_code = epoch_error(asked.current_leader_epoch, log.leader_epoch)
    if error_code or log is None:
        return messages.OffsetForLeaderEpochResponseEpochEndOffset(
            error_code=error_code, partition=asked.partition
        )
    leader_epoch, end_offset = log.end_offset_for_epoch(asked.leader_epoch)
    return messages.OffsetForLeaderEpochResponseEpochEndOffset(
        partition=asked.partition, leader_epoch=leader_epoch, end_offset=end_offset
    )


HANDLER = Handler(api_key=23, min_version=2, max_version=4, answer=answer)
