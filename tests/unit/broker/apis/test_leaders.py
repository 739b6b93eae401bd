"""ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments: what one broker can grant."""

from __future__ import annotations

import pytest

from riverlog.broker.apis.alter_partition_reassignments import verdict
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker
from tests.unit.cluster.builders import image, topic

NOT_NEEDED, UNKNOWN = ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def elections(asked: AskedBroker, version: int = 2, **fields: object) -> dict[tuple[str, int], int]:
    answer = asked.ask(messages.ElectLeadersRequest(**fields), version)  # type: ignore[arg-type]
    assert answer.error_code == 0
    return {
        (topic.topic, partition.partition_id): partition.error_code
        for topic in answer.replica_election_results
        for partition in topic.partition_result
    }


def partitions(name: str, *indexes: int) -> messages.ElectLeadersRequestTopicPartitions:
    return messages.ElectLeadersRequestTopicPartitions(topic=name, partitions=list(indexes))


@pytest.mark.parametrize("version", range(3))
def test_a_partition_with_its_leader_needs_no_election(asked: AskedBroker, version: int) -> None:
    asked.topic("a", 2)
    wanted = [partitions("a", 0, 0, 9, -1), partitions("nope", 0)]

    outcomes = elections(asked, version, topic_partitions=wanted)

    assert outcomes == {("a", 0): NOT_NEEDED, ("a", 9): UNKNOWN, ("a", -1): UNKNOWN, ("nope", 0): UNKNOWN}


def test_an_unclean_election_is_not_needed_either(asked: AskedBroker) -> None:
    asked.topic("a")

    assert elections(asked, election_type=1, topic_partitions=[partitions("a", 0)]) == {("a", 0): NOT_NEEDED}


def test_all_partitions_means_those_that_need_an_election(asked: AskedBroker) -> None:
    asked.topic("a", 3)

    assert elections(asked, topic_partitions=None) == {}


def test_an_unknown_kind_of_election_is_refused(asked: AskedBroker) -> None:
    answer = asked.ask(messages.ElectLeadersRequest(election_type=5, topic_partitions=[partitions("a", 0)]))

    assert (answer.error_code, answer.replica_election_results) == (ErrorCode.INVALID_REQUEST, [])


@pytest.mark.parametrize(
    ("name", "index", "replicas", "code"),
    [
        ("a", 0, [1], ErrorCode.NONE),
        ("a", 0, None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        ("a", 0, [], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("a", 0, [9], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("a", 0, [1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("a", 0, [-1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("a", 0, [1, 2], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("a", 9, [1], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("nope", 0, [1], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_replicas_stay_where_they_are(
    name: str, index: int, replicas: list[int] | None, code: ErrorCode
) -> None:
    refusal = verdict(image(topic("a"), brokers=2), name, index, replicas)

    assert (ErrorCode.NONE if refusal is None else refusal.error_code) == code


@pytest.mark.parametrize("version", [0, 1])
def test_reassignments_are_answered_by_partition(asked: AskedBroker, version: int) -> None:
    asked.topic("a")
    wanted = messages.ReassignableTopic(
        name="a",
        partitions=[
            messages.ReassignablePartition(partition_index=0, replicas=[1]),
            messages.ReassignablePartition(partition_index=1, replicas=[1]),
        ],
    )

    answer = asked.ask(messages.AlterPartitionReassignmentsRequest(topics=[wanted]), version)

    assert (answer.error_code, answer.error_message) == (0, None)
    assert [(each.partition_index, each.error_code) for each in answer.responses[0].partitions] == [
        (0, 0),
        (1, 3),
    ]


def test_nothing_is_ever_being_reassigned(asked: AskedBroker) -> None:
    answer = asked.ask(messages.ListPartitionReassignmentsRequest(topics=None))

    assert (answer.error_code, answer.topics) == (0, [])
