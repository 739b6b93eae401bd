"""DescribeQuorum (key 55), versions 0-2: who decides on the cluster's metadata.

In Apache Kafka that is a group of controllers with a log, `__cluster_metadata`. Here a controller decides
alone, through the coordination store: it is shown as the one voter and leader of a log without offsets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import METADATA_TOPIC
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage


def answer(
    broker: Broker, request: messages.DescribeQuorumRequest, _context: Context
) -> messages.DescribeQuorumResponse:
    """Tell the controller, for the one partition there is."""
    image = broker.cluster.image
    return messages.DescribeQuorumResponse(
        topics=[
            messages.DescribeQuorumResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    describe(topic.topic_name, each.partition_index, image.controller_id, broker.now_ms())
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
        nodes=list(nodes(image)),
    )


def describe(
    topic: str, index: int, controller_id: int, now_ms: int
) -> messages.DescribeQuorumResponsePartitionData:
    """Tell the quorum of one partition."""
    if (topic, index) != (METADATA_TOPIC, 0):
        return messages.DescribeQuorumResponsePartitionData(
            partition_index=index,
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            error_message=f"there is no quorum for {topic}-{index}",
        )
    voter = messages.DescribeQuorumResponseReplicaState(
        replica_id=controller_id, last_fetch_timestamp=now_ms, last_caught_up_timestamp=now_ms
    )
    return messages.DescribeQuorumResponsePartitionData(
        partition_index=index, leader_id=controller_id, current_voters=[voter]
    )


def nodes(image: MetadataImage) -> Iterable[messages.DescribeQuorumResponseNode]:
    """Tell where the controller is reached."""
    controller = image.brokers.get(image.controller_id)
    if controller is not None:
        yield messages.DescribeQuorumResponseNode(
            node_id=controller.broker_id,
            listeners=[
                messages.DescribeQuorumResponseListener(name=each.listener, host=each.host, port=each.port)
                for each in controller.endpoints
            ],
        )


HANDLER = Handler(api_key=55, min_version=0, max_version=2, answer=answer)
