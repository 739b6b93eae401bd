"""WriteTxnMarkers, and what DescribeProducers, ListOffsets and Fetch tell of transactions."""

from __future__ import annotations

from typing import Any

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker

PRODUCER = 9


def marker(
    *topics: tuple[str, list[int]],
    is_commit: bool = True,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
    producer_id: int = PRODUCER,
) -> messages.WritableTxnMarker:
    return messages.WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=is_commit,
        topics=[messages.WritableTxnMarkerTopic(name=name, partition_indexes=each) for name, each in topics],
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction_version,
    )


def write(asked: AskedBroker, *markers: messages.WritableTxnMarker, version: int = 2) -> dict[Any, int]:
    """The error codes by producer id, topic and partition."""
    answer = asked.ask(messages.WriteTxnMarkersRequest(markers=list(markers)), version)
    return {
        (producer.producer_id, topic.name, partition.partition_index): partition.error_code
        for producer in answer.markers
        for topic in producer.topics
        for partition in topic.partitions
    }


def begin(asked: AskedBroker, topic: str, *, index: int = 0, epoch: int = 0) -> None:
    asked.append(
        topic,
        index=index,
        producer_id=PRODUCER,
        producer_epoch=epoch,
        base_sequence=0,
        is_transactional=True,
    )


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_ends_the_transaction_and_is_on_the_disk(
    asked: AskedBroker, version: int, is_commit: bool
) -> None:
    asked.topic("a")
    begin(asked, "a")

    codes = write(asked, marker(("a", [0]), is_commit=is_commit), version=version)

    assert codes == {(PRODUCER, "a", 0): 0}
    log = asked.log("a")
    assert (log.log_end_offset, log.last_stable_offset, log.flushed_offset) == (4, 4, 4)
    assert log.open_transaction_of(PRODUCER) == -1


def test_every_partition_has_its_own_answer(asked: AskedBroker) -> None:
    asked.topic("a", partitions=2)
    asked.topic("b")
    begin(asked, "a", index=1)

    codes = write(
        asked,
        marker(("a", [0, 1, 7]), ("c", [0])),
        marker(("b", [0]), producer_id=8),
    )

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {
        (PRODUCER, "a", 0): 0,
        (PRODUCER, "a", 1): 0,
        (PRODUCER, "a", 7): unknown,
        (PRODUCER, "c", 0): unknown,
        (8, "b", 0): 0,
    }


def test_a_late_coordinator_and_a_late_producer_are_fenced(asked: AskedBroker) -> None:
    asked.topic("a")
    begin(asked, "a", epoch=3)
    write(asked, marker(("a", [0]), epoch=3, coordinator_epoch=5))

    late_producer = write(asked, marker(("a", [0]), epoch=2, coordinator_epoch=5))
    late_coordinator = write(asked, marker(("a", [0]), epoch=3, coordinator_epoch=4))

    assert late_producer == {(PRODUCER, "a", 0): ErrorCode.INVALID_PRODUCER_EPOCH}
    assert late_coordinator == {(PRODUCER, "a", 0): ErrorCode.TRANSACTION_COORDINATOR_FENCED}
    assert asked.log("a").log_end_offset == 4


def test_from_transaction_version_2_on_the_epoch_of_the_data_is_a_late_one(asked: AskedBroker) -> None:
    asked.topic("a")
    begin(asked, "a", epoch=3)

    late = write(asked, marker(("a", [0]), epoch=3, transaction_version=2))
    ended = write(asked, marker(("a", [0]), epoch=4, transaction_version=2))
    again = write(asked, marker(("a", [0]), epoch=4, transaction_version=2))

    assert late == {(PRODUCER, "a", 0): ErrorCode.INVALID_PRODUCER_EPOCH}
    assert (ended, again) == ({(PRODUCER, "a", 0): 0}, {(PRODUCER, "a", 0): 0})
    assert asked.log("a").log_end_offset == 5


def test_a_producer_named_twice_is_answered_once(asked: AskedBroker) -> None:
    asked.topic("a")
    begin(asked, "a")

    answer = asked.ask(
        messages.WriteTxnMarkersRequest(markers=[marker(("a", [0])), marker(("a", [0]), ("c", [0]))])
    )

    (producer,) = answer.markers
    assert [(topic.name, len(topic.partitions)) for topic in producer.topics] == [("a", 1), ("c", 1)]


def test_producers_are_described_with_their_transactions(asked: AskedBroker) -> None:
    asked.topic("a")
    asked.append("a")
    begin(asked, "a")
    request = messages.DescribeProducersRequest(
        topics=[messages.DescribeProducersRequestTopicRequest(name="a", partition_indexes=[0])]
    )

    def described() -> messages.ProducerState:
        (topic,) = asked.ask(request).topics
        (partition,) = topic.partitions
        (producer,) = partition.active_producers
        return producer

    while_open = described()
    write(asked, marker(("a", [0]), epoch=1, coordinator_epoch=7))
    after = described()

    assert (while_open.current_txn_start_offset, while_open.coordinator_epoch) == (3, -1)
    assert (after.current_txn_start_offset, after.coordinator_epoch) == (-1, 7)
    assert (after.producer_epoch, after.last_sequence) == (1, -1)


@pytest.mark.parametrize("version", [2, 4, 7, 11])
def test_committed_data_is_listed_up_to_the_last_stable_offset(asked: AskedBroker, version: int) -> None:
    asked.topic("a")
    asked.append("a")
    begin(asked, "a")

    def listed(timestamp: int, isolation_level: int) -> int:
        request = messages.ListOffsetsRequest(
            isolation_level=isolation_level,
            topics=[
                messages.ListOffsetsTopic(
                    name="a",
                    partitions=[messages.ListOffsetsPartition(partition_index=0, timestamp=timestamp)],
                )
            ],
        )
        (topic,) = asked.ask(request, version).topics
        (partition,) = topic.partitions
        return int(partition.offset)

    assert (listed(-1, 0), listed(-1, 1)) == (6, 3)
    write(asked, marker(("a", [0]), is_commit=False))
    assert (listed(-1, 0), listed(-1, 1)) == (7, 7)
