"""Decisions on topics: every refusal by its error number, every change by its operations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from riverlog.cluster import NewPartitions, NewTopic, Partition, Refusal, Resource, ResourceType, Topic
from riverlog.cluster.changes import Change, apply
from riverlog.cluster.metadata_image import MetadataImage
from riverlog.cluster.topics import (
    PARTITIONS_PER_REQUEST_MAX,
    decide_creations,
    decide_deletions,
    decide_growths,
)
from riverlog.coordination import Create, Delete, Set
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.cluster.builders import broker, defaults, image, topic, topic_id


def ids() -> Iterator[bytes]:
    number = 0
    while True:
        number += 1
        yield topic_id(number)


def create(
    base: MetadataImage, *requests: NewTopic, partition_count: int = 1, replication_factor: int = 1
) -> dict[str, Change | Refusal]:
    return decide_creations(
        base,
        requests,
        defaults=defaults(partition_count, replication_factor),
        new_topic_id=ids().__next__,
        start=0,
    )


def created(base: MetadataImage, request: NewTopic) -> Topic:
    outcome = create(base, request)[request.name]
    assert isinstance(outcome, Change), outcome
    assert outcome.created is not None
    return outcome.created


def refused(outcomes: dict[str, Change | Refusal]) -> dict[str, int]:
    return {name: outcome.error_code for name, outcome in outcomes.items() if isinstance(outcome, Refusal)}


def test_a_new_topic_has_the_partitions_asked_for_and_an_id_of_its_own() -> None:
    outcomes = create(image(), NewTopic("a", 3, 1), NewTopic("b", 1, 1))

    first, second = outcomes["a"], outcomes["b"]

    assert isinstance(first, Change)
    assert isinstance(second, Change)
    assert first.created == topic("a", 3, number=1)
    assert second.created == topic("b", 1, number=2)


def test_minus_one_means_the_defaults() -> None:
    outcome = create(image(brokers=3), NewTopic("a"), partition_count=4, replication_factor=2)["a"]

    assert isinstance(outcome, Change)
    assert outcome.created is not None
    assert [len(partition.replicas) for partition in outcome.created.partitions] == [2, 2, 2, 2]


def test_a_topic_and_its_overrides_go_into_one_commit() -> None:
    request = NewTopic("a", 1, 1, overrides=[("retention.ms", "5"), ("cleanup.policy", "compact")])

    change = create(image(), request)["a"]

    assert isinstance(change, Change)
    assert [operation.path for operation in change.operations] == ["/topics/a", "/overrides/topic/a"]
    assert all(isinstance(operation, Create) for operation in change.operations)
    assert apply(image(), [change]).after.topic_overrides("a") == {
        "retention.ms": "5",
        "cleanup.policy": "compact",
    }


def test_assigned_replicas_are_taken_as_given_in_the_order_of_their_numbers() -> None:
    request = NewTopic("a", assignments=[(1, [3, 1]), (0, [2, 3])])

    made = created(image(brokers=3), request)

    assert [partition.replicas for partition in made.partitions] == [(2, 3), (3, 1)]
    assert made.partitions[0] == Partition((2, 3), (2, 3), 2, 0, 0)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (NewTopic(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("there.is"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (NewTopic("there_is"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("__cluster_metadata"), ErrorCode.INVALID_REQUEST),
        (NewTopic("z", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("z", -2, 1), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("z", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("z", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("z", 1, 3), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("z", PARTITIONS_PER_REQUEST_MAX + 1, 1), ErrorCode.POLICY_VIOLATION),
        (NewTopic("z", 2**31 - 1, 1), ErrorCode.POLICY_VIOLATION),
        (NewTopic("z", 1, -1, [(0, [1])]), ErrorCode.INVALID_REQUEST),
        (NewTopic("z", -1, 1, [(0, [1])]), ErrorCode.INVALID_REQUEST),
        (NewTopic("z", -1, -1, [(1, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("z", -1, -1, [(-1, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("z", -1, -1, [(0, [1]), (0, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("z", -1, -1, [(0, [])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("z", -1, -1, [(0, [9])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("z", -1, -1, [(0, [1, 1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("z", -1, -1, [(0, [1]), (1, [1, 2])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("z", 1, 1, overrides=[("no.such.setting", "1")]), ErrorCode.INVALID_CONFIG),
        (NewTopic("z", 1, 1, overrides=[("retention.ms", "soon")]), ErrorCode.INVALID_CONFIG),
        (NewTopic("z", 1, 1, overrides=[("retention.ms", None)]), ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_topic_that_cannot_be_is_refused_by_number(request_: NewTopic, code: ErrorCode) -> None:
    base = image(topic("there.is"), brokers=2)

    outcomes = create(base, request_, NewTopic("fine", 1, 1))

    assert refused(outcomes).get(request_.name) == code


def test_a_refusal_leaves_the_other_topics_of_the_request() -> None:
    outcomes = create(image(), NewTopic("a", 0, 1), NewTopic("b", 1, 1))

    assert refused(outcomes) == {"a": ErrorCode.INVALID_PARTITIONS}
    assert isinstance(outcomes["b"], Change)


def test_a_topic_named_twice_is_answered_once_and_refused() -> None:
    outcomes = create(image(), NewTopic("a", 1, 1), NewTopic("b", 1, 1), NewTopic("a", 2, 1))

    assert list(outcomes) == ["a", "b"]
    assert refused(outcomes) == {"a": ErrorCode.INVALID_REQUEST}


def test_two_new_topics_of_one_request_may_not_collide_either() -> None:
    outcomes = create(image(), NewTopic("a.b", 1, 1), NewTopic("a_b", 1, 1), NewTopic("a-b", 1, 1))

    assert refused(outcomes) == {"a_b": ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_a_deletion_removes_all_of_a_topic_and_notes_its_logs_in_one_commit() -> None:
    moved = Partition((1,), (1,), 1, leader_epoch=3, partition_epoch=3)
    doomed = topic("a", [moved, topic("x").partitions[0], moved], number=7)
    settings = {Resource(ResourceType.TOPIC, "a"): {"retention.ms": "5"}}
    base = image(doomed, overrides=settings)

    change = decide_deletions(base, ["a"])["a"]

    assert isinstance(change, Change)
    assert [operation.path for operation in change.operations] == [
        "/topics/a/0",
        "/topics/a/2",
        "/topics/a",
        "/overrides/topic/a",
        "/deletions/AAAAAAAAAAAAAAAAAAAABw",
    ]
    assert [type(operation) for operation in change.operations] == [Delete, Delete, Delete, Delete, Create]
    after = apply(base, [change]).after
    assert (after.topics, after.topics_by_id, after.overrides) == ({}, {}, {})


def test_deleting_what_is_not_there_is_refused() -> None:
    outcomes = decide_deletions(image(topic("a")), ["b", ""])

    assert refused(outcomes) == {"b": 3, "": 3}


def test_added_partitions_come_behind_those_that_are_there() -> None:
    former = topic("a", [Partition((1,), (1,), 1, 5, 5)])
    base = image(former)

    change = decide_growths(base, [NewPartitions("a", 3)], start=0)["a"]

    assert isinstance(change, Change)
    assert [type(operation) for operation in change.operations] == [Set]
    assert change.updated == topic("a", [former.partitions[0], *topic("x", 2).partitions])


def test_added_partitions_have_the_replication_factor_of_the_topic() -> None:
    former = topic("a", [Partition((2, 3), (2, 3), 2, 0, 0)])

    change = decide_growths(image(former, brokers=3), [NewPartitions("a", 5)], start=1)["a"]

    assert isinstance(change, Change)
    assert change.updated is not None
    assert all(len(partition.replicas) == 2 for partition in change.updated.partitions)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (NewPartitions("nope", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (NewPartitions("", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (NewPartitions("a", 1), ErrorCode.INVALID_PARTITIONS),
        (NewPartitions("a", 2), ErrorCode.INVALID_PARTITIONS),
        (NewPartitions("a", 0), ErrorCode.INVALID_PARTITIONS),
        (NewPartitions("a", -1), ErrorCode.INVALID_PARTITIONS),
        (NewPartitions("a", PARTITIONS_PER_REQUEST_MAX + 3), ErrorCode.POLICY_VIOLATION),
        (NewPartitions("a", 3, [[1], [1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewPartitions("a", 3, []), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewPartitions("a", 3, [[9]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewPartitions("a", 3, [[]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewPartitions("a", 3, [[1, 2]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_growth_that_cannot_be_is_refused_by_number(request_: NewPartitions, code: ErrorCode) -> None:
    base = image(topic("a", 2), brokers=2)

    outcomes = decide_growths(base, [request_], start=0)

    assert refused(outcomes) == {request_.name: code}


def test_a_topic_grown_twice_in_one_request_is_answered_once_and_refused() -> None:
    outcomes = decide_growths(image(topic("a")), [NewPartitions("a", 2), NewPartitions("a", 3)], start=0)

    assert refused(outcomes) == {"a": ErrorCode.INVALID_REQUEST}


def test_a_topic_cannot_outgrow_its_node() -> None:
    replicas = tuple(range(100_000, 100_010))
    huge = topic("a", [Partition(replicas, replicas, replicas[0], 0, 0)] * 7_000)
    base = image(huge).with_brokers([broker(each) for each in replicas])

    outcomes = decide_growths(base, [NewPartitions("a", 7_001, [replicas])], start=0)

    assert refused(outcomes) == {"a": ErrorCode.INVALID_PARTITIONS}
