"""DescribeTopicPartitions (key 75), version 0: topics and partitions, page by page (KIP-966).

Topics come sorted by name, and no page has more partitions than the request's limit or
`max.request.partition.size.limit`. Where a page ends early, its cursor names the partition that the next
one begins with. No topics means all. What is not there is told only to those who named it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from riverlog.broker.apis.metadata import offline_partitions
from riverlog.broker.authorized_operations import ON_TOPIC
from riverlog.broker.handler import Handler
from riverlog.cluster import NO_LEADER, illegality
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage, Partition, Topic


class Cursor(NamedTuple):
    """Where a page begins."""

    topic: str
    partition: int


class Slice(NamedTuple):
    """A run of one topic's partitions on a page; of a name that no topic has, an empty one."""

    name: str
    topic: Topic | None
    start: int
    end: int


def answer(
    broker: Broker, request: messages.DescribeTopicPartitionsRequest, _context: Context
) -> messages.DescribeTopicPartitionsResponse:
    """Describe one page of topics."""
    asked = [topic.name for topic in request.topics]
    cursor = (
        None if request.cursor is None else Cursor(request.cursor.topic_name, request.cursor.partition_index)
    )
    if cursor is not None and cursor.partition < 0:
        return refused(asked)
    limit = min(request.response_partition_limit, broker.settings.admin.max_request_partition_size_limit)
    slices, following = page(broker.cluster.image, asked, cursor=cursor, limit=max(limit, 1))
    return messages.DescribeTopicPartitionsResponse(
        topics=describe(slices, lambda topic: offline_partitions(broker, topic), broker.node_id),
        next_cursor=following
        and messages.DescribeTopicPartitionsResponseCursor(
            topic_name=following.topic, partition_index=following.partition
        ),
    )


def page(
    image: MetadataImage, asked: Collection[str], *, cursor: Cursor | None, limit: int
) -> tuple[list[Slice], Cursor | None]:
    """Choose the partitions of one page, and where the next one begins; None after the last."""
    names = sorted(set(asked) or image.topics.keys())
    slices: list[Slice] = []
    for name in names:
        if cursor is not None and name < cursor.topic:
            continue
        topic = image.topic(name)
        if topic is None:
            slices.append(Slice(name, None, 0, 0))
            continue
        if limit <= 0:
            return slices, Cursor(name, 0)
        start = cursor.partition if cursor is not None and name == cursor.topic else 0
        end = min(start + limit, len(topic.partitions))
        slices.append(Slice(name, topic, start, end))
        limit -= max(end - start, 0)
        if end < len(topic.partitions):
            return slices, Cursor(name, end)
    return slices, None


def describe(
    slices: Iterable[Slice], offline_of: Callable[[Topic], Collection[int]], node_id: int
) -> list[messages.DescribeTopicPartitionsResponseTopic]:
    """Tell the topics of a page."""
    told = []
    for name, topic, start, end in slices:
        if topic is None:
            is_legal = illegality(name) is None
            told.append(
                messages.DescribeTopicPartitionsResponseTopic(
                    error_code=(
                        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                        if is_legal
                        else ErrorCode.INVALID_TOPIC_EXCEPTION
                    ),
                    name=name,
                    topic_authorized_operations=ON_TOPIC,
                )
            )
            continue
        offline = offline_of(topic)
        told.append(
            messages.DescribeTopicPartitionsResponseTopic(
                name=name,
                topic_id=topic.topic_id,
                is_internal=topic.is_internal,
                partitions=[
                    describe_partition(index, topic.partitions[index], node_id if index in offline else None)
                    for index in range(start, end)
                ],
                topic_authorized_operations=ON_TOPIC,
            )
        )
    return told


def describe_partition(
    index: int, partition: Partition, offline_replica: int | None
) -> messages.DescribeTopicPartitionsResponsePartition:
    """Tell one partition; an offline replica leads nothing."""
    is_led = partition.leader not in (NO_LEADER, offline_replica)
    return messages.DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE if is_led else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=partition.leader if is_led else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=[] if offline_replica is None else [offline_replica],
    )


def refused(names: Iterable[str]) -> messages.DescribeTopicPartitionsResponse:
    """Refuse a cursor that points nowhere."""
    return messages.DescribeTopicPartitionsResponse(
        topics=[
            messages.DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=name)
            for name in dict.fromkeys(names)
        ]
    )


HANDLER = Handler(api_key=75, min_version=0, max_version=0, answer=answer)
