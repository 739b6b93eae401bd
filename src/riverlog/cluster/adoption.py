"""The logs found on disk against the topics decided on: what to adopt, create, delete and leave alone.

A broker that starts for the first time on directories which already hold logs, because Apache Kafka
wrote them, takes the topics from there. From then on the store says which topics there are. A directory
that it does not know is a stray: reported and left alone, since it may be somebody's only copy.

    in the store    on disk, same id     on disk, other id    not on disk
    topic           serve it             stray                missing: create it empty
    deletion noted  finish the deletion  stray                forget the note
    nothing         stray                stray

Pure: the directories were read elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from riverlog.cluster.leadership import store_partition
from riverlog.cluster.metadata_image import (
    NO_TOPIC_ID,
    MetadataImage,
    Partition,
    Resource,
    ResourceType,
    Topic,
)
from riverlog.cluster.names import METADATA_TOPIC, illegality
from riverlog.cluster.stored_nodes import as_created, encode_topic, topic_path
from riverlog.coordination import Create, Operation
from riverlog.types import TopicPartition

COORDINATOR_OVERRIDES: Mapping[str, Mapping[str, str]] = {
    "__consumer_offsets": {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    },
    "__transaction_state": {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "segment.bytes": "104857600",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "false",
    },
    "__share_group_state": {
        "cleanup.policy": "delete",
        "compression.type": "uncompressed",
        "segment.bytes": "104857600",
        "retention.ms": "-1",
        "min.insync.replicas": "1",
    },
}
"""What Kafka gives its coordinators' topics. Without it retention would eat committed offsets."""


class FoundPartition(NamedTuple):
    """A partition's directory, as the log room read it."""

    topic: str
    partition: int
    topic_id: bytes
    """16 zero bytes where the directory does not say."""
    leader_epoch: int = -1
    """The last one that its log knows; -1 for none."""


class Reconciliation(NamedTuple):
    """What is to be done so that the disk says what the store says."""

    missing: tuple[TopicPartition, ...]
    deleted: tuple[FoundPartition, ...]
    stray: tuple[FoundPartition, ...]


def adopt(
    found: Iterable[FoundPartition], *, broker_id: int, new_topic_id: Callable[[], bytes]
) -> list[Topic]:
    """Make topics of what lies on the disk, led by this broker in an epoch that is new to their logs.

    Where directories of one topic disagree on its id, the id that most have is the topic's.
    A partition of which there is no directory exists nevertheless, and is empty.
    """
    by_topic: dict[str, list[FoundPartition]] = defaultdict(list)
    for each in found:
        if each.topic != METADATA_TOPIC and illegality(each.topic) is None and each.partition >= 0:
            by_topic[each.topic].append(each)
    topics = []
    for name, parts in sorted(by_topic.items()):
        topic_id = _most_common_id(parts)
        epochs = {each.partition: each.leader_epoch + 1 for each in parts if each.topic_id == topic_id}
        partitions = tuple(
            Partition((broker_id,), (broker_id,), broker_id, epochs.get(index, 0), 0)
            for index in range(max(epochs) + 1)
        )
        topics.append(Topic(name, new_topic_id() if topic_id == NO_TOPIC_ID else topic_id, partitions))
    return topics


def adopting(topic: Topic) -> Iterator[Operation]:
    """Store an adopted topic."""
    yield Create(topic_path(topic.name), encode_topic(topic))
    for index, partition in enumerate(topic.partitions):
        fresh = as_created(partition.replicas)
        if partition != fresh:
            yield store_partition(topic.name, index, fresh, partition)


def adopt_overrides(
    topics: Iterable[Topic], overrides: Mapping[Resource, Mapping[str, str]]
) -> dict[Resource, dict[str, str]]:
    """Choose the settings that come along: those of brokers and of adopted topics. The topics of
    coordinators have theirs whether or not they were found."""
    chosen = {
        resource: dict(settings)
        for resource, settings in overrides.items()
        if resource.type is ResourceType.BROKER
    }
    for topic in topics:
        resource = Resource(ResourceType.TOPIC, topic.name)
        settings = {**COORDINATOR_OVERRIDES.get(topic.name, {}), **overrides.get(resource, {})}
        if settings:
            chosen[resource] = settings
    return chosen


def reconcile(
    image: MetadataImage,
    found: Collection[FoundPartition],
    *,
    broker_id: int,
    deletions: Collection[bytes],
) -> Reconciliation:
    """Compare the logs on disk with the topics decided on. `deletions` are ids with a note."""
    present = set()
    deleted, stray = [], []
    for each in found:
        partition = image.partition(each.topic, each.partition)
        topic = image.topic(each.topic)
        if each.topic_id in deletions:
            deleted.append(each)
        elif (
            partition is not None
            and topic is not None
            and broker_id in partition.replicas
            and each.topic_id in (topic.topic_id, NO_TOPIC_ID)
        ):
            present.add((each.topic, each.partition))
        else:
            stray.append(each)
    missing = tuple(
        TopicPartition(topic.name, index)
        for topic in image.topics.values()
        for index, partition in enumerate(topic.partitions)
        if broker_id in partition.replicas and (topic.name, index) not in present
    )
    return Reconciliation(missing, tuple(deleted), tuple(stray))


def _most_common_id(parts: Collection[FoundPartition]) -> bytes:
    counts = Counter(each.topic_id for each in parts)
    return max(counts, key=lambda topic_id: (counts[topic_id], topic_id))
