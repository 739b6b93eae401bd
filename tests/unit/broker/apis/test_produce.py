"""Produce: requests that look like the one before take a shorter way, to the same effect."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from riverlog.errors import RemoteProtocolError, StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import batch
from tests.unit.broker.apis.asking import AskedBroker

VERSIONS = [4, 5, 7, 8, 9, 12]
"""Version 4 has no shape: it goes the long way each time."""


def request(index: int = 0, records: bytes | None = None, *, acks: int = 1) -> messages.ProduceRequest:
    data = messages.PartitionProduceData(index=index, records=bytes(batch(2)) if records is None else records)
    topic = messages.TopicProduceData(name="a", partition_data=[data])
    return messages.ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic])


def produce(asked: AskedBroker, version: int, index: int = 0, **options: Any) -> tuple[int, int]:
    """Send a batch; gives error and base offset."""
    [topic] = asked.ask(request(index, **options), version).responses
    [told] = topic.partition_responses
    assert (topic.name, told.index) == ("a", index)
    return told.error_code, told.base_offset


def errors(asked: AskedBroker) -> dict[int, int]:
    """The errors that were counted, whichever way a request took."""
    return asked.broker.counters.of(0).errors


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest, asked: AskedBroker) -> int:
    """A version in which a request was answered already."""
    version: int = request.param
    asked.topic("a", partitions=2)
    for acks in (-1, 1):
        assert produce(asked, version, acks=acks)[0] == ErrorCode.NONE
    return version


def test_batches_get_one_offset_after_the_other_in_each_partition(asked: AskedBroker, version: int) -> None:
    answers = [produce(asked, version, index) for index in (0, 1, 1, 0)]

    assert answers == [(0, 4), (0, 0), (0, 2), (0, 6)]
    assert (asked.log("a", 0).log_end_offset, asked.log("a", 1).log_end_offset) == (8, 4)


def test_an_answer_to_acks_all_means_that_the_disk_has_it(asked: AskedBroker, version: int) -> None:
    produce(asked, version, acks=-1)

    assert produce(asked, version, acks=-1) == (0, 6)
    assert asked.log("a").flushed_offset == 8


def test_nothing_is_acknowledged_that_the_disk_does_not_take(
    asked: AskedBroker, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce(asked, version, acks=-1)

    def wait_for(_log: Any, _offset: int, on_done: Any) -> None:
        on_done(StorageError("no", path="somewhere"))

    monkeypatch.setattr(asked.broker.commit, "wait_for", wait_for)

    assert produce(asked, version, acks=-1) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    assert errors(asked) == {ErrorCode.KAFKA_STORAGE_ERROR: 1}


def test_a_retry_is_answered_with_its_first_offset(asked: AskedBroker, version: int) -> None:
    options = {"producer_id": 7, "producer_epoch": 0}
    first = bytes(batch(2, base_sequence=0, **options))
    second = bytes(batch(2, base_sequence=2, **options))

    answers = [produce(asked, version, records=records) for records in (first, second, first, second)]

    assert answers == [(0, 4), (0, 6), (0, 4), (0, 6)]
    assert asked.log("a").log_end_offset == 8


def test_a_batch_that_is_refused_is_told_why(asked: AskedBroker, version: int) -> None:
    spoiled = bytes(batch(2))[:-1] + b"\xff"

    assert produce(asked, version, records=spoiled) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert produce(asked, version, 2) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert produce(asked, version, -1) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert produce(asked, version) == (0, 4)
    assert errors(asked) == {ErrorCode.CORRUPT_MESSAGE: 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 2}


def test_a_topic_that_is_gone_is_not_written_to(asked: AskedBroker, version: int) -> None:
    asked.broker.cluster.delete_topics(["a"])

    assert produce(asked, version) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_a_failing_disk_is_told(asked: AskedBroker, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any) -> int:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(asked.log("a"), "_pwrite", full)

    assert produce(asked, version) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)


def test_without_acks_a_refusal_ends_the_connection(asked: AskedBroker, version: int) -> None:
    for _ in range(2):
        assert asked.tell(request(acks=0), version) is None
    assert asked.log("a").log_end_offset == 8

    with pytest.raises(RemoteProtocolError, match="refused with error 3"):
        asked.tell(request(2, acks=0), version)


def test_parked_readers_learn_of_what_was_appended(
    asked: AskedBroker, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    appended: list[Any] = []
    monkeypatch.setattr(asked.broker.waiters, "appended", appended.append)

    produce(asked, version)
    produce(asked, version, 1)

    assert appended == [asked.log("a", 0), asked.log("a", 1)]
