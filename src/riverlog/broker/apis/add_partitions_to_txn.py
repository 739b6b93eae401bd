"""AddPartitionsToTxn (key 24), versions 0-5: partitions that a transaction is about to write to.

- Older clients name each partition here before they produce to it; newer ones leave that to the broker, which
  finds the partitions in their Produce requests (KIP-890).
- All partitions of a transaction are added or none is: if one does not exist, the others are not attempted.
- Versions 4 and up are for many transactions at once, and can ask whether partitions are part of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.fencing import fencing_error
from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import ProducerIdentity
from riverlog.types import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

FIRST_VERSION_WITH_MANY = 4
FIRST_VERSION_WITH_PRODUCER_FENCED = 2
OLDER, NEWER = 0, 2
"""The `transaction.version` that a client goes by."""


async def answer(
    broker: Broker, request: messages.AddPartitionsToTxnRequest, context: Context
) -> messages.AddPartitionsToTxnResponse:
    """Add what can be added, and answer for each partition."""
    version = context.api_version
    if version < FIRST_VERSION_WITH_MANY:
        errors = await _added(
            broker,
            request.v3_and_below_transactional_id,
            ProducerIdentity(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch),
            _partitions(request.v3_and_below_topics),
            OLDER,
        )
        if version < FIRST_VERSION_WITH_PRODUCER_FENCED:
            errors = {each: fencing_error(error) for each, error in errors.items()}
        return messages.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_results(errors))
    return messages.AddPartitionsToTxnResponse(
        results_by_transaction=[
            messages.AddPartitionsToTxnResult(
                transactional_id=each.transactional_id, topic_results=_results(await _answered(broker, each))
            )
            for each in request.transactions
        ]
    )


async def _answered(
    broker: Broker, asked: messages.AddPartitionsToTxnTransaction
) -> dict[TopicPartition, int]:
    producer = ProducerIdentity(asked.producer_id, asked.producer_epoch)
    partitions = _partitions(asked.topics)
    if asked.verify_only:
        return {**await broker.transactions.verify(asked.transactional_id, producer, partitions)}
    return await _added(broker, asked.transactional_id, producer, partitions, NEWER)


async def _added(
    broker: Broker,
    transactional_id: str,
    producer: ProducerIdentity,
    partitions: list[TopicPartition],
    version: int,
) -> dict[TopicPartition, int]:
    """Give an error code for each partition."""
    if not transactional_id:
        return dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST)
    absent = {each for each in partitions if not _is_there(broker, each)}
    if absent:
        return {
            each: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if each in absent
            else ErrorCode.OPERATION_NOT_ATTEMPTED
            for each in partitions
        }
    reply = await broker.transactions.add_partitions_after_end(
        transactional_id, producer, partitions, version
    )
    return dict.fromkeys(partitions, reply.error_code)


def _is_there(broker: Broker, partition: TopicPartition) -> bool:
    topic = broker.cluster.image.topic(partition.topic)
    return topic is not None and 0 <= partition.partition < len(topic.partitions)


def _partitions(topics: Iterable[messages.AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]


def _results(errors: dict[TopicPartition, int]) -> list[messages.AddPartitionsToTxnTopicResult]:
    by_topic: dict[str, list[messages.AddPartitionsToTxnPartitionResult]] = {}
    for (topic, index), error_code in errors.items():
        by_topic.setdefault(topic, []).append(
            messages.AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error_code)
        )
    return [
        messages.AddPartitionsToTxnTopicResult(name=topic, results_by_partition=results)
        for topic, results in by_topic.items()
    ]


HANDLER = Handler(api_key=24, min_version=0, max_version=5, answer=answer)
