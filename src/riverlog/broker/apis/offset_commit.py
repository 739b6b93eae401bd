"""OffsetCommit (key 8), versions 2-10: a group's positions, kept in `__consumer_offsets`.

- A partition that does not exist is refused by itself; what is left is committed or refused as a whole.
- Version 10 names topics by id; the offsets are kept under the topic's name all the same, with the id.
- Versions 2-4 may ask for a retention time of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.groups import Commit, OffsetToCommit
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage, Topic

FIRST_VERSION_WITH_TOPIC_IDS = 10


async def answer(
    broker: Broker, request: messages.OffsetCommitRequest, context: Context
) -> messages.OffsetCommitResponse:
    """Commit what can be, and answer for each partition in the order of the request."""
    image = broker.cluster.image
    response = messages.OffsetCommitResponse()
    offsets: list[OffsetToCommit] = []
    to_be_answered: list[messages.OffsetCommitResponsePartition] = []
    for asked in request.topics:
        topic = _topic(image, asked, context.api_version)
        answered = messages.OffsetCommitResponseTopic(name=asked.name, topic_id=asked.topic_id)
        response.topics.append(answered)
        for partition in asked.partitions:
            index = partition.partition_index
            one = messages.OffsetCommitResponsePartition(partition_index=index)
            answered.partitions.append(one)
            if topic is None or not 0 <= index < len(topic.partitions):
                one.error_code = _why_unknown(topic, context.api_version)
            else:
                offsets.append(_offset(topic, partition))
                to_be_answered.append(one)
    if offsets:
        reply = await broker.groups.commit_offsets(_commit(request, context.api_version, offsets))
        for one, error_code in zip(to_be_answered, reply.error_codes, strict=True):
            one.error_code = error_code
    return response


def _topic(image: MetadataImage, asked: messages.OffsetCommitRequestTopic, version: int) -> Topic | None:
    return image.topic(asked.topic_id if version >= FIRST_VERSION_WITH_TOPIC_IDS else asked.name)


def _why_unknown(topic: Topic | None, version: int) -> ErrorCode:
    if topic is None and version >= FIRST_VERSION_WITH_TOPIC_IDS:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _offset(topic: Topic, partition: messages.OffsetCommitRequestPartition) -> OffsetToCommit:
    return OffsetToCommit(
        topic.name,
        topic.topic_id,
        partition.partition_index,
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata,
    )


def _commit(request: messages.OffsetCommitRequest, version: int, offsets: list[OffsetToCommit]) -> Commit:
    return Commit(
        version,
        request.group_id,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        offsets,
        request.retention_time_ms,
    )


HANDLER = Handler(api_key=8, min_version=2, max_version=10, answer=answer)
