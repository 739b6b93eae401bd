"""Small clusters to decide upon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from riverlog.cluster import (
    BrokerRegistration,
    Cluster,
    Edit,
    Endpoint,
    MetadataImage,
    Partition,
    Resource,
    Topic,
    TopicDefaults,
)
from riverlog.cluster.overrides import OverrideRules
from riverlog.cluster.stored_nodes import as_created
from riverlog.config import TopicSettings, alter_topic, topic_settings
from riverlog.coordination import Coordination
from riverlog.errors import ConfigError


def broker(broker_id: int = 1, rack: str | None = None) -> BrokerRegistration:
    return BrokerRegistration(broker_id, (Endpoint("PLAINTEXT", "127.0.0.1", 9000 + broker_id),), rack)


def topic_id(number: int) -> bytes:
    return number.to_bytes(16, "big")


def topic(name: str, partitions: int | Sequence[Partition] = 1, number: int = 100) -> Topic:
    if isinstance(partitions, int):
        partitions = [as_created((1,))] * partitions
    return Topic(name, topic_id(number), tuple(partitions))


def image(
    *topics: Topic, brokers: int = 1, overrides: Mapping[Resource, Mapping[str, str]] | None = None
) -> MetadataImage:
    return MetadataImage.build(
        cluster_id="test-cluster",
        controller_id=1,
        brokers=[broker(number + 1) for number in range(brokers)],
        topics=topics,
        overrides=overrides,
    )


def defaults(partition_count: int = 1, replication_factor: int = 1) -> TopicDefaults:
    return TopicDefaults(
        partition_count, replication_factor, lambda overrides: topic_settings(TopicSettings(), overrides)
    )


class Rules(OverrideRules):
    """Topics have the settings of topics; a broker has just `log.retention.ms`."""

    def alter(
        self, resource: Resource, overrides: Mapping[str, str], edits: Sequence[Edit]
    ) -> dict[str, str]:
        if resource.type.name == "TOPIC":
            return alter_topic(TopicSettings(), overrides, edits)
        altered = dict(overrides)
        for edit in edits:
            if edit.name != "log.retention.ms":
                raise ConfigError(edit.name, edit.value, "log.retention.ms")
            if edit.value is None:
                altered.pop(edit.name, None)
            else:
                altered[edit.name] = edit.value
        return altered


def cluster_on(store: Coordination, *, seed: int = 0, broker_id: int = 1) -> Cluster:
    return Cluster(store, broker_id=broker_id, defaults=defaults(), rules=Rules(), random=Random(seed))


def running_cluster(store: Coordination, *, seed: int = 0) -> Cluster:
    """A cluster that has begun, with its one broker registered."""
    cluster = cluster_on(store, seed=seed)
    if cluster.is_new:
        cluster.begin(cluster_id="test-cluster")
    cluster.register(broker())
    return cluster
