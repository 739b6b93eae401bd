"""What the cluster has decided, and how more is decided: topics, their replicas, settings, producer ids.

    request ──▶ Cluster ──decide (pure)──▶ change ──▶ coordination store, durable
                   │                          └─────▶ next MetadataImage ──▶ listeners (the broker's logs)
                   └─ image: one immutable moment that request handlers read

The room promises: what a call returned as done survives a crash; a crash between any two steps leaves
the old state or the new; what is deleted never comes back; a producer id is handed out once.
"""

from riverlog.cluster.adoption import COORDINATOR_OVERRIDES, FoundPartition, Reconciliation
from riverlog.cluster.changes import Delta, Refusal
from riverlog.cluster.client_quotas import ENTITY_TYPES, QuotaEdit, QuotaEdits
from riverlog.cluster.cluster import Cluster, Listener
from riverlog.cluster.kafka_metadata_log import read_kafka_overrides
from riverlog.cluster.metadata_image import (
    ALL_BROKERS,
    NO_LEADER,
    NO_TOPIC_ID,
    BrokerRegistration,
    Endpoint,
    MetadataImage,
    Partition,
    QuotaEntity,
    Resource,
    ResourceType,
    ScramCredential,
    ScramMechanism,
    Topic,
)
from riverlog.cluster.names import INTERNAL_TOPICS, METADATA_TOPIC, illegality
from riverlog.cluster.overrides import OverrideEdits, OverrideRules, replacement
from riverlog.cluster.placement import assignment_error
from riverlog.cluster.scram_credentials import Deletion, Upsertion
from riverlog.cluster.stored_nodes import format_topic_id, parse_topic_id
from riverlog.cluster.topics import NewPartitions, NewTopic, TopicDefaults
from riverlog.config import Change as Edit
from riverlog.config import Operation as EditKind

__all__ = [
    "Cluster",
    "Listener",
    "Delta",
    "Refusal",
    "MetadataImage",
    "Topic",
    "Partition",
    "BrokerRegistration",
    "Endpoint",
    "Resource",
    "ResourceType",
    "ALL_BROKERS",
    "NO_LEADER",
    "NO_TOPIC_ID",
    "NewTopic",
    "NewPartitions",
    "TopicDefaults",
    "OverrideEdits",
    "OverrideRules",
    "Edit",
    "EditKind",
    "replacement",
    "ENTITY_TYPES",
    "QuotaEntity",
    "QuotaEdit",
    "QuotaEdits",
    "ScramCredential",
    "ScramMechanism",
    "Deletion",
    "Upsertion",
    "FoundPartition",
    "Reconciliation",
    "COORDINATOR_OVERRIDES",
    "read_kafka_overrides",
    "INTERNAL_TOPICS",
    "METADATA_TOPIC",
    "illegality",
    "assignment_error",
    "format_topic_id",
    "parse_topic_id",
]
