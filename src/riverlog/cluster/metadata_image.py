"""What the cluster has decided, as one immutable value: topics, partitions, brokers, overrides.

An image is never changed, only replaced by the next one: whoever holds one sees a single moment, and
may keep it across an `await`. Making the next one copies the tables that change and shares the rest.

    image.topic("orders")          by name, or by the 16 bytes of its id
          └─ partitions[3]         replicas, in-sync replicas, leader, leader epoch, partition epoch
    image.overrides[Resource]      settings that differ from the broker's, as text
    image.client_quotas[entity]    limits of users, clients and addresses
    image.credentials[user]        what the broker keeps of passwords, by SCRAM mechanism

Pure: knows no store, file or clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from riverlog.cluster.names import INTERNAL_TOPICS, collision_key

NO_LEADER = -1
NO_TOPIC_ID = bytes(16)


class ResourceType(IntEnum):
    """What settings can belong to; the numbers are the protocol's."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Resource(NamedTuple):
    """One thing with settings. A broker resource with an empty name means all brokers."""

    type: ResourceType
    name: str


ALL_BROKERS = Resource(ResourceType.BROKER, "")


class Partition(NamedTuple):
    """Who holds a partition and who leads it. Its number is its position in `Topic.partitions`."""

    replicas: tuple[int, ...]
    """Brokers that hold the partition; the first one is the preferred leader."""
    isr: tuple[int, ...]
    """The replicas that have all that is committed; a subset of `replicas`."""
    leader: int
    leader_epoch: int
    """Rises by one with each decision on the leader."""
    partition_epoch: int
    """Rises by one with each change to any of these fields."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its name can be used again after deletion, its id never."""

    name: str
    topic_id: bytes
    partitions: tuple[Partition, ...]

    @property
    def is_internal(self) -> bool:
        """Say whether a coordinator keeps its state in it."""
        return self.name in INTERNAL_TOPICS

    @property
    def replication_factor(self) -> int:
        """Count the replicas of the first partition, which is what Kafka tells of a topic."""
        return len(self.partitions[0].replicas)


class Endpoint(NamedTuple):
    """An address that clients are told."""

    listener: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A broker that is alive."""

    broker_id: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    epoch: int = 0

    def endpoint(self, listener: str) -> Endpoint | None:
        """Find the address under which this broker is reached from those who use that listener."""
        return next((endpoint for endpoint in self.endpoints if endpoint.listener == listener), None)


QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]
"""Whom limits are for: types and names, sorted by type; None is whoever has no limits of its own."""


class ScramMechanism(IntEnum):
    """The ways to prove a password without sending it; the numbers are the protocol's."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


class ScramCredential(NamedTuple):
    """What tells whether a user knows the password, and cannot be turned back into it."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes


NO_OVERRIDES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class MetadataImage:
    """One moment of the cluster. Treat the mappings as read-only."""

    cluster_id: str
    controller_id: int
    brokers: Mapping[int, BrokerRegistration]
    topics: Mapping[str, Topic]
    topics_by_id: Mapping[bytes, Topic]
    overrides: Mapping[Resource, Mapping[str, str]]
    names_by_collision_key: Mapping[str, str]
    """A topic for each key that names with `.` or `_` share; see `names.collision_key`."""
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    credentials: Mapping[str, Mapping[int, ScramCredential]] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        *,
        cluster_id: str,
        controller_id: int,
        brokers: Iterable[BrokerRegistration],
        topics: Iterable[Topic] = (),
        overrides: Mapping[Resource, Mapping[str, str]] | None = None,
        client_quotas: Mapping[QuotaEntity, Mapping[str, float]] | None = None,
        credentials: Mapping[str, Mapping[int, ScramCredential]] | None = None,
    ) -> MetadataImage:
        """Make an image of these parts."""
        by_name = {topic.name: topic for topic in topics}
        return cls(
            cluster_id=cluster_id,
            controller_id=controller_id,
            brokers={broker.broker_id: broker for broker in brokers},
            topics=by_name,
            topics_by_id={topic.topic_id: topic for topic in by_name.values()},
            overrides=dict(overrides or {}),
            names_by_collision_key={collision_key(name): name for name in by_name},
            client_quotas=dict(client_quotas or {}),
            credentials=dict(credentials or {}),
        )

    def topic(self, name_or_id: str | bytes) -> Topic | None:
        """Find a topic by name or by id."""
        if isinstance(name_or_id, str):
            return self.topics.get(name_or_id)
        return self.topics_by_id.get(name_or_id)

    def partition(self, name_or_id: str | bytes, index: int) -> Partition | None:
        """Find a partition; any number may be asked for."""
        topic = self.topic(name_or_id)
        if topic is None or not 0 <= index < len(topic.partitions):
            return None
        return topic.partitions[index]

    def overrides_of(self, resource: Resource) -> Mapping[str, str]:
        """Return a resource's own settings, as text."""
        return self.overrides.get(resource, NO_OVERRIDES)

    def topic_overrides(self, name: str) -> Mapping[str, str]:
        """Return a topic's own settings, as text."""
        return self.overrides.get(Resource(ResourceType.TOPIC, name), NO_OVERRIDES)

    @property
    def partition_count(self) -> int:
        """Count the partitions of all topics."""
        return sum(len(topic.partitions) for topic in self.topics.values())

    def with_topics(self, topics: Iterable[Topic]) -> MetadataImage:
        """Add these topics, or put them in place of those of the same name and id."""
        by_name, by_id = dict(self.topics), dict(self.topics_by_id)
        by_key = dict(self.names_by_collision_key)
        for topic in topics:
            former = by_name.get(topic.name)
            assert former is None or former.topic_id == topic.topic_id, f"{topic.name} changes its id"
            by_name[topic.name] = topic
            by_id[topic.topic_id] = topic
            by_key[collision_key(topic.name)] = topic.name
        return replace(self, topics=by_name, topics_by_id=by_id, names_by_collision_key=by_key)

    def without_topics(self, names: Iterable[str]) -> MetadataImage:
        """Remove these topics, and their overrides with them."""
        by_name, by_id = dict(self.topics), dict(self.topics_by_id)
        by_key, overrides = dict(self.names_by_collision_key), dict(self.overrides)
        for name in names:
            del by_id[by_name.pop(name).topic_id]
            if by_key.get(collision_key(name)) == name:
                del by_key[collision_key(name)]
            overrides.pop(Resource(ResourceType.TOPIC, name), None)
        return replace(
            self, topics=by_name, topics_by_id=by_id, names_by_collision_key=by_key, overrides=overrides
        )

    def with_overrides(self, changed: Mapping[Resource, Mapping[str, str]]) -> MetadataImage:
        """Put these settings in place of all that their resources had; an empty mapping means none."""
        overrides = dict(self.overrides)
        for resource, settings in changed.items():
            if settings:
                overrides[resource] = dict(settings)
            else:
                overrides.pop(resource, None)
        return replace(self, overrides=overrides)

    def with_client_quotas(self, changed: Mapping[QuotaEntity, Mapping[str, float]]) -> MetadataImage:
        """Put these limits in place of all that their entities had; an empty mapping means none."""
        merged = {**self.client_quotas, **changed}
        return replace(self, client_quotas={entity: limits for entity, limits in merged.items() if limits})

    def with_credentials(self, changed: Mapping[str, Mapping[int, ScramCredential]]) -> MetadataImage:
        """Put these credentials in place of all that their users had; an empty mapping means none."""
        merged = {**self.credentials, **changed}
        return replace(self, credentials={user: kept for user, kept in merged.items() if kept})

    def with_brokers(self, brokers: Iterable[BrokerRegistration]) -> MetadataImage:
        """Take these for the brokers that are alive."""
        return replace(self, brokers={broker.broker_id: broker for broker in brokers})
