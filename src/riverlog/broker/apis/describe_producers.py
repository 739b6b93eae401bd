"""DescribeProducers (key 61), version 0: the idempotent producers that a partition remembers (KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import illegality
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer(
    broker: Broker, request: messages.DescribeProducersRequest, _context: Context
) -> messages.DescribeProducersResponse:
    """Tell the producers of each partition."""
    return messages.DescribeProducersResponse(
        topics=[
            messages.TopicResponse(
                name=topic.name,
                partitions=[_describe(broker, topic.name, index) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _describe(broker: Broker, topic: str, index: int) -> messages.PartitionResponse:
    why = illegality(topic)
    if why is not None:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
        return messages.PartitionResponse(partition_index=index, error_code=code, error_message=why)
    log = broker.partitions.find(topic, index)
    if log is None:
        code, text = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{index}"
        return messages.PartitionResponse(partition_index=index, error_code=code, error_message=text)
    return messages.PartitionResponse(
        partition_index=index,
        active_producers=[
            messages.ProducerState(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.open_transaction_offset,
            )
            for producer in log.producers()
        ],
    )


HANDLER = Handler(api_key=61, min_version=0, max_version=0, answer=answer)
