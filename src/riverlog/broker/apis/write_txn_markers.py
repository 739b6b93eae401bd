"""WriteTxnMarkers (key 27), versions 1-2: end transactions in the partitions that they touched.

Between Kafka's brokers this is how a coordinator reaches the leaders. Here coordinator and partitions are
in one process; who sends it is the tool that aborts a transaction nobody coordinates any more (KIP-664).
Version 2 tells the transaction's version, thus whether the marker's epoch must be a new one (KIP-890).

Every marker is appended before any is waited for, so that one fsync serves them all. The answer lists each
producer once, and each of its partitions once: where several markers named it, the last one's outcome.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.broker.transaction_markers import write_marker
from riverlog.protocol import messages
from riverlog.types import TopicPartition

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


async def answer(
    broker: Broker, request: messages.WriteTxnMarkersRequest, _context: Context
) -> messages.WriteTxnMarkersResponse:
    """Write each marker into each of its partitions; answer when all are on the disk."""
    written = [
        (marker.producer_id, topic.name, index, _write(broker, marker, topic.name, index))
        for marker in request.markers
        for topic in marker.topics
        for index in topic.partition_indexes
    ]
    by_producer: dict[int, dict[str, dict[int, int]]] = {each.producer_id: {} for each in request.markers}
    for producer_id, topic, index, outcome in written:
        by_producer[producer_id].setdefault(topic, {})[index] = await outcome
    return messages.WriteTxnMarkersResponse(
        markers=[
            messages.WritableTxnMarkerResult(producer_id=producer_id, topics=_topics(topics))
            for producer_id, topics in by_producer.items()
        ]
    )


def _write(broker: Broker, marker: messages.WritableTxnMarker, topic: str, index: int) -> asyncio.Future[int]:
    return write_marker(
        broker,
        TopicPartition(topic, index),
        marker.producer_id,
        marker.producer_epoch,
        is_commit=marker.transaction_result,
        coordinator_epoch=marker.coordinator_epoch,
        transaction_version=marker.transaction_version,
    )


def _topics(topics: dict[str, dict[int, int]]) -> list[messages.WritableTxnMarkerTopicResult]:
    return [
        messages.WritableTxnMarkerTopicResult(
            name=name,
            partitions=[
                messages.WritableTxnMarkerPartitionResult(partition_index=index, error_code=error_code)
                for index, error_code in partitions.items()
            ],
        )
        for name, partitions in topics.items()
    ]


HANDLER = Handler(api_key=27, min_version=1, max_version=2, answer=answer)
