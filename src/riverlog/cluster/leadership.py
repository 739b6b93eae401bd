"""Decides on leader epochs and leaders.

A new leader epoch marks where a log may have lost its unsynced end: consumers that read beyond learn
from it that what they read is gone (KIP-320). So a broker that comes back after a crash leads on in the
next epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from riverlog.cluster.changes import Change, Refusal
from riverlog.cluster.metadata_image import NO_LEADER, MetadataImage, Partition, Topic
from riverlog.cluster.stored_nodes import as_created, encode_partition, partition_path
from riverlog.coordination import ANY_VERSION, Create, Operation, Set
from riverlog.protocol.error_codes import ErrorCode
from riverlog.types import TopicPartition

PARTITIONS_PER_CHANGE = 1000
"""A topic of many partitions is changed in steps that each fit into one commit."""


def decide_new_epochs(image: MetadataImage, broker_id: int) -> Iterator[Change]:
    """Begin the next leader epoch of every partition that a broker leads."""
    for topic in image.topics.values():
        led = [index for index, partition in enumerate(topic.partitions) if partition.leader == broker_id]
        for start in range(0, len(led), PARTITIONS_PER_CHANGE):
            operations = []
            partitions = list(topic.partitions)
            for index in led[start : start + PARTITIONS_PER_CHANGE]:
                former = partitions[index]
                partitions[index] = _led_by(former, broker_id)
                operations.append(store_partition(topic.name, index, former, partitions[index]))
            topic = Topic(topic.name, topic.topic_id, tuple(partitions))
            yield Change(tuple(operations), updated=topic)


def decide_elections(
    image: MetadataImage, partitions: Sequence[TopicPartition], *, is_unclean: bool
) -> dict[TopicPartition, Change | Refusal]:
    """Decide on leaders: the preferred one for another, or with `is_unclean` any one for none.

    An unclean election takes a replica that may lack acknowledged records, and leaves it alone in sync:
    that is for those who prefer it to having no partition.
    """
    outcomes: dict[TopicPartition, Change | Refusal] = {}
    for asked in partitions:
        former = image.partition(*asked)
        if former is None:
            outcomes[asked] = Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {asked}")
            continue
        elected = _elect_any(image, former) if is_unclean else _elect_preferred(image, former)
        if isinstance(elected, ErrorCode):
            outcomes[asked] = Refusal(elected, f"{asked}: {elected.text}")
            continue
        topic = image.topics[asked.topic]
        partitions_after = list(topic.partitions)
        partitions_after[asked.partition] = elected
        updated = Topic(topic.name, topic.topic_id, tuple(partitions_after))
        operation = store_partition(asked.topic, asked.partition, former, elected)
        outcomes[asked] = Change((operation,), updated=updated)
        # The next partition of the same topic builds on this one.
        image = image.with_topics([updated])
    return outcomes


def _elect_preferred(image: MetadataImage, partition: Partition) -> Partition | ErrorCode:
    preferred = partition.replicas[0]
    if partition.leader == preferred:
        return ErrorCode.ELECTION_NOT_NEEDED
    if preferred not in image.brokers or preferred not in partition.isr:
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    return _led_by(partition, preferred)


def _elect_any(image: MetadataImage, partition: Partition) -> Partition | ErrorCode:
    if partition.leader != NO_LEADER:
        return ErrorCode.ELECTION_NOT_NEEDED
    alive = [replica for replica in partition.replicas if replica in image.brokers]
    if not alive:
        return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    in_sync = [replica for replica in alive if replica in partition.isr]
    if in_sync:
        return _led_by(partition, in_sync[0])
    return _led_by(partition, alive[0])._replace(isr=(alive[0],))


def _led_by(partition: Partition, leader: int) -> Partition:
    return partition._replace(
        leader=leader,
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )


def store_partition(topic: str, index: int, former: Partition, partition: Partition) -> Operation:
    """Write a partition's state, which has no node while it is as it was created."""
    path, content = partition_path(topic, index), encode_partition(partition)
    if former == as_created(former.replicas):
        return Create(path, content)
    return Set(path, content, ANY_VERSION)
