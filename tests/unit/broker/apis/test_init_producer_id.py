"""InitProducerId without transactions, and DescribeProducers."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from riverlog.broker.apis.init_producer_id import allotted
from riverlog.errors import StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker


@pytest.mark.parametrize("version", range(6))
def test_every_request_gets_another_id_in_every_version(asked: AskedBroker, version: int) -> None:
    request = messages.InitProducerIdRequest(transactional_id=None)

    answers = [asked.ask(request, version) for _ in range(3)]

    assert [(answer.error_code, answer.producer_id, answer.producer_epoch) for answer in answers] == [
        (0, 0, 0),
        (0, 1, 0),
        (0, 2, 0),
    ]


def test_ids_go_on_behind_those_of_the_former_process(tmp_path: Path) -> None:
    request = messages.InitProducerIdRequest(transactional_id=None)
    with closing(AskedBroker(tmp_path)) as asked:
        first = asked.ask(request).producer_id
    with closing(AskedBroker(tmp_path)) as again:
        second = again.ask(request).producer_id

    assert second > first


def test_a_producer_that_names_its_former_id_gets_a_new_one(asked: AskedBroker) -> None:
    request = messages.InitProducerIdRequest(transactional_id=None, producer_id=5, producer_epoch=3)

    answer = asked.ask(request)

    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, 0, 0)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": None, "producer_id": 5}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": None, "producer_epoch": 5}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": "t"}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"transactional_id": "t", "transaction_timeout_ms": 900_001}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_what_cannot_be_granted_gets_no_id(
    asked: AskedBroker, fields: dict[str, object], code: ErrorCode
) -> None:
    answer = asked.ask(messages.InitProducerIdRequest(**fields))  # type: ignore[arg-type]

    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


def test_an_id_that_the_disk_cannot_remember_is_not_handed_out(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> int:
        raise StorageError("the disk is full")

    answer = allotted(fail)

    assert (answer.error_code, answer.producer_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    assert "the disk is full" in caplog.text


def test_the_producers_that_a_partition_remembers_are_described(asked: AskedBroker) -> None:
    asked.topic("a", 2)
    asked.append("a", 3, producer_id=7, producer_epoch=2, base_sequence=0)
    topics = [
        messages.DescribeProducersRequestTopicRequest(name="a", partition_indexes=[0, 1, 9]),
        messages.DescribeProducersRequestTopicRequest(name="a b", partition_indexes=[0]),
    ]

    known, illegal = asked.ask(messages.DescribeProducersRequest(topics=topics)).topics

    assert [(each.partition_index, each.error_code) for each in known.partitions] == [(0, 0), (1, 0), (9, 3)]
    [producer] = known.partitions[0].active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7, 2, 2)
    assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (-1, -1)
    assert known.partitions[1].active_producers == []
    assert illegal.partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
