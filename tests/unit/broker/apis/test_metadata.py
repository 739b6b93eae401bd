"""Metadata: rows 79 and 80, and what clients look up."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from riverlog.broker.apis.metadata import describe_brokers, describe_partition
from riverlog.broker.authorized_operations import NOT_ASKED
from riverlog.cluster import NO_LEADER, BrokerRegistration, Endpoint, Partition
from riverlog.errors import StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import PORT, AskedBroker, metadata_of
from tests.unit.cluster.builders import image

ALL_VERSIONS = range(14)


def names(answer: messages.MetadataResponse) -> list[str | None]:
    return sorted((topic.name for topic in answer.topics), key=str)


def errors(answer: messages.MetadataResponse) -> dict[str | None, int]:
    return {topic.name: topic.error_code for topic in answer.topics}


def test_the_cluster_is_told_with_its_broker_at_the_listeners_address(asked: AskedBroker) -> None:
    answer = asked.ask(messages.MetadataRequest(topics=[]))

    broker = messages.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=PORT, rack=None)
    assert answer.brokers == [broker]
    assert answer.controller_id == 1
    assert answer.cluster_id == asked.broker.cluster.image.cluster_id


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_no_list_of_topics_means_all_and_the_empty_list_none(asked: AskedBroker, version: int) -> None:
    asked.topic("a", 2)
    asked.topic("b")

    everything = asked.ask(messages.MetadataRequest(topics=None if version else []), version)
    nothing = asked.ask(messages.MetadataRequest(topics=[]), version)

    assert names(everything) == ["a", "b"]
    assert names(nothing) == ([] if version else ["a", "b"])


def test_a_topic_is_told_with_its_partitions_and_leaders(asked: AskedBroker) -> None:
    made = asked.topic("orders", 2)

    [topic] = asked.ask(metadata_of("orders")).topics

    assert (topic.name, topic.topic_id, topic.error_code, topic.is_internal) == (
        "orders",
        made.topic_id,
        0,
        False,
    )
    assert [partition.partition_index for partition in topic.partitions] == [0, 1]
    assert topic.partitions[1] == messages.MetadataResponsePartition(
        error_code=0,
        partition_index=1,
        leader_id=1,
        leader_epoch=0,
        replica_nodes=[1],
        isr_nodes=[1],
        offline_replicas=[],
    )


def test_a_topic_named_twice_is_told_once(asked: AskedBroker) -> None:
    asked.topic("a")

    answer = asked.ask(metadata_of("a", "nope", "a", "nope", allow_auto_topic_creation=False))

    assert names(answer) == ["a", "nope"]


def test_a_topic_is_found_by_its_id_alone(asked: AskedBroker) -> None:
    made = asked.topic("orders")
    request = messages.MetadataRequest(
        topics=[messages.MetadataRequestTopic(name=None, topic_id=made.topic_id)]
    )

    [topic] = asked.ask(request).topics

    assert (topic.name, topic.topic_id, topic.error_code) == ("orders", made.topic_id, 0)


def test_an_unknown_id_is_told_as_such_and_creates_nothing(asked: AskedBroker) -> None:
    unknown = b"\x07" * 16
    request = messages.MetadataRequest(topics=[messages.MetadataRequestTopic(name=None, topic_id=unknown)])

    [newest] = asked.ask(request).topics
    [older] = asked.ask(request, 11).topics

    assert (newest.error_code, newest.name, newest.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, None, unknown)
    assert (older.error_code, older.name) == (ErrorCode.UNKNOWN_TOPIC_ID, "")
    assert asked.broker.cluster.image.topics == {}


def test_neither_name_nor_id_is_refused(asked: AskedBroker) -> None:
    request = messages.MetadataRequest(topics=[messages.MetadataRequestTopic(name=None)])

    [topic] = asked.ask(request).topics

    assert topic.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_an_unknown_topic_is_told_as_unknown_once_and_is_there_from_then_on(
    asked: AskedBroker, version: int
) -> None:
    first = asked.ask(metadata_of("new"), version)
    [topic] = asked.ask(metadata_of("new"), version).topics

    assert errors(first) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert (topic.error_code, topic.name, len(topic.partitions)) == (0, "new", 1)
    assert topic.partitions[0].leader_id == 1
    asked.append("new")


def test_a_created_topic_has_the_default_number_of_partitions(tmp_path: Path) -> None:
    with closing(AskedBroker(tmp_path, "num.partitions=7")) as asked:
        asked.ask(metadata_of("new"))
        [topic] = asked.ask(metadata_of("new")).topics

        assert len(topic.partitions) == 7


def test_nothing_is_created_unless_the_request_allows_it(asked: AskedBroker) -> None:
    answer = asked.ask(metadata_of("new", allow_auto_topic_creation=False))

    assert errors(answer) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert asked.broker.cluster.image.topics == {}


def test_nothing_is_created_unless_the_broker_allows_it(tmp_path: Path) -> None:
    with closing(AskedBroker(tmp_path, "auto.create.topics.enable=false")) as asked:
        answer = asked.ask(metadata_of("new"))

        assert errors(answer) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("name", ["", "a b", "..", "x" * 250, "ä"])
def test_a_bad_name_is_refused_whether_or_not_it_may_be_created(asked: AskedBroker, name: str) -> None:
    answers = [asked.ask(metadata_of(name, allow_auto_topic_creation=allowed)) for allowed in (False, True)]

    assert [errors(answer) for answer in answers] == [{name: ErrorCode.INVALID_TOPIC_EXCEPTION}] * 2


def test_a_name_that_collides_is_refused_and_the_others_are_created(asked: AskedBroker) -> None:
    asked.topic("a.b")

    asked.ask(metadata_of("a_b", "c"))
    answer = asked.ask(metadata_of("a_b", "c"))

    assert errors(answer) == {"a_b": ErrorCode.INVALID_TOPIC_EXCEPTION, "c": 0}


def test_the_reserved_name_is_unknown_and_not_created(asked: AskedBroker) -> None:
    answer = asked.ask(metadata_of("__cluster_metadata"))

    assert errors(answer) == {"__cluster_metadata": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_coordinators_topic_is_created_as_its_coordinator_needs_it(asked: AskedBroker) -> None:
    asked.ask(metadata_of("__consumer_offsets"))
    [topic] = asked.ask(metadata_of("__consumer_offsets")).topics

    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (0, True, 50)
    assert asked.log("__consumer_offsets").settings.cleanup_policy == {"compact"}


def test_operations_are_told_to_those_who_ask(asked: AskedBroker) -> None:
    asked.topic("a")

    silent = asked.ask(metadata_of("a"))
    told = asked.ask(metadata_of("a", include_topic_authorized_operations=True))
    cluster = asked.ask(metadata_of("a", include_cluster_authorized_operations=True), 10)

    assert silent.topics[0].topic_authorized_operations == NOT_ASKED
    assert told.topics[0].topic_authorized_operations == 0b1101_1111_1000
    assert cluster.cluster_authorized_operations == 0b1_1111_1010_0000


def test_a_partition_whose_disk_failed_has_no_leader(asked: AskedBroker) -> None:
    asked.topic("a", 2)
    asked.log("a", 1).fail(StorageError("the disk is gone"))

    [topic] = asked.ask(metadata_of("a")).topics

    assert [partition.leader_id for partition in topic.partitions] == [1, NO_LEADER]
    assert topic.partitions[1].error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert topic.partitions[1].offline_replicas == [1]


def test_a_partition_without_a_leader_is_told_so() -> None:
    partition = Partition((1, 2), (2,), NO_LEADER, 3, 4)

    told = describe_partition(5, partition, None)

    assert (told.error_code, told.leader_id, told.leader_epoch) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, 3)
    assert (told.partition_index, told.replica_nodes, told.isr_nodes) == (5, [1, 2], [2])


def test_brokers_are_told_by_id_and_only_where_the_listener_reaches_them() -> None:
    outside, inside = Endpoint("OUTSIDE", "public", 1), Endpoint("INSIDE", "private", 2)
    brokers = [
        BrokerRegistration(3, (outside, inside), "rack"),
        BrokerRegistration(1, (inside,)),
        BrokerRegistration(2, (outside,)),
    ]

    told = describe_brokers(image().with_brokers(brokers), "OUTSIDE")

    assert [(broker.node_id, broker.host, broker.port, broker.rack) for broker in told] == [
        (2, "public", 1, None),
        (3, "public", 1, "rack"),
    ]
