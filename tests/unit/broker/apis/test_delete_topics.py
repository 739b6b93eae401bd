"""DeleteTopics: by name, by id, once."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker


def by_name(*names: str) -> messages.DeleteTopicsRequest:
    return messages.DeleteTopicsRequest(
        topics=[messages.DeleteTopicState(name=name) for name in names], topic_names=list(names)
    )


def by_id(*ids: bytes) -> messages.DeleteTopicsRequest:
    return messages.DeleteTopicsRequest(topics=[messages.DeleteTopicState(topic_id=each) for each in ids])


@pytest.mark.parametrize("version", range(1, 7))
def test_a_deleted_topic_is_gone_at_once_in_every_version(asked: AskedBroker, version: int) -> None:
    asked.topic("a", 2)

    answer = asked.ask(by_name("a"), version)

    assert [(result.name, result.error_code) for result in answer.responses] == [("a", 0)]
    assert asked.broker.cluster.image.topics == {}
    assert asked.broker.partitions.find("a", 0) is None
    directories = os.listdir(asked.broker.logs.directories[0].path)
    assert [name for name in directories if name in ("a-0", "a-1")] == []


def test_a_topic_is_deleted_by_its_id(asked: AskedBroker) -> None:
    made = asked.topic("a")

    [result] = asked.ask(by_id(made.topic_id)).responses

    assert (result.name, result.topic_id, result.error_code) == ("a", made.topic_id, 0)
    assert asked.broker.cluster.image.topics == {}


def test_what_is_not_there_is_told_by_what_it_was_named_with(asked: AskedBroker) -> None:
    names = asked.ask(by_name("nope", "")).responses
    ids = asked.ask(by_id(b"\x01" * 16)).responses

    assert [(result.name, result.error_code) for result in names] == [("nope", 3), ("", 3)]
    assert [(result.topic_id, result.error_code) for result in ids] == [(b"\x01" * 16, 100)]


def test_name_and_id_together_or_neither_are_refused(asked: AskedBroker) -> None:
    made = asked.topic("a")
    both = messages.DeleteTopicState(name="a", topic_id=made.topic_id)

    answer = asked.ask(messages.DeleteTopicsRequest(topics=[both, messages.DeleteTopicState()]))

    assert [result.error_code for result in answer.responses] == [ErrorCode.INVALID_REQUEST] * 2
    assert "a" in asked.broker.cluster.image.topics


def test_a_topic_named_twice_by_whatever_means_is_answered_once_and_refused(asked: AskedBroker) -> None:
    made = asked.topic("a")
    twice = [messages.DeleteTopicState(name="a"), messages.DeleteTopicState(topic_id=made.topic_id)]

    answers = [asked.ask(messages.DeleteTopicsRequest(topics=topics)) for topics in (twice, twice[:1] * 2)]

    for answer in answers:
        assert [(result.name, result.error_code) for result in answer.responses] == [("a", 42)]
    assert "a" in asked.broker.cluster.image.topics


def test_what_is_not_there_and_named_twice_is_refused_as_well(asked: AskedBroker) -> None:
    by_id = messages.DeleteTopicsRequest(topics=[messages.DeleteTopicState(topic_id=bytes(range(16)))] * 2)

    answers = [asked.ask(by_name("nope", "nope"), 1), asked.ask(by_id)]

    assert [[result.error_code for result in answer.responses] for answer in answers] == [[42], [42]]


@pytest.mark.parametrize(
    ("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED), (6, 73)]
)
def test_where_deletion_is_switched_off_everything_is_refused(
    tmp_path: Path, version: int, code: int
) -> None:
    with closing(AskedBroker(tmp_path, "delete.topic.enable=false")) as asked:
        asked.topic("a")

        answer = asked.ask(by_name("a", "nope"), version)

        assert [result.error_code for result in answer.responses] == [code, code]
        assert "a" in asked.broker.cluster.image.topics


def test_the_name_can_be_used_again_and_starts_empty(asked: AskedBroker) -> None:
    first = asked.topic("a")
    asked.append("a")
    asked.ask(by_name("a"))

    second = asked.topic("a")

    assert first.topic_id != second.topic_id
    assert asked.log("a").log_end_offset == 0
