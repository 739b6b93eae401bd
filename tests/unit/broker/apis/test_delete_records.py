"""DeleteRecords: row 46."""

from __future__ import annotations

import pytest

from riverlog.errors import StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker

OUT_OF_RANGE = (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def delete(
    asked: AskedBroker, *offsets: int, topic: str = "a", index: int = 0, version: int = 2
) -> tuple[int, int]:
    """Ask for one partition, once for each offset; gives error and low watermark of the one answer."""
    partitions = [messages.DeleteRecordsPartition(partition_index=index, offset=offset) for offset in offsets]
    request = messages.DeleteRecordsRequest(
        topics=[messages.DeleteRecordsTopic(name=topic, partitions=partitions)]
    )
    [told] = asked.ask(request, version).topics
    [answer] = told.partitions
    assert (told.name, answer.partition_index) == (topic, index)
    return answer.error_code, answer.low_watermark


@pytest.fixture
def filled(asked: AskedBroker) -> AskedBroker:
    asked.topic("a")
    asked.append("a", 10)
    return asked


@pytest.mark.parametrize("version", range(3))
def test_the_log_starts_at_the_offset_asked_for_in_every_version(filled: AskedBroker, version: int) -> None:
    assert delete(filled, 4, version=version) == (0, 4)
    assert filled.log("a").log_start_offset == 4


def test_minus_one_is_the_high_watermark(filled: AskedBroker) -> None:
    assert delete(filled, -1) == (0, 10)


def test_an_offset_at_or_below_the_start_is_granted_and_changes_nothing(filled: AskedBroker) -> None:
    delete(filled, 4)

    assert [delete(filled, 4), delete(filled, 3), delete(filled, 0)] == [(0, 4)] * 3


@pytest.mark.parametrize("offset", [11, 2**63 - 1, -2, -(2**63)])
def test_an_offset_above_the_high_watermark_or_a_negative_one_is_out_of_range(
    filled: AskedBroker, offset: int
) -> None:
    assert delete(filled, offset) == OUT_OF_RANGE
    assert filled.log("a").log_start_offset == 0


def test_a_topic_without_the_policy_delete_keeps_its_records(asked: AskedBroker) -> None:
    asked.topic("compacted", cleanup_policy="compact")
    asked.append("compacted")

    assert delete(asked, 1, topic="compacted") == (ErrorCode.POLICY_VIOLATION, -1)


def test_a_coordinators_topic_keeps_its_records(asked: AskedBroker) -> None:
    assert delete(asked, 0, topic="__consumer_offsets") == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)


@pytest.mark.parametrize(("topic", "index"), [("nope", 0), ("a", 1), ("a", -1), ("a b", 0)])
def test_what_is_not_there_is_unknown(filled: AskedBroker, topic: str, index: int) -> None:
    assert delete(filled, 0, topic=topic, index=index) == UNKNOWN


def test_a_partition_asked_for_twice_is_answered_once(filled: AskedBroker) -> None:
    assert delete(filled, 2, 5) == (0, 5)


def test_a_partition_whose_disk_failed_is_refused(filled: AskedBroker) -> None:
    filled.log("a").fail(StorageError("the disk is gone"))

    error_code, low_watermark = delete(filled, 4)

    assert (error_code, low_watermark) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
