"""OffsetFetch (key 9), versions 1-10: what groups have committed.

- No list of topics means all that the group has committed for (from version 2 on).
- Versions 1-7 ask about one group, later ones about many; version 10 names topics by id.
- A partition without a commit, known or not, has offset -1 and no error.
- `require_stable` (version 7 on): a partition that an open transaction commits for has error 88.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.groups import FetchedOffset, OffsetFetchReply, WantedTopic
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage

FIRST_VERSION_WITH_GROUP_ERRORS = 2
FIRST_VERSION_WITH_MANY_GROUPS = 8
FIRST_VERSION_WITH_TOPIC_IDS = 10

NO_OFFSET = -1
NO_TOPIC_ID = bytes(16)


async def answer(
    broker: Broker, request: messages.OffsetFetchRequest, context: Context
) -> messages.OffsetFetchResponse:
    """Ask for each group."""
    version = context.api_version
    if version >= FIRST_VERSION_WITH_MANY_GROUPS:
        groups = [_answer_group(broker, group, request.require_stable, version) for group in request.groups]
        return messages.OffsetFetchResponse(groups=list(await asyncio.gather(*groups)))
    wanted = _wanted(broker.cluster.image, request.topics)
    reply = await broker.groups.fetch_offsets(request.group_id, wanted, require_stable=request.require_stable)
    if reply.error_code and version < FIRST_VERSION_WITH_GROUP_ERRORS:
        reply = _spread(reply.error_code, wanted or ())
    return messages.OffsetFetchResponse(
        error_code=reply.error_code,
        topics=[
            messages.OffsetFetchResponseTopic(name=name, partitions=[_told(each) for each in partitions])
            for name, partitions in reply.topics
        ],
    )


async def _answer_group(
    broker: Broker, group: messages.OffsetFetchRequestGroup, require_stable: bool, version: int
) -> messages.OffsetFetchResponseGroup:
    image = broker.cluster.image
    response = messages.OffsetFetchResponseGroup(group_id=group.group_id)
    by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
    known, unknown = _by_id(image, group.topics) if by_id else (group.topics, [])
    reply = await broker.groups.fetch_offsets(
        group.group_id,
        _wanted(image, known),
        require_stable=require_stable,
        member_id=group.member_id,
        member_epoch=group.member_epoch,
    )
    response.error_code = reply.error_code
    for name, partitions in reply.topics:
        topic = image.topic(name)
        if by_id and topic is None:
            continue  # it is gone, so there is no id to tell it by
        response.topics.append(
            messages.OffsetFetchResponseTopics(
                name=name,
                topic_id=NO_TOPIC_ID if topic is None else topic.topic_id,
                partitions=[_told_of_many(each) for each in partitions],
            )
        )
    if not reply.error_code:
        response.topics += unknown
    return response


def _by_id(
    image: MetadataImage, asked: Sequence[messages.OffsetFetchRequestTopics] | None
) -> tuple[list[messages.OffsetFetchRequestTopics] | None, list[messages.OffsetFetchResponseTopics]]:
    """Find the names of topics asked for by id; and answer for the ids that nobody has."""
    if asked is None:
        return None, []
    known, unknown = [], []
    for each in asked:
        topic = image.topic(each.topic_id)
        if topic is not None:
            each.name = topic.name
            known.append(each)
            continue
        nobody = [
            _told_of_many(FetchedOffset(index, None, ErrorCode.UNKNOWN_TOPIC_ID))
            for index in each.partition_indexes
        ]
        unknown.append(messages.OffsetFetchResponseTopics(topic_id=each.topic_id, partitions=nobody))
    return known, unknown


def _wanted(
    image: MetadataImage,
    asked: Sequence[messages.OffsetFetchRequestTopic | messages.OffsetFetchRequestTopics] | None,
) -> list[WantedTopic] | None:
    if asked is None:
        return None
    return [
        WantedTopic(
            each.name,
            NO_TOPIC_ID if (topic := image.topic(each.name)) is None else topic.topic_id,
            each.partition_indexes,
        )
        for each in asked
    ]


def _spread(error_code: int, wanted: Sequence[WantedTopic]) -> OffsetFetchReply:
    """Give each partition the error that concerns all: version 1 has no other place for it."""
    topics = [
        (topic, [FetchedOffset(partition, None, error_code) for partition in partitions])
        for topic, _, partitions in wanted
    ]
    return OffsetFetchReply(error_code, topics)


def _told(fetched: FetchedOffset) -> messages.OffsetFetchResponsePartition:
    partition, committed, error_code = fetched
    if committed is None:
        return messages.OffsetFetchResponsePartition(
            partition_index=partition, committed_offset=NO_OFFSET, metadata="", error_code=error_code
        )
    return messages.OffsetFetchResponsePartition(
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def _told_of_many(fetched: FetchedOffset) -> messages.OffsetFetchResponsePartitions:
    partition, committed, error_code = fetched
    if committed is None:
        return messages.OffsetFetchResponsePartitions(
            partition_index=partition, committed_offset=NO_OFFSET, metadata="", error_code=error_code
        )
    return messages.OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


HANDLER = Handler(api_key=9, min_version=1, max_version=10, answer=answer)
