"""Rows 43, 52-56: what one partition's log does for transactions. They are ended by WriteTxnMarkers.

Nobody coordinates these transactions, so this needs a broker that does not ask a coordinator before it
takes a transaction's first record: one with `transaction.partition.verification.enable=false`.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import batch
from tests.process.raw_client import ALL, FETCH, LIST_OFFSETS, PRODUCE, RawClient

from .asking import Topic, append, batches_of, fetch_request, fetched_of, log_end, wanted
from .conftest import BROKER_SETTINGS, Connect, GivenBroker, LiveBroker

NewTopic = Callable[..., Topic]

WRITE_TXN_MARKERS, DESCRIBE_PRODUCERS = 27, 61
LAST_PRODUCE_WITHOUT_IMPLICIT_REGISTRATION = 11
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A broker that takes records of transactions which no coordinator knows."""
    given = os.environ.get("RIVERLOG_TEST_BOOTSTRAP")
    if given:
        yield GivenBroker(given)
        return
    settings = {**BROKER_SETTINGS, "transaction.partition.verification.enable": "false"}
    with LiveBroker(tmp_path_factory.mktemp("transactions") / "data", settings=settings) as live:
        yield live


def fresh(count: int = 3, **options: Any) -> bytearray:
    """A batch of now. Markers are, and one much younger than the records before it begins a new segment."""
    return batch(count, timestamp=int(time.time() * 1000), **options)


_numbers = itertools.count(time.time_ns() // 1_000)


class Transactional:
    """A producer of transactions with an id that nobody else has."""

    def __init__(self, client: RawClient) -> None:
        self._client = client
        self.id = next(_numbers)
        self.epoch = 0
        self._sequences: dict[tuple[str, int], int] = {}

    def send(self, topic: Topic, count: int = 3, *, partition: int = 0) -> int:
        """Append a batch to the open transaction, or begin one; give its first offset."""
        place = (topic.name, partition)
        sequence = self._sequences.get(place, 0)
        data = fresh(
            count,
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        self._sequences[place] = sequence + count
        request = messages.ProduceRequest(
            transactional_id=f"transactional-{self.id}",
            acks=ALL,
            timeout_ms=30_000,
            topic_data=[
                messages.TopicProduceData(
                    name=topic.name,
                    partition_data=[messages.PartitionProduceData(index=partition, records=bytes(data))],
                )
            ],
        )
        reply = self._client.call(PRODUCE, LAST_PRODUCE_WITHOUT_IMPLICIT_REGISTRATION, request)
        (partition_reply,) = reply.responses[0].partition_responses
        assert partition_reply.error_code == 0, ErrorCode(partition_reply.error_code)
        return int(partition_reply.base_offset)

    def end(
        self,
        topic: Topic,
        *,
        is_commit: bool,
        partition: int = 0,
        epoch: int | None = None,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
        version: int = 2,
    ) -> int:
        """Write a marker; give the error code."""
        marker = messages.WritableTxnMarker(
            producer_id=self.id,
            producer_epoch=self.epoch if epoch is None else epoch,
            transaction_result=is_commit,
            topics=[messages.WritableTxnMarkerTopic(name=topic.name, partition_indexes=[partition])],
            coordinator_epoch=coordinator_epoch,
            transaction_version=transaction_version,
        )
        reply = self._client.call(
            WRITE_TXN_MARKERS, version, messages.WriteTxnMarkersRequest(markers=[marker])
        )
        (producer,) = reply.markers
        (answered,) = producer.topics
        (result,) = answered.partitions
        assert (producer.producer_id, answered.name) == (self.id, topic.name)
        return int(result.error_code)


@pytest.fixture
def new_producer(client: RawClient) -> Callable[[], Transactional]:
    return lambda: Transactional(client)


@pytest.fixture
def producer(client: RawClient) -> Transactional:
    return Transactional(client)


def read(
    client: RawClient, topic: Topic, offset: int = 0, *, isolation: int, max_bytes: int = 1 << 20
) -> Any:
    request = fetch_request({topic: [wanted(0, offset, partition_max_bytes=max_bytes)]})
    request.isolation_level = isolation
    (reply,) = fetched_of(client.call(FETCH, 18, request)).values()
    assert reply.error_code == 0
    return reply


def offsets_in(reply: Any) -> list[int]:
    return [
        record.offset
        for each in batches_of(reply.records)
        if not each.header.is_control
        for record in each.records
    ]


def aborted_in(reply: Any) -> list[tuple[int, int]]:
    return [(each.producer_id, each.first_offset) for each in reply.aborted_transactions or ()]


def latest(client: RawClient, topic: Topic, *, isolation: int, timestamp: int = -1) -> int:
    request = messages.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[
            messages.ListOffsetsTopic(
                name=topic.name,
                partitions=[messages.ListOffsetsPartition(partition_index=0, timestamp=timestamp)],
            )
        ],
    )
    (answered,) = client.call(LIST_OFFSETS, 11, request).topics
    (reply,) = answered.partitions
    assert reply.error_code == 0
    return int(reply.offset)


def test_readers_of_committed_data_stop_before_the_first_open_transaction(
    client: RawClient, topic: Topic, new_producer: Callable[[], Transactional]
) -> None:
    """Rows 43, 52."""
    append(client, topic, fresh())
    first, second = new_producer(), new_producer()
    first.send(topic)
    second.send(topic)
    append(client, topic, fresh())

    reply = read(client, topic, isolation=READ_COMMITTED)
    assert (reply.last_stable_offset, reply.high_watermark) == (3, 12)
    assert offsets_in(reply) == [0, 1, 2]
    assert latest(client, topic, isolation=READ_COMMITTED) == 3
    assert latest(client, topic, isolation=READ_UNCOMMITTED) == 12
    assert latest(client, topic, isolation=READ_COMMITTED, timestamp=-3) in (-1, 2)

    assert second.end(topic, is_commit=True) == 0
    assert latest(client, topic, isolation=READ_COMMITTED) == 3
    assert first.end(topic, is_commit=True) == 0
    reply = read(client, topic, isolation=READ_COMMITTED)
    assert (reply.last_stable_offset, offsets_in(reply)) == (14, list(range(12)))
    assert latest(client, topic, isolation=READ_COMMITTED) == 14


def test_the_aborted_list_covers_the_range_that_is_returned(
    client: RawClient, topic: Topic, new_producer: Callable[[], Transactional]
) -> None:
    """Row 53."""
    producers = [new_producer() for _ in range(3)]
    for each in producers:
        each.send(topic)
    for each in producers:
        assert each.end(topic, is_commit=False) == 0
    append(client, topic, fresh())

    everything = read(client, topic, isolation=READ_COMMITTED)
    behind = read(client, topic, 10, isolation=READ_COMMITTED)
    after = read(client, topic, 12, isolation=READ_COMMITTED)

    # a transaction counts as long as its marker is not behind the reader
    assert aborted_in(everything) == [(each.id, 3 * number) for number, each in enumerate(producers)]
    assert aborted_in(behind) == [(each.id, 3 * number) for number, each in enumerate(producers)][1:]
    assert aborted_in(after) == []


def test_readers_of_everything_get_aborted_records_too(
    client: RawClient, topic: Topic, producer: Transactional
) -> None:
    """Row 54."""
    producer.send(topic)
    assert producer.end(topic, is_commit=False) == 0

    reply = read(client, topic, isolation=READ_UNCOMMITTED)

    assert offsets_in(reply) == [0, 1, 2]
    assert aborted_in(reply) == []


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("is_commit", [True, False])
def test_each_marker_takes_exactly_one_offset(
    client: RawClient, topic: Topic, producer: Transactional, is_commit: bool, version: int
) -> None:
    """Row 55."""
    for _ in range(2):
        producer.send(topic)
        assert producer.end(topic, is_commit=is_commit, version=version) == 0

    reply = read(client, topic, isolation=READ_UNCOMMITTED)
    markers = [each for each in batches_of(reply.records) if each.header.is_control]

    assert log_end(client, topic) == 8
    assert [each.header.base_offset for each in markers] == [3, 7]
    assert [each.records[0].key for each in markers] == [b"\0\0\0\1" if is_commit else b"\0\0\0\0"] * 2


@pytest.mark.parametrize("is_commit", [True, False])
def test_the_end_of_a_transaction_wakes_a_parked_reader_of_committed_data(
    client: RawClient, connect: Connect, topic: Topic, producer: Transactional, is_commit: bool
) -> None:
    """Row 56."""
    producer.send(topic)
    reader = connect()
    request = fetch_request({topic: [wanted()]}, max_wait_ms=20_000)
    request.isolation_level = READ_COMMITTED
    began = time.monotonic()
    reader.send(FETCH, 18, request)

    assert producer.end(topic, is_commit=is_commit) == 0

    (reply,) = fetched_of(reader.receive()).values()
    assert time.monotonic() - began < 15
    assert offsets_in(reply) == [0, 1, 2]
    assert aborted_in(reply) == ([] if is_commit else [(producer.id, 0)])


def test_an_open_transaction_stalls_its_own_partition_only(
    client: RawClient, new_topic: NewTopic, producer: Transactional
) -> None:
    """Row 56."""
    topic, other = new_topic(), new_topic()
    producer.send(topic)
    append(client, other, fresh())

    assert latest(client, topic, isolation=READ_COMMITTED) == 0
    assert latest(client, other, isolation=READ_COMMITTED) == 3


def test_late_markers_are_fenced(client: RawClient, topic: Topic, producer: Transactional) -> None:
    """Rows 57 and 59: whoever ended the transaction raised the epoch, in the newer flow with each end."""
    producer.epoch = 4
    producer.send(topic)

    late_epoch = producer.end(topic, is_commit=True, epoch=3)
    same_epoch_in_version_2 = producer.end(topic, is_commit=True, transaction_version=2)
    ended = producer.end(topic, is_commit=True, epoch=5, transaction_version=2, coordinator_epoch=2)
    late_coordinator = producer.end(topic, is_commit=True, epoch=5, coordinator_epoch=1)

    stale = ErrorCode.INVALID_PRODUCER_EPOCH
    assert (late_epoch, same_epoch_in_version_2) == (stale, stale)
    assert (ended, late_coordinator) == (0, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
    assert log_end(client, topic) == 4


def test_a_producer_is_described_with_its_open_transaction(
    client: RawClient, topic: Topic, producer: Transactional
) -> None:
    """Row 52: the transaction that holds the last stable offset back is found."""
    append(client, topic, fresh())
    producer.send(topic)

    def described() -> Any:
        request = messages.DescribeProducersRequest(
            topics=[messages.DescribeProducersRequestTopicRequest(name=topic.name, partition_indexes=[0])]
        )
        (answered,) = client.call(DESCRIBE_PRODUCERS, 0, request).topics
        (one,) = [each for each in answered.partitions[0].active_producers if each.producer_id == producer.id]
        return one

    assert (described().current_txn_start_offset, described().coordinator_epoch) == (3, -1)
    assert producer.end(topic, is_commit=True, coordinator_epoch=6) == 0
    assert (described().current_txn_start_offset, described().coordinator_epoch) == (-1, 6)


def test_a_marker_for_an_unknown_partition_is_refused(
    client: RawClient, topic: Topic, producer: Transactional
) -> None:
    """Row 61."""
    assert producer.end(topic, is_commit=True, partition=99) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
