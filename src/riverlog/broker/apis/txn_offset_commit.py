"""TxnOffsetCommit (key 28), versions 0-5: a group's positions, committed if and when the transaction is.

    the group's partition of the offsets topic is part of the transaction ─▶ offsets, undecided ─▶ marker

- Before version 5 the partition was named with AddOffsetsToTxn, and the coordinator is asked whether it was;
  from version 5 on it is added here (KIP-890).
- From version 3 on the request names the member whose work it commits, which fences zombies (KIP-447).
- A partition that does not exist is refused by itself; what is left is committed or refused as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.broker.transactional_writes import admit
from riverlog.groups import Commit, OffsetToCommit
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import ProducerIdentity

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

FIRST_VERSION_THAT_KNOWS_ABORTABLE = 4
FIRST_VERSION_THAT_ADDS = 5
FIRST_VERSION_WITH_MEMBER = 3

LAST_COMMIT_VERSION_WITHOUT_MISSING_GROUPS = 8
"""The version of OffsetCommit whose errors these requests know."""


async def answer(
    broker: Broker, request: messages.TxnOffsetCommitRequest, context: Context
) -> messages.TxnOffsetCommitResponse:
    """Commit what can be, and answer for each partition in the order of the request."""
    image = broker.cluster.image
    response = messages.TxnOffsetCommitResponse()
    offsets: list[OffsetToCommit] = []
    to_be_answered: list[messages.TxnOffsetCommitResponsePartition] = []
    for asked in request.topics:
        topic = image.topic(asked.name)
        answered = messages.TxnOffsetCommitResponseTopic(name=asked.name)
        response.topics.append(answered)
        for partition in asked.partitions:
            index = partition.partition_index
            one = messages.TxnOffsetCommitResponsePartition(partition_index=index)
            answered.partitions.append(one)
            if topic is None or not 0 <= index < len(topic.partitions):
                one.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            offsets.append(
                OffsetToCommit(
                    topic.name,
                    topic.topic_id,
                    index,
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    partition.committed_metadata,
                )
            )
            to_be_answered.append(one)
    if offsets:
        error_codes = await _commit(broker, request, context.api_version, offsets)
        for one, error_code in zip(to_be_answered, error_codes, strict=True):
            one.error_code = error_code
    return response


async def _commit(
    broker: Broker, request: messages.TxnOffsetCommitRequest, version: int, offsets: list[OffsetToCommit]
) -> list[int]:
    """Give an error code for each offset."""
    partition = broker.groups.offsets_partition_of(request.group_id)
    if isinstance(partition, ErrorCode):
        return [partition] * len(offsets)
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    refused = admit(
        broker,
        request.transactional_id,
        producer,
        (partition,),
        adds=version >= FIRST_VERSION_THAT_ADDS,
        knows_abortable=version >= FIRST_VERSION_THAT_KNOWS_ABORTABLE,
    )
    if not isinstance(refused, dict):
        refused = await refused
    if refused:
        return [refused[partition]] * len(offsets)
    knows_member = version >= FIRST_VERSION_WITH_MEMBER
    reply = await broker.groups.commit_offsets(
        Commit(
            LAST_COMMIT_VERSION_WITHOUT_MISSING_GROUPS,
            request.group_id,
            request.generation_id if knows_member else -1,
            request.member_id if knows_member else "",
            request.group_instance_id if knows_member else None,
            offsets,
            producer=producer,
        )
    )
    return reply.error_codes


HANDLER = Handler(api_key=28, min_version=0, max_version=5, answer=answer)
