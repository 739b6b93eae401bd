"""OffsetForLeaderEpoch: rows 36 and 37."""

from __future__ import annotations

import pytest

from riverlog.errors import StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker


@pytest.fixture
def led(asked: AskedBroker) -> AskedBroker:
    """Epoch 0 holds offsets 0-2, epoch 2 offsets 3-5, epoch 5 nothing yet."""
    asked.topic("a")
    asked.append("a")
    asked.log("a").assign_epoch(2)
    asked.append("a")
    asked.log("a").assign_epoch(5)
    return asked


def end_of(
    asked: AskedBroker, epoch: int, *, current: int = -1, topic: str = "a", index: int = 0, version: int = 4
) -> tuple[int, int, int]:
    partition = messages.OffsetForLeaderPartition(
        partition=index, current_leader_epoch=current, leader_epoch=epoch
    )
    request = messages.OffsetForLeaderEpochRequest(
        topics=[messages.OffsetForLeaderTopic(topic=topic, partitions=[partition])]
    )
    [told] = asked.ask(request, version).topics
    [answer] = told.partitions
    assert (told.topic, answer.partition) == (topic, index)
    return answer.error_code, answer.leader_epoch, answer.end_offset


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(0, (0, 0, 3)), (1, (0, 0, 3)), (2, (0, 2, 6)), (4, (0, 2, 6)), (5, (0, 5, 6)), (6, (0, -1, -1))],
)
def test_an_epoch_ends_where_the_next_begins(
    led: AskedBroker, version: int, epoch: int, expected: tuple[int, int, int]
) -> None:
    assert end_of(led, epoch, version=version) == expected


@pytest.mark.parametrize(
    ("current", "code"),
    [
        (5, ErrorCode.NONE),
        (-1, ErrorCode.NONE),
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_the_clients_own_epoch_is_checked_first(led: AskedBroker, current: int, code: ErrorCode) -> None:
    error_code, _, end_offset = end_of(led, 0, current=current)

    assert (error_code, end_offset) == (code, 3 if code == ErrorCode.NONE else -1)


@pytest.mark.parametrize(("topic", "index"), [("nope", 0), ("a", 1), ("a", -1)])
def test_what_is_not_there_is_unknown(led: AskedBroker, topic: str, index: int) -> None:
    assert end_of(led, 0, topic=topic, index=index) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


def test_a_partition_whose_disk_failed_is_refused(led: AskedBroker) -> None:
    led.log("a").fail(StorageError("the disk is gone"))

    assert end_of(led, 0) == (ErrorCode.KAFKA_STORAGE_ERROR, -1, -1)
