"""The shell: answers leave when they are safe, markers follow the decision, a restart goes on with them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest

from riverlog.config import TransactionSettings
from riverlog.errors import StorageError
from riverlog.log import GroupCommit, PartitionLog
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import ProducerIdentity
from riverlog.transactions import TRANSACTIONS_TOPIC, Ending, TransactionCoordinator
from riverlog.transactions.coordinator import END_WAIT_SECONDS, MARKER_RETRY_SECONDS
from riverlog.types import TopicPartition
from tests.unit.shards.hand_loop import HandLoop
from tests.unit.shards.memory_log import MemoryCommit, MemoryLog

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
NEWER = 2


@pytest.fixture
def loop() -> Iterator[HandLoop]:
    loop = HandLoop()
    yield loop
    loop.close()


class Broker:
    """What a coordinator knows of its broker. Markers are written when a test says so, or at once."""

    def __init__(
        self, loop: HandLoop, log: MemoryLog | None = None, *, durability: str = "fsync", **settings: Any
    ) -> None:
        self.loop = loop
        self.log = log or MemoryLog(durability=durability)
        self.commit = MemoryCommit()
        self.ids = iter(range(1000, 2000))
        self.id_error: StorageError | None = None
        self.writes_at_once = True
        self.markers: list[tuple[Ending, TopicPartition, int]] = []
        self.pending: list[tuple[TopicPartition, asyncio.Future[int]]] = []
        self.answers: dict[TopicPartition, int] = {}
        self.transactions = TransactionCoordinator(
            TransactionSettings(**settings),
            loop,
            logs=lambda: cast("list[PartitionLog | None]", [self.log]),
            create_topic=lambda: 0,
            commit=cast(GroupCommit, self.commit),
            on_appended=lambda _log: None,
            wall_ms=lambda: int(loop.time() * 1000) + 1_700_000_000_000,
            new_producer_id=self.new_id,
            write_marker=self.write_marker,
        )
        self.transactions.start()

    def new_id(self) -> int:
        if self.id_error is not None:
            raise self.id_error
        return next(self.ids)

    def write_marker(
        self, ending: Ending, partition: TopicPartition, coordinator_epoch: int
    ) -> asyncio.Future[int]:
        self.markers.append((ending, partition, coordinator_epoch))
        future: asyncio.Future[int] = self.loop.create_future()
        if self.writes_at_once:
            future.set_result(self.answers.get(partition, 0))
        else:
            self.pending.append((partition, future))
        return future

    def markers_reach_the_disk(self) -> None:
        pending, self.pending = self.pending, []
        for partition, future in pending:
            future.set_result(self.answers.get(partition, 0))
        self.loop.turn()

    def settle(self, error: StorageError | None = None) -> None:
        """Bring all that was appended to the disk, or fail to."""
        if error is None:
            self.log.flush()
        self.commit.settle(error)
        self.loop.turn()

    def producer(self) -> ProducerIdentity:
        asked = self.transactions.init_producer("t", 60_000, None)
        self.settle()
        reply = asked.result()
        assert reply.error_code == 0
        return ProducerIdentity(reply.producer_id, reply.epoch)

    def add(self, producer: ProducerIdentity, *partitions: TopicPartition) -> asyncio.Future[Any]:
        return self.transactions.add_partitions("t", producer, partitions or (A,), NEWER)

    def end(self, producer: ProducerIdentity, *, is_commit: bool = True) -> asyncio.Future[Any]:
        return self.transactions.end("t", producer, is_commit=is_commit, version=NEWER)

    def open(self, *partitions: TopicPartition) -> ProducerIdentity:
        """Open a transaction."""
        producer = self.producer()
        added = self.add(producer, *partitions)
        self.settle()
        assert added.result().error_code == 0
        return producer

    def state(self) -> str:
        told = self.transactions.describe("t")
        self.settle()
        return str(told.result().transaction_state)

    def crashed(self, **settings: Any) -> Broker:
        """The next process, which finds what is in the log."""
        again = self.log.restarted()
        again.topic_partition = TopicPartition(TRANSACTIONS_TOPIC, 0)
        return Broker(self.loop, again, **settings)


def test_an_identity_is_given_when_it_is_on_the_disk(loop: HandLoop) -> None:
    broker = Broker(loop)

    asked = broker.transactions.init_producer("t", 60_000, None)
    loop.turn()
    before = asked.done()
    broker.settle()

    assert not before
    assert asked.result() == (0, 1000, 0)


def test_what_was_not_brought_to_the_disk_is_not_told(loop: HandLoop) -> None:
    broker = Broker(loop)

    asked = broker.transactions.init_producer("t", 60_000, None)
    broker.settle(StorageError("the disk failed"))

    assert asked.result().error_code == ErrorCode.NOT_COORDINATOR
    again = broker.transactions.init_producer("t", 60_000, None)
    assert again.result().error_code == ErrorCode.NOT_COORDINATOR


def test_without_fsync_everything_happens_at_once(loop: HandLoop) -> None:
    broker = Broker(loop, durability="page-cache")

    reply = broker.transactions.init_producer("t", 60_000, None).result()
    producer = ProducerIdentity(reply.producer_id, reply.epoch)

    assert broker.add(producer, A, B).result().error_code == 0
    assert broker.end(producer).result() == (0, 1000, 1)
    assert {partition for _, partition, _ in broker.markers} == {A, B}
    assert broker.state() == "CompleteCommit"


def test_markers_are_written_once_the_decision_is_on_the_disk_and_no_sooner(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.log.leader_epoch = 4
    producer = broker.open(A, B)

    ended = broker.end(producer, is_commit=False)
    loop.turn()
    before = list(broker.markers)
    broker.settle()

    assert before == []
    assert ended.result() == (0, 1000, 1)
    assert {(partition, epoch) for _, partition, epoch in broker.markers} == {(A, 4), (B, 4)}
    assert {ending.is_commit for ending, _, _ in broker.markers} == {False}


def test_a_transaction_is_complete_once_all_markers_are_on_the_disk(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.writes_at_once = False
    broker.end(broker.open(A, B))
    broker.settle()

    before = broker.state()
    broker.markers_reach_the_disk()

    assert (before, broker.state()) == ("PrepareCommit", "CompleteCommit")


def test_a_marker_that_cannot_be_written_is_tried_again(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.answers = {B: ErrorCode.KAFKA_STORAGE_ERROR}
    broker.end(broker.open(A, B))
    broker.settle()
    stuck = broker.state()

    broker.answers = {}
    broker.markers.clear()
    loop.advance(int(MARKER_RETRY_SECONDS * 1000))

    assert stuck == "PrepareCommit"
    assert [partition for _, partition, _ in broker.markers] == [B]
    assert broker.state() == "CompleteCommit"


@pytest.mark.parametrize("answer", [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_partition_that_is_gone_or_has_moved_on_needs_no_marker(loop: HandLoop, answer: ErrorCode) -> None:
    """Row 61."""
    broker = Broker(loop)
    broker.answers = {B: answer}
    broker.end(broker.open(A, B))
    broker.settle()

    assert broker.state() == "CompleteCommit"


def test_a_restart_writes_the_markers_of_what_was_decided_again(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.writes_at_once = False
    broker.end(broker.open(A, B))
    broker.settle()

    again = broker.crashed()
    loop.turn()

    assert [each[:2] for each in again.markers] == [each[:2] for each in broker.markers]
    assert again.state() == "CompleteCommit"
    broker.markers_reach_the_disk()
    loop.turn()


def test_a_coordinator_that_stops_writes_no_more(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.writes_at_once = False
    broker.end(broker.open(A))
    broker.settle()
    written = len(broker.log.batches)

    broker.transactions.stop()
    broker.markers_reach_the_disk()

    assert len(broker.log.batches) == written
    listed = broker.transactions.list_transactions(messages.ListTransactionsRequest())
    assert listed.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


# The next transaction


def test_the_next_transaction_waits_for_the_end_of_the_last(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.writes_at_once = False
    ended = broker.end(broker.open(A))
    broker.settle()
    following = ProducerIdentity(*ended.result()[1:])

    waiting = loop.create_task(broker.transactions.add_partitions_after_end("t", following, (B,), NEWER))
    loop.turn()
    is_waiting = not waiting.done()
    broker.markers_reach_the_disk()
    broker.settle()

    assert is_waiting
    assert waiting.result().error_code == 0
    assert broker.state() == "Ongoing"


def test_it_does_not_wait_for_ever(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.writes_at_once = False
    ended = broker.end(broker.open(A))
    broker.settle()
    following = ProducerIdentity(*ended.result()[1:])

    waiting = loop.create_task(broker.transactions.add_partitions_after_end("t", following, (B,), NEWER))
    loop.turn()
    loop.advance(int(END_WAIT_SECONDS * 1000) + 1)
    loop.turn()

    assert waiting.result().error_code == ErrorCode.CONCURRENT_TRANSACTIONS


def test_partitions_are_verified_once_what_is_known_of_them_is_on_the_disk(loop: HandLoop) -> None:
    broker = Broker(loop)
    producer = broker.producer()
    broker.add(producer, A)

    verified = broker.transactions.verify("t", producer, [A, B])
    is_waiting = not verified.done()
    broker.settle()

    assert is_waiting
    assert verified.result() == {A: 0, B: ErrorCode.TRANSACTION_ABORTABLE}


# Time


def test_transactions_are_timed_out_at_intervals(loop: HandLoop) -> None:
    broker = Broker(loop, transaction_abort_timed_out_transaction_cleanup_interval_ms=10_000)
    producer = broker.open(A)

    loop.advance(9_000)
    list(broker.transactions.housekeeping())
    early = broker.state()
    loop.advance(60_000)
    list(broker.transactions.housekeeping())
    broker.settle()

    assert (early, broker.state()) == ("Ongoing", "CompleteAbort")
    assert broker.add(producer).result().error_code == ErrorCode.PRODUCER_FENCED


def test_ids_are_forgotten_at_intervals(loop: HandLoop) -> None:
    broker = Broker(
        loop,
        transactional_id_expiration_ms=5_000,
        transaction_remove_expired_transaction_cleanup_interval_ms=1_000,
    )
    broker.producer()
    loop.advance(4_000)
    list(broker.transactions.housekeeping())
    listed = broker.transactions.list_transactions(messages.ListTransactionsRequest())
    loop.advance(1_000)
    list(broker.transactions.housekeeping())
    broker.settle()

    assert [each.transactional_id for each in listed.transaction_states] == ["t"]
    told = broker.transactions.describe("t").result()
    assert told.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_settings_count_from_now_on(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.transactions.change_settings(TransactionSettings(transaction_max_timeout_ms=1000))

    reply = broker.transactions.init_producer("t", 2000, None).result()

    assert reply.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


# Trouble


def test_without_a_producer_id_there_is_no_identity(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.id_error = StorageError("the store failed")

    reply = broker.transactions.init_producer("t", 60_000, None).result()

    assert reply.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_what_the_log_does_not_take_is_refused_and_may_be_asked_again(loop: HandLoop) -> None:
    broker = Broker(loop)
    producer = broker.open(A)

    broker.log.refusal = ErrorCode.KAFKA_STORAGE_ERROR
    refused = broker.end(producer)
    broker.log.refusal = 0
    taken = broker.end(producer)
    broker.settle()

    assert refused.result().error_code == ErrorCode.NOT_COORDINATOR
    assert taken.result().error_code == 0
    assert broker.state() == "CompleteCommit"


def test_the_filters_of_a_list_are_checked(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.open(A)

    listed = broker.transactions.list_transactions(
        messages.ListTransactionsRequest(state_filters=["Ongoing", "Dreaming"])
    )
    broken = broker.transactions.list_transactions(
        messages.ListTransactionsRequest(transactional_id_pattern="(")
    )

    assert listed.unknown_state_filters == ["Dreaming"]
    assert [each.transaction_state for each in listed.transaction_states] == ["Ongoing"]
    assert broken.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_when_its_topic_is_deleted_nothing_is_served(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.producer()

    broker.transactions.topics_deleted(["a"])
    still = broker.state()
    broker.transactions.topics_deleted([TRANSACTIONS_TOPIC])
    broker.log = MemoryLog()

    assert still == "Empty"
    assert broker.transactions.describe("t").result().error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
