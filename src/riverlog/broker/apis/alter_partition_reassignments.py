"""AlterPartitionReassignments (key 45), versions 0-1: move replicas to other brokers.

With one broker there is nowhere to move to: the only assignment that names registered brokers, each once,
is the one that is in force, and asking for it is granted. So is every refusal that Kafka has: unknown
partitions, assignments that cannot be, and cancelling (no replicas given) where nothing is under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import Refusal, assignment_error
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage


def answer(
    broker: Broker, request: messages.AlterPartitionReassignmentsRequest, _context: Context
) -> messages.AlterPartitionReassignmentsResponse:
    """Answer for each partition."""
    image = broker.cluster.image
    responses = []
    for topic in request.topics:
        refusals = {
            each.partition_index: verdict(image, topic.name, each.partition_index, each.replicas)
            for each in topic.partitions
        }
        partitions = [
            messages.ReassignablePartitionResponse(
                partition_index=index,
                error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.message,
            )
            for index, refusal in refusals.items()
        ]
        responses.append(messages.ReassignableTopicResponse(name=topic.name, partitions=partitions))
    return messages.AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=responses,
    )


def verdict(image: MetadataImage, topic: str, index: int, replicas: Sequence[int] | None) -> Refusal | None:
    """Judge one partition's reassignment; None grants it, since it is in force already."""
    partition = image.partition(topic, index)
    if partition is None:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{index}")
    if replicas is None:
        return Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "there is no reassignment to cancel")
    why = assignment_error(replicas, brokers=image.brokers.keys())
    if why is not None:
        return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    if tuple(replicas) != partition.replicas:
        return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "replicas stay on the brokers where they are")
    return None


HANDLER = Handler(api_key=45, min_version=0, max_version=1, answer=answer)
