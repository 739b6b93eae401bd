"""CreatePartitions: row 78."""

from __future__ import annotations

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker


def grow(name: str, count: int, assignments: list[list[int]] | None = None) -> messages.CreatePartitionsTopic:
    given = None
    if assignments is not None:
        given = [messages.CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
    return messages.CreatePartitionsTopic(name=name, count=count, assignments=given)


@pytest.mark.parametrize("version", range(4))
def test_added_partitions_can_be_used_at_once_in_every_version(asked: AskedBroker, version: int) -> None:
    asked.topic("a", 2)
    asked.append("a", index=1)

    answer = asked.ask(messages.CreatePartitionsRequest(topics=[grow("a", 4)]), version)

    assert [(result.name, result.error_code, result.error_message) for result in answer.results] == [
        ("a", 0, None)
    ]
    asked.append("a", index=3)
    assert asked.log("a", 1).log_end_offset == 3


def test_each_topic_is_answered_once_and_for_itself(asked: AskedBroker) -> None:
    for name in ("a", "b", "c"):
        asked.topic(name, 2)
    topics = [grow("a", 3), grow("b", 1), grow("c", 3), grow("c", 4), grow("nope", 2)]

    answer = asked.ask(messages.CreatePartitionsRequest(topics=topics))

    assert {result.name: result.error_code for result in answer.results} == {
        "a": ErrorCode.NONE,
        "b": ErrorCode.INVALID_PARTITIONS,
        "c": ErrorCode.INVALID_REQUEST,
        "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert len(answer.results) == 4


def test_assignments_are_read(asked: AskedBroker) -> None:
    asked.topic("a")
    asked.topic("b")

    answer = asked.ask(
        messages.CreatePartitionsRequest(topics=[grow("a", 3, [[1], [1]]), grow("b", 2, [[1], [1]])])
    )

    assert [result.error_code for result in answer.results] == [0, ErrorCode.INVALID_REPLICA_ASSIGNMENT]


def test_validating_changes_nothing(asked: AskedBroker) -> None:
    asked.topic("a")

    answer = asked.ask(messages.CreatePartitionsRequest(topics=[grow("a", 3)], validate_only=True))

    assert answer.results[0].error_code == 0
    assert len(asked.broker.cluster.image.topics["a"].partitions) == 1
