"""OffsetDelete (key 47), version 0: forget what a group has committed for some partitions.

Topics that a member reads are left alone (error 86); a group whose members do not say what they read has
to be empty (68). A partition that does not exist is refused by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


async def answer(
    broker: Broker, request: messages.OffsetDeleteRequest, _context: Context
) -> messages.OffsetDeleteResponse:
    """Delete what can be, and answer for each partition in the order of the request."""
    image = broker.cluster.image
    response = messages.OffsetDeleteResponse()
    partitions: list[tuple[str, int]] = []
    to_be_answered: list[messages.OffsetDeleteResponsePartition] = []
    for topic in request.topics:
        answered = messages.OffsetDeleteResponseTopic(name=topic.name)
        response.topics.append(answered)
        for partition in topic.partitions:
            one = messages.OffsetDeleteResponsePartition(partition_index=partition.partition_index)
            answered.partitions.append(one)
            if image.partition(topic.name, partition.partition_index) is None:
                one.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                partitions.append((topic.name, partition.partition_index))
                to_be_answered.append(one)
    reply = await broker.groups.delete_offsets(request.group_id, partitions)
    if reply.error_code:
        return messages.OffsetDeleteResponse(error_code=reply.error_code)
    for one, error_code in zip(to_be_answered, reply.partition_error_codes, strict=True):
        one.error_code = error_code
    return response


HANDLER = Handler(api_key=47, min_version=0, max_version=0, answer=answer)
