"""Metadata (key 3), versions 0-13: where the cluster's brokers, topics and partitions are.

- No list of topics means all of them (in version 0 the empty list does); the empty list means none.
- Topics are asked for by name, from version 12 on also by id alone. Each is answered once.
- A name that no topic has creates one, if the request allows it (always before version 4) and
  `auto.create.topics.enable` does. It is there, with its logs, when the answer leaves; that answer still
  tells that the name was unknown, as Kafka's does, and the client asks again. So who looks whether a topic
  is gone is told so, and not shown one that the look itself has made.
- Brokers are told at the address of the listener that the request came in on.
- A partition whose log's disk failed has no leader: clients wait for one instead of writing in vain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from riverlog.broker.authorized_operations import NOT_ASKED, ON_CLUSTER, ON_TOPIC
from riverlog.broker.coordinator_topics import new_topic
from riverlog.broker.handler import Handler
from riverlog.cluster import METADATA_TOPIC, NO_LEADER, NO_TOPIC_ID, Refusal, Topic, illegality
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage, Partition

FIRST_VERSION_WITH_NULL_NAMES = 12


def answer(broker: Broker, request: messages.MetadataRequest, context: Context) -> messages.MetadataResponse:
    """Describe the cluster as it is, and then create what is missing where that is asked for."""
    operations = ON_TOPIC if request.include_topic_authorized_operations else NOT_ASKED
    topics: list[messages.MetadataResponseTopic]
    if is_for_all_topics(request, context.api_version):
        topics = [
            describe_topic(topic, offline_partitions(broker, topic), broker.node_id, operations)
            for topic in broker.cluster.image.topics.values()
        ]
    else:
        topics = _describe_asked(broker, request, context, operations)
    image = broker.cluster.image
    return messages.MetadataResponse(
        brokers=describe_brokers(image, context.connection.listener_name),
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        topics=topics,
        cluster_authorized_operations=(
            ON_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def is_for_all_topics(request: messages.MetadataRequest, version: int) -> bool:
    """Say whether all topics are asked for: version 0 has no other way to ask for none or all."""
    return request.topics is None or (version == 0 and not request.topics)


def describe_brokers(image: MetadataImage, listener: str) -> list[messages.MetadataResponseBroker]:
    """Tell the brokers that can be reached through a listener, by id."""
    return [
        messages.MetadataResponseBroker(
            node_id=broker.broker_id, host=endpoint.host, port=endpoint.port, rack=broker.rack
        )
        for _, broker in sorted(image.brokers.items())
        if (endpoint := broker.endpoint(listener)) is not None
    ]


def describe_topic(
    topic: Topic, offline: Collection[int], node_id: int, operations: int
) -> messages.MetadataResponseTopic:
    """Tell a topic that is there; `offline` are the partitions whose log this broker cannot use."""
    return messages.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            describe_partition(index, partition, node_id if index in offline else None)
            for index, partition in enumerate(topic.partitions)
        ],
        topic_authorized_operations=operations,
    )


def describe_partition(
    index: int, partition: Partition, offline_replica: int | None
) -> messages.MetadataResponsePartition:
    """Tell one partition; an offline replica leads nothing."""
    is_led = partition.leader not in (NO_LEADER, offline_replica)
    return messages.MetadataResponsePartition(
        error_code=ErrorCode.NONE if is_led else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=partition.leader if is_led else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=[] if offline_replica is None else [offline_replica],
    )


def offline_partitions(broker: Broker, topic: Topic) -> set[int]:
    """Find the partitions that belong here and whose log this broker cannot use."""
    return {
        index
        for index, log in enumerate(broker.partitions.of(topic.topic_id))
        if log is None or log.is_offline is not None
    }


def names_to_create(
    image: MetadataImage, asked: Iterable[messages.MetadataRequestTopic], *, is_allowed: bool
) -> list[str]:
    """List the names that no topic has and that a topic could have, each once."""
    if not is_allowed:
        return []
    names = dict.fromkeys(topic.name for topic in asked if topic.name is not None)
    return [
        name
        for name in names
        if name not in image.topics and name != METADATA_TOPIC and illegality(name) is None
    ]


def refusal_of(name: str, creation_refusal: int | None) -> int:
    """Say why there is nothing to tell of a name."""
    if illegality(name) is not None:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if creation_refusal is None else creation_refusal


def _describe_asked(
    broker: Broker, request: messages.MetadataRequest, context: Context, operations: int
) -> list[messages.MetadataResponseTopic]:
    asked: Sequence[messages.MetadataRequestTopic] = request.topics or ()
    is_allowed = request.allow_auto_topic_creation and broker.settings.admin.auto_create_topics_enable
    image = broker.cluster.image
    missing = names_to_create(image, asked, is_allowed=is_allowed)
    created = _create(broker, missing) if missing else {}
    described: dict[str | bytes, messages.MetadataResponseTopic] = {}
    for each in asked:
        key = each.topic_id if each.name is None else each.name
        topic = image.topic(key)
        if topic is not None:
            offline = offline_partitions(broker, topic)
            described[topic.name] = describe_topic(topic, offline, broker.node_id, operations)
        elif isinstance(key, str):
            outcome = created.get(key)
            refused = outcome.error_code if isinstance(outcome, Refusal) else None
            described[key] = messages.MetadataResponseTopic(
                error_code=refusal_of(key, refused), name=key, topic_authorized_operations=operations
            )
        else:
            described[key] = messages.MetadataResponseTopic(
                error_code=ErrorCode.INVALID_REQUEST if key == NO_TOPIC_ID else ErrorCode.UNKNOWN_TOPIC_ID,
                name=None if context.api_version >= FIRST_VERSION_WITH_NULL_NAMES else "",
                topic_id=key,
                topic_authorized_operations=operations,
            )
    return list(described.values())


def _create(broker: Broker, names: Iterable[str]) -> dict[str, Topic | Refusal]:
    broker_count = len(broker.cluster.image.brokers)
    return broker.cluster.create_topics(
        [new_topic(name, broker.settings, broker_count=broker_count) for name in names]
    )


HANDLER = Handler(api_key=3, min_version=0, max_version=13, answer=answer)
