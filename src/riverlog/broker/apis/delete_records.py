"""DeleteRecords (key 21), versions 0-2: let a partition's log start at a later offset.

-1 means the high watermark: everything that readers can see. An offset at or below the start is granted
and changes nothing; one above the high watermark is out of range. A topic without the clean-up policy
`delete`, and a coordinator's topic, keep their records. The answer tells where the log starts now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import INTERNAL_TOPICS
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

NO_LOW_WATERMARK = -1


def answer(
    broker: Broker, request: messages.DeleteRecordsRequest, _context: Context
) -> messages.DeleteRecordsResponse:
    """Shorten each log, and tell where it starts now."""
    topics = []
    for topic in request.topics:
        # By number: a partition asked for twice is answered once, by the last.
        partitions = {
            each.partition_index: _delete_before(broker, topic.name, each.partition_index, each.offset)
            for each in topic.partitions
        }
        topics.append(
            messages.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    messages.DeleteRecordsPartitionResult(
                        partition_index=index, low_watermark=low_watermark, error_code=error_code
                    )
                    for index, (error_code, low_watermark) in partitions.items()
                ],
            )
        )
    return messages.DeleteRecordsResponse(topics=topics)


def _delete_before(broker: Broker, topic: str, index: int, offset: int) -> tuple[int, int]:
    if topic in INTERNAL_TOPICS:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, NO_LOW_WATERMARK
    log = broker.partitions.find(topic, index)
    if log is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_LOW_WATERMARK
    if log.is_offline is not None:
        return ErrorCode.KAFKA_STORAGE_ERROR, NO_LOW_WATERMARK
    start_before = log.log_start_offset
    error_code, log_start_offset = log.delete_records_before(offset)
    if error_code:
        return error_code, NO_LOW_WATERMARK
    if log_start_offset != start_before:
        # Sessions tell their consumers of a new start even where there is nothing to read.
        broker.waiters.appended(log)
    return ErrorCode.NONE, log_start_offset


HANDLER = Handler(api_key=21, min_version=0, max_version=2, answer=answer)
