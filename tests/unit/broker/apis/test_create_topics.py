"""CreateTopics: row 78."""

from __future__ import annotations

from typing import Any

import pytest

from riverlog.cluster import NO_TOPIC_ID
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker


def topic(name: str, partitions: int = 1, replication_factor: int = 1, **configs: str | None) -> Any:
    return messages.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[
            messages.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )


@pytest.mark.parametrize("version", range(2, 8))
def test_a_created_topic_is_there_at_once_in_every_version(asked: AskedBroker, version: int) -> None:
    answer = asked.ask(messages.CreateTopicsRequest(topics=[topic("a", 3)]), version)

    assert [(result.name, result.error_code) for result in answer.topics] == [("a", 0)]
    assert len(asked.broker.cluster.image.topics["a"].partitions) == 3
    asked.append("a", index=2)


def test_the_answer_shows_what_the_topic_has_become(asked: AskedBroker) -> None:
    [result] = asked.ask(messages.CreateTopicsRequest(topics=[topic("a", -1, -1, retention_ms="5")])).topics

    made = asked.broker.cluster.image.topics["a"]
    assert (result.num_partitions, result.replication_factor) == (1, 1)
    assert (result.topic_id, result.error_message) == (made.topic_id, None)
    configs = {config.name: (config.value, config.config_source) for config in result.configs}
    assert configs["retention.ms"] == ("5", 1)
    assert configs["cleanup.policy"] == ("delete", 5)
    assert asked.log("a").settings.retention_ms == 5


def test_validating_shows_the_same_and_creates_nothing(asked: AskedBroker) -> None:
    request = messages.CreateTopicsRequest(topics=[topic("a", 4), topic("b", 0)], validate_only=True)

    answer = asked.ask(request)

    assert [(result.error_code, result.num_partitions) for result in answer.topics] == [(0, 4), (37, -1)]
    assert answer.topics[0].topic_id == NO_TOPIC_ID
    assert asked.broker.cluster.image.topics == {}
    assert len(asked.broker.logs) == 0


def test_a_refused_topic_is_told_why_and_leaves_the_others(asked: AskedBroker) -> None:
    request = messages.CreateTopicsRequest(
        topics=[topic("a b"), topic("b", retention_ms="soon"), topic("c", retention_ms=None), topic("d")]
    )

    answer = asked.ask(request)

    assert {result.name: result.error_code for result in answer.topics} == {
        "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "b": ErrorCode.INVALID_CONFIG,
        "c": ErrorCode.INVALID_CONFIG,
        "d": ErrorCode.NONE,
    }
    assert "retention.ms" in answer.topics[1].error_message
    assert (answer.topics[0].num_partitions, answer.topics[0].configs) == (-1, [])


def test_assigned_replicas_are_read(asked: AskedBroker) -> None:
    assigned = topic("a", -1, -1)
    assigned.assignments = [
        messages.CreatableReplicaAssignment(partition_index=index, broker_ids=[1]) for index in (1, 0)
    ]

    [result] = asked.ask(messages.CreateTopicsRequest(topics=[assigned])).topics

    assert (result.error_code, result.num_partitions) == (0, 2)


def test_a_topic_named_twice_is_answered_once_and_refused(asked: AskedBroker) -> None:
    answer = asked.ask(messages.CreateTopicsRequest(topics=[topic("a"), topic("a", 2)]))

    assert [(result.name, result.error_code) for result in answer.topics] == [
        ("a", ErrorCode.INVALID_REQUEST)
    ]
