"""ElectLeaders (key 43), versions 0-2: give partitions their preferred leader, or any leader at all.

No list of partitions means all: then those that need no election are left out of the answer, and with
them most of it. An unclean election (from version 1 on) is done only for partitions without a leader.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.types import TopicPartition

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage, Refusal

PREFERRED, UNCLEAN = 0, 1


def answer(
    broker: Broker, request: messages.ElectLeadersRequest, _context: Context
) -> messages.ElectLeadersResponse:
    """Elect, and tell what became of each partition."""
    if request.election_type not in (PREFERRED, UNCLEAN):
        return messages.ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    asked = asked_partitions(broker.cluster.image, request)
    outcomes = broker.cluster.elect_leaders(asked, is_unclean=request.election_type == UNCLEAN)
    if request.topic_partitions is None:
        outcomes = without_needless(outcomes)
    return messages.ElectLeadersResponse(replica_election_results=by_topic(outcomes))


def asked_partitions(image: MetadataImage, request: messages.ElectLeadersRequest) -> list[TopicPartition]:
    """List the partitions asked for, each once."""
    if request.topic_partitions is None:
        return [
            TopicPartition(topic.name, index)
            for topic in image.topics.values()
            for index in range(len(topic.partitions))
        ]
    return list(
        dict.fromkeys(
            TopicPartition(topic.topic, index)
            for topic in request.topic_partitions
            for index in topic.partitions
        )
    )


def without_needless(
    outcomes: Mapping[TopicPartition, Refusal | None],
) -> dict[TopicPartition, Refusal | None]:
    """Leave out the partitions that need no election."""
    return {
        partition: refusal
        for partition, refusal in outcomes.items()
        if refusal is None or refusal.error_code != ErrorCode.ELECTION_NOT_NEEDED
    }


def by_topic(outcomes: Mapping[TopicPartition, Refusal | None]) -> list[messages.ReplicaElectionResult]:
    """Tell the outcomes as the protocol groups them."""
    grouped: dict[str, list[messages.ElectLeadersResponsePartitionResult]] = defaultdict(list)
    for (topic, index), refusal in outcomes.items():
        grouped[topic].append(
            messages.ElectLeadersResponsePartitionResult(
                partition_id=index,
                error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.message,
            )
        )
    return [
        messages.ReplicaElectionResult(topic=topic, partition_result=results)
        for topic, results in grouped.items()
    ]


HANDLER = Handler(api_key=43, min_version=0, max_version=2, answer=answer)
