"""What lies in the store reads back as what was meant."""

from __future__ import annotations

import pytest

from riverlog.cluster import ALL_BROKERS, BrokerRegistration, Endpoint, Partition, Resource, ResourceType
from riverlog.cluster import stored_nodes as stored
from riverlog.coordination import Node
from riverlog.coordination.interface import check_path
from riverlog.errors import StorageError
from tests.unit.cluster.builders import topic, topic_id


def test_a_topic_as_created_is_its_one_node() -> None:
    subject = topic("orders", 3, number=9)

    content = stored.encode_topic(subject)

    assert content == b'{"id":"AAAAAAAAAAAAAAAAAAAACQ","replicas":[[1],[1],[1]]}'
    assert stored.decode_topic("orders", Node(content, 0), {}) == subject


def test_partitions_that_are_alike_share_one_object() -> None:
    content = stored.encode_topic(topic("orders", 3))

    partitions = stored.decode_topic("orders", Node(content, 0), {}).partitions

    assert partitions[0] is partitions[1] is partitions[2]


def test_a_partition_in_another_state_reads_back_with_its_replicas() -> None:
    moved = Partition((2, 1), (1,), leader=1, leader_epoch=4, partition_epoch=6)
    fresh = stored.as_created((2, 1))
    content = stored.encode_topic(topic("orders", [fresh, moved]))
    state = stored.decode_partition("/topics/orders/1", Node(stored.encode_partition(moved), 0))

    partitions = stored.decode_topic("orders", Node(content, 0), {1: state}).partitions

    assert partitions == (fresh, moved)


def test_a_broker_reads_back_as_registered() -> None:
    subject = BrokerRegistration(
        7, (Endpoint("A", "host", 1, "SSL"), Endpoint("B", "::1", 2)), "rack 1", epoch=3
    )

    read = stored.decode_broker("/brokers/7", Node(stored.encode_broker(subject), 0))

    assert read == subject


@pytest.mark.parametrize(
    "resource",
    [
        ALL_BROKERS,
        Resource(ResourceType.BROKER, "1"),
        Resource(ResourceType.TOPIC, "a.b_c-d"),
        Resource(ResourceType.GROUP, "any / name % at.all ü"),
        Resource(ResourceType.GROUP, ".."),
        Resource(ResourceType.GROUP, "%default"),
        Resource(ResourceType.CLIENT_METRICS, "a subscription"),
    ],
)
def test_every_resource_has_a_path_of_its_own(resource: Resource) -> None:
    path = stored.overrides_path(resource)

    check_path(path)

    assert stored.resource_of(path) == resource


def test_topic_ids_are_written_as_kafka_prints_them() -> None:
    text = stored.format_topic_id(bytes(range(240, 256)))

    assert text == "8PHy8_T19vf4-fr7_P3-_w"
    assert stored.parse_topic_id(text) == bytes(range(240, 256))
    assert stored.parse_topic_id(stored.format_topic_id(topic_id(1))) == topic_id(1)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff"])
def test_a_node_that_is_no_object_is_named(content: bytes) -> None:
    with pytest.raises(StorageError, match="/cluster"):
        stored.decode("/cluster", Node(content, 0))
