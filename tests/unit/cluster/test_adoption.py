"""What the logs on disk mean at the first start, and at later ones."""

from __future__ import annotations

from collections.abc import Iterator

from riverlog.cluster import ALL_BROKERS, NO_TOPIC_ID, FoundPartition, Partition, Resource, ResourceType
from riverlog.cluster.adoption import COORDINATOR_OVERRIDES, adopt, adopt_overrides, adopting, reconcile
from riverlog.config import TopicSettings, topic_settings
from riverlog.types import TopicPartition
from tests.unit.cluster.builders import image, topic, topic_id

A, B, C = topic_id(1), topic_id(2), topic_id(3)


def fresh_ids() -> Iterator[bytes]:
    yield topic_id(1000)
    yield topic_id(1001)


def test_topics_are_made_of_what_lies_there() -> None:
    found = [FoundPartition("b", 0, B, 4), FoundPartition("a", 1, A, 0), FoundPartition("a", 0, A)]

    topics = adopt(found, broker_id=7, new_topic_id=fresh_ids().__next__)

    assert [(each.name, each.topic_id) for each in topics] == [("a", A), ("b", B)]
    assert topics[0].partitions == (Partition((7,), (7,), 7, 0, 0), Partition((7,), (7,), 7, 1, 0))
    assert topics[1].partitions == (Partition((7,), (7,), 7, 5, 0),)


def test_a_directory_without_an_id_gets_a_new_one() -> None:
    topics = adopt([FoundPartition("a", 0, NO_TOPIC_ID)], broker_id=1, new_topic_id=fresh_ids().__next__)

    assert [each.topic_id for each in topics] == [topic_id(1000)]


def test_a_partition_without_a_directory_exists_and_is_empty() -> None:
    topics = adopt([FoundPartition("a", 2, A, 3)], broker_id=1, new_topic_id=fresh_ids().__next__)

    assert [partition.leader_epoch for partition in topics[0].partitions] == [0, 0, 4]


def test_where_directories_disagree_the_id_that_most_have_wins() -> None:
    found = [FoundPartition("a", 0, A), FoundPartition("a", 1, B, 9), FoundPartition("a", 2, A)]

    topics = adopt(found, broker_id=1, new_topic_id=fresh_ids().__next__)

    assert [each.topic_id for each in topics] == [A]
    assert topics[0].partitions[1].leader_epoch == 0


def test_kafkas_own_metadata_log_and_names_that_no_topic_has_are_not_adopted() -> None:
    found = [
        FoundPartition("__cluster_metadata", 0, A),
        FoundPartition("a b", 0, B),
        FoundPartition("c", -1, C),
    ]

    topics = adopt(found, broker_id=1, new_topic_id=fresh_ids().__next__)

    assert topics == []


def test_an_adopted_topic_is_stored_with_the_epochs_that_it_continues() -> None:
    adopted = topic("a", [topic("x").partitions[0], Partition((1,), (1,), 1, 4, 0)])

    operations = list(adopting(adopted))

    assert [operation.path for operation in operations] == ["/topics/a", "/topics/a/1"]


def test_settings_come_along_with_adopted_topics_and_brokers_and_with_nothing_else() -> None:
    orders, gone = Resource(ResourceType.TOPIC, "orders"), Resource(ResourceType.TOPIC, "gone")
    settings = {orders: {"flush.ms": "1"}, gone: {"flush.ms": "2"}, ALL_BROKERS: {"log.retention.ms": "3"}}

    chosen = adopt_overrides([topic("orders"), topic("plain")], settings)

    assert chosen == {orders: {"flush.ms": "1"}, ALL_BROKERS: {"log.retention.ms": "3"}}


def test_an_adopted_offsets_topic_stays_compacted_even_where_its_settings_were_not_found() -> None:
    resource = Resource(ResourceType.TOPIC, "__consumer_offsets")

    without = adopt_overrides([topic("__consumer_offsets")], {})
    with_own = adopt_overrides([topic("__consumer_offsets")], {resource: {"segment.bytes": "1048576"}})

    assert topic_settings(TopicSettings(), without[resource]).cleanup_policy == {"compact"}
    assert with_own[resource] == {**without[resource], "segment.bytes": "1048576"}


def test_every_coordinator_override_is_a_setting_of_topics() -> None:
    settings = [topic_settings(TopicSettings(), overrides) for overrides in COORDINATOR_OVERRIDES.values()]

    assert [each.segment_bytes for each in settings] == [104857600] * 3


def test_reconciling_tells_missing_deleted_and_stray_apart() -> None:
    decided = image(topic("a", 2, number=1), topic("b", 1, number=2))
    found = [
        FoundPartition("a", 0, A),
        FoundPartition("b", 0, C),
        FoundPartition("a", 5, A),
        FoundPartition("old", 0, topic_id(9)),
        FoundPartition("unknown", 0, topic_id(8)),
    ]

    work = reconcile(decided, found, broker_id=1, deletions={topic_id(9)})

    assert work.missing == (TopicPartition("a", 1), TopicPartition("b", 0))
    assert work.deleted == (FoundPartition("old", 0, topic_id(9)),)
    assert work.stray == (
        FoundPartition("b", 0, C),
        FoundPartition("a", 5, A),
        FoundPartition("unknown", 0, topic_id(8)),
    )


def test_a_directory_without_an_id_belongs_to_the_topic_of_its_name() -> None:
    work = reconcile(
        image(topic("a", number=1)), [FoundPartition("a", 0, NO_TOPIC_ID)], broker_id=1, deletions=set()
    )

    assert work == ((), (), ())


def test_a_partition_of_other_brokers_is_neither_missing_nor_ours() -> None:
    decided = image(topic("a", [Partition((2,), (2,), 2, 0, 0)], number=1), brokers=2)

    work = reconcile(decided, [FoundPartition("a", 0, A)], broker_id=1, deletions=set())

    assert work.missing == ()
    assert work.stray == (FoundPartition("a", 0, A),)


def test_a_topic_created_again_does_not_take_over_the_deleted_ones_directory() -> None:
    decided = image(topic("a", number=2))

    work = reconcile(decided, [FoundPartition("a", 0, A)], broker_id=1, deletions={A})

    assert work.deleted == (FoundPartition("a", 0, A),)
    assert work.missing == (TopicPartition("a", 0),)
