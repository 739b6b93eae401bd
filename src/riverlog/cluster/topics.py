"""Decides on creating, deleting and growing topics, as Apache Kafka's controller does.

Each function looks at the image and the request, and returns for every topic asked for either a
`Refusal` or the `Change` to make. Nothing is written here. Randomness arrives as arguments: ids for new
topics, and where in the circle of brokers the placement begins.

A change keeps these together in one commit: a topic with its overrides; a deletion with the note that
its logs are still to be removed, so that they neither stay for ever nor come back as another topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from riverlog.cluster import placement
from riverlog.cluster.changes import Change, Refusal
from riverlog.cluster.metadata_image import MetadataImage, Resource, ResourceType, Topic
from riverlog.cluster.names import METADATA_TOPIC, collision_key, illegality, may_collide
from riverlog.cluster.stored_nodes import (
    as_created,
    deletion_path,
    encode,
    encode_topic,
    overrides_path,
    partition_path,
    topic_path,
)
from riverlog.coordination import ANY_VERSION, TRANSACTION_BYTES_MAX, Create, Delete, Operation, Set
from riverlog.errors import ConfigError, RequestRefused
from riverlog.protocol.error_codes import ErrorCode

PARTITIONS_PER_REQUEST_MAX = 10_000
TOPIC_NODE_BYTES_MAX = TRANSACTION_BYTES_MAX // 2
"""What bounds the partitions of one topic: at 500 KB some 120,000 with one replica each."""


class NewTopic(NamedTuple):
    """A topic asked for. -1 stands for the broker's default."""

    name: str
    partition_count: int = -1
    replication_factor: int = -1
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    """Replicas for each partition number, instead of the two counts."""
    overrides: Sequence[tuple[str, str | None]] = ()


class NewPartitions(NamedTuple):
    """A topic that shall have this many partitions in all."""

    name: str
    total: int
    assignments: Sequence[Sequence[int]] | None = None
    """Replicas for each partition that is added."""


class TopicDefaults(NamedTuple):
    """What -1 stands for, and which overrides a topic may have."""

    partition_count: int
    replication_factor: int
    check_overrides: Callable[[Mapping[str, str]], object]
    """Raises ConfigError for settings that no topic can have."""


def decide_creations(
    image: MetadataImage,
    requests: Sequence[NewTopic],
    *,
    defaults: TopicDefaults,
    new_topic_id: Callable[[], bytes],
    start: int,
) -> dict[str, Change | Refusal]:
    """Decide on new topics, by name in the order asked for; a name asked for twice is refused."""
    counts = Counter(request.name for request in requests)
    asked = sum(_partitions_asked(request, defaults) for request in requests)
    taken: dict[str, str] = {}
    outcomes: dict[str, Change | Refusal] = {}
    for request in requests:
        try:
            if counts[request.name] > 1:
                raise RequestRefused(ErrorCode.INVALID_REQUEST, "the topic is named twice in this request")
            if asked > PARTITIONS_PER_REQUEST_MAX:
                raise RequestRefused(
                    ErrorCode.POLICY_VIOLATION,
                    f"the request asks for more than {PARTITIONS_PER_REQUEST_MAX} partitions",
                )
            change = _decide_creation(
                image, request, defaults=defaults, new_topic_id=new_topic_id, start=start, taken=taken
            )
        except RequestRefused as refused:
            outcomes[request.name] = Refusal(refused.error_code, refused.message)
        else:
            outcomes[request.name] = change
            taken[collision_key(request.name)] = request.name
            start += 1
    return outcomes


def decide_deletions(image: MetadataImage, names: Sequence[str]) -> dict[str, Change | Refusal]:
    """Decide on deleting topics, by name in the order asked for."""
    outcomes: dict[str, Change | Refusal] = {}
    for name in names:
        topic = image.topic(name)
        outcomes[name] = (
            Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
            if topic is None
            else _decide_deletion(image, topic)
        )
    return outcomes


def decide_growths(
    image: MetadataImage, requests: Sequence[NewPartitions], *, start: int
) -> dict[str, Change | Refusal]:
    """Decide on adding partitions, by name in the order asked for; a name asked for twice is refused."""
    counts = Counter(request.name for request in requests)
    outcomes: dict[str, Change | Refusal] = {}
    for request in requests:
        try:
            if counts[request.name] > 1:
                raise RequestRefused(ErrorCode.INVALID_REQUEST, "the topic is named twice in this request")
            outcomes[request.name] = _decide_growth(image, request, start=start)
        except RequestRefused as refused:
            outcomes[request.name] = Refusal(refused.error_code, refused.message)
    return outcomes


def _partitions_asked(request: NewTopic, defaults: TopicDefaults) -> int:
    if request.assignments:
        return len(request.assignments)
    return request.partition_count if request.partition_count > 0 else defaults.partition_count


def _decide_creation(
    image: MetadataImage,
    request: NewTopic,
    *,
    defaults: TopicDefaults,
    new_topic_id: Callable[[], bytes],
    start: int,
    taken: Mapping[str, str],
) -> Change:
    _check_name(image, request.name, taken)
    is_assigned = bool(request.assignments)
    replicas = _assigned(image, request) if is_assigned else _placed(image, request, defaults, start)
    overrides = _checked_overrides(request, defaults)
    topic = Topic(request.name, new_topic_id(), tuple(as_created(each) for each in replicas))
    content = _encode_within_limit(topic)
    operations: list[Operation] = [Create(topic_path(topic.name), content)]
    resource = Resource(ResourceType.TOPIC, topic.name)
    if overrides:
        operations.append(Create(overrides_path(resource), encode(overrides)))
    return Change(tuple(operations), created=topic, overrides=(resource, overrides) if overrides else None)


def _check_name(image: MetadataImage, name: str, taken: Mapping[str, str]) -> None:
    if name == METADATA_TOPIC:
        raise RequestRefused(ErrorCode.INVALID_REQUEST, f"{METADATA_TOPIC} is a reserved name")
    why = illegality(name)
    if why is not None:
        raise RequestRefused(ErrorCode.INVALID_TOPIC_EXCEPTION, why)
    if name in image.topics:
        raise RequestRefused(ErrorCode.TOPIC_ALREADY_EXISTS, f"there already is a topic {name!r}")
    if may_collide(name):
        key = collision_key(name)
        other = image.names_by_collision_key.get(key) or taken.get(key)
        if other is not None:
            raise RequestRefused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"the topic name {name!r} differs from topic {other!r} only in '.' against '_'",
            )


def _assigned(image: MetadataImage, request: NewTopic) -> list[tuple[int, ...]]:
    """Take the replicas that the request names."""
    if request.replication_factor != -1 or request.partition_count != -1:
        raise RequestRefused(
            ErrorCode.INVALID_REQUEST,
            "with an assignment of replicas, the partition count and replication factor must be -1",
        )
    by_index = {index: tuple(replicas) for index, replicas in request.assignments}
    if len(by_index) != len(request.assignments) or set(by_index) != set(range(len(by_index))):
        raise RequestRefused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the assigned partitions are not numbered 0, 1, 2, ..."
        )
    replicas = [by_index[index] for index in range(len(by_index))]
    _check_assignments(image, replicas, None)
    return replicas


def _placed(
    image: MetadataImage, request: NewTopic, defaults: TopicDefaults, start: int
) -> list[tuple[int, ...]]:
    """Choose brokers for as many replicas as the request, or the default, says."""
    partition_count, replication_factor = request.partition_count, request.replication_factor
    if partition_count == -1:
        partition_count = defaults.partition_count
    if replication_factor == -1:
        replication_factor = defaults.replication_factor
    if partition_count <= 0:
        raise RequestRefused(
            ErrorCode.INVALID_PARTITIONS, f"a topic cannot have {partition_count} partitions"
        )
    if replication_factor <= 0:
        raise RequestRefused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"a replication factor of {replication_factor} is neither above 0 nor -1 for the default",
        )
    return _place(image, partition_count, replication_factor, start)


def _place(image: MetadataImage, count: int, replication_factor: int, start: int) -> list[tuple[int, ...]]:
    if replication_factor > len(image.brokers):
        raise RequestRefused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"{replication_factor} replicas cannot be placed on {len(image.brokers)} brokers",
        )
    racks = {broker.broker_id: broker.rack for broker in image.brokers.values()}
    return placement.place(racks, partitions=count, replication_factor=replication_factor, start=start)


def _check_assignments(
    image: MetadataImage, assignments: Sequence[Sequence[int]], replication_factor: int | None
) -> None:
    for replicas in assignments:
        why = placement.assignment_error(
            replicas, brokers=image.brokers.keys(), replication_factor=replication_factor
        )
        if why is not None:
            raise RequestRefused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
        replication_factor = len(replicas)


def _checked_overrides(request: NewTopic, defaults: TopicDefaults) -> dict[str, str]:
    overrides = {}
    for name, value in request.overrides:
        if value is None:
            raise RequestRefused(ErrorCode.INVALID_CONFIG, f"{name} has no value")
        overrides[name] = value
    try:
        defaults.check_overrides(overrides)
    except ConfigError as error:
        raise RequestRefused(ErrorCode.INVALID_CONFIG, str(error)) from error
    return overrides


def _encode_within_limit(topic: Topic) -> bytes:
    content = encode_topic(topic)
    if len(content) > TOPIC_NODE_BYTES_MAX:
        raise RequestRefused(
            ErrorCode.INVALID_PARTITIONS, f"{len(topic.partitions)} partitions are too many for one topic"
        )
    return content


def _decide_deletion(image: MetadataImage, topic: Topic) -> Change:
    name = topic.name
    operations: list[Operation] = [
        Delete(partition_path(name, index), ANY_VERSION)
        for index, partition in enumerate(topic.partitions)
        if partition != as_created(partition.replicas)
    ]
    operations.append(Delete(topic_path(name), ANY_VERSION))
    resource = Resource(ResourceType.TOPIC, name)
    if resource in image.overrides:
        operations.append(Delete(overrides_path(resource), ANY_VERSION))
    note = encode({"name": name, "partitions": len(topic.partitions)})
    operations.append(Create(deletion_path(topic.topic_id), note))
    return Change(tuple(operations), deleted=topic)


def _decide_growth(image: MetadataImage, request: NewPartitions, *, start: int) -> Change:
    topic = image.topic(request.name)
    if topic is None:
        raise RequestRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {request.name!r}")
    added = request.total - len(topic.partitions)
    if added <= 0:
        raise RequestRefused(
            ErrorCode.INVALID_PARTITIONS,
            f"the topic has {len(topic.partitions)} partitions already, {request.total} would not be more",
        )
    if added > PARTITIONS_PER_REQUEST_MAX:
        raise RequestRefused(
            ErrorCode.POLICY_VIOLATION,
            f"the request asks for more than {PARTITIONS_PER_REQUEST_MAX} partitions",
        )
    if request.assignments is None:
        replicas = _place(image, added, topic.replication_factor, start)
    elif len(request.assignments) == added:
        replicas = [tuple(each) for each in request.assignments]
        _check_assignments(image, replicas, topic.replication_factor)
    else:
        raise RequestRefused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{added} partitions are to be added, but {len(request.assignments)} assignments are given",
        )
    grown = Topic(topic.name, topic.topic_id, topic.partitions + tuple(as_created(each) for each in replicas))
    content = _encode_within_limit(grown)
    return Change((Set(topic_path(topic.name), content, ANY_VERSION),), updated=grown)
