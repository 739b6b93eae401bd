"""Transactional requests in the broker: what is settled before a batch is appended, and how it ends."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from riverlog.broker.handler import Parked
from riverlog.log import Disk
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.wire import read_response
from tests.batch_builders import batch
from tests.unit.broker.apis.asking import AskedBroker

PRODUCE = 0
OLDER, NEWER = 11, 12


def init(asked: AskedBroker, transactional_id: str = "t") -> tuple[int, int]:
    asked.ask(messages.FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id]))
    answer = asked.ask(
        messages.InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    )
    assert answer.error_code == 0, ErrorCode(answer.error_code)
    return answer.producer_id, answer.producer_epoch


def request(
    *batches: tuple[str, int, bytearray], transactional_id: str | None = "t"
) -> messages.ProduceRequest:
    return messages.ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=1000,
        topic_data=[
            messages.TopicProduceData(
                name=topic, partition_data=[messages.PartitionProduceData(index=index, records=bytes(data))]
            )
            for topic, index, data in batches
        ],
    )


def transactional(producer: tuple[int, int], *, sequence: int = 0) -> bytearray:
    return batch(
        2,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=sequence,
        is_transactional=True,
    )


def codes(answer: Any) -> list[int]:
    return [one.error_code for topic in answer.responses for one in topic.partition_responses]


def addition(producer: tuple[int, int], topic: str, *, index: int = 0) -> messages.AddPartitionsToTxnRequest:
    """How older producers make a partition part of their transaction."""
    return messages.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="t",
        v3_and_below_producer_id=producer[0],
        v3_and_below_producer_epoch=producer[1],
        v3_and_below_topics=[messages.AddPartitionsToTxnTopic(name=topic, partitions=[index])],
    )


def ending(producer: tuple[int, int], *, is_commit: bool) -> messages.EndTxnRequest:
    return messages.EndTxnRequest(
        transactional_id="t", producer_id=producer[0], producer_epoch=producer[1], committed=is_commit
    )


async def complete(asked: AskedBroker) -> None:
    """Let the markers be written, and the end be noted."""
    async with asyncio.timeout(30):
        while (await asked.broker.transactions.describe("t")).transaction_state != "CompleteAbort":
            await asyncio.sleep(0.001)


def end(asked: AskedBroker, producer: tuple[int, int], *, is_commit: bool = True, version: int = 5) -> Any:
    return asked.ask(ending(producer, is_commit=is_commit), version)


@pytest.fixture(params=["fsync", "page-cache"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A broker that has to wait for its disk, and one that does not."""
    flags = (f"durability={request.param}", "transaction.state.log.num.partitions=2")
    with closing(AskedBroker(tmp_path, *flags)) as asked:
        yield asked


def test_a_newer_producer_s_batches_are_appended_once_their_partitions_are_added(broker: AskedBroker) -> None:
    broker.topic("a", partitions=2)
    producer = init(broker)

    answer = broker.ask(request(("a", 0, transactional(producer)), ("a", 1, transactional(producer))), NEWER)

    assert codes(answer) == [0, 0]
    told = broker.ask(messages.DescribeTransactionsRequest(transactional_ids=["t"])).transaction_states[0]
    assert [(each.topic, each.partitions) for each in told.topics] == [("a", [0, 1])]
    assert [broker.log("a", index).log_end_offset for index in range(2)] == [2, 2]


def test_batches_that_wait_for_their_admission_are_those_that_came(tmp_path: Path) -> None:
    """The connection's buffer is used again meanwhile."""
    with closing(AskedBroker(tmp_path, "durability=fsync")) as asked:
        asked.topic("a")
        producer = init(asked)
        reply = asked.tell(request(("a", 0, transactional(producer))), NEWER)
        assert isinstance(reply, Parked)
        assert reply.blocking, "what the producer sends behind it must not overtake it"
        assert asked.log("a").log_end_offset == 0

        asked.loop.run_until_complete(asked._wait_for(reply))

        assert asked.log("a").log_end_offset == 2
        assert asked.log("a").is_in_transaction(*producer)


def test_a_batch_in_an_open_transaction_needs_no_coordinator(broker: AskedBroker) -> None:
    broker.topic("a")
    producer = init(broker)
    broker.ask(request(("a", 0, transactional(producer))), NEWER)
    broker.broker.transactions.stop()

    answer = broker.ask(request(("a", 0, transactional(producer, sequence=2))), NEWER)

    assert codes(answer) == [0]


@pytest.mark.parametrize("version", [10, 11])
def test_an_older_producer_s_partition_is_looked_up(broker: AskedBroker, version: int) -> None:
    broker.topic("a")
    producer = init(broker)

    refused = broker.ask(request(("a", 0, transactional(producer))), version)
    broker.ask(addition(producer, "a"), 3)
    accepted = broker.ask(request(("a", 0, transactional(producer))), version)

    abortable = ErrorCode.TRANSACTION_ABORTABLE if version >= OLDER else ErrorCode.INVALID_TXN_STATE
    assert (codes(refused), codes(accepted)) == ([abortable], [0])


def test_a_batch_whose_transaction_ends_while_it_is_looked_up_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the marker it would begin a transaction that nobody ends."""
    disk_is_asked, disk_may_answer = threading.Event(), threading.Event()
    disk_may_answer.set()
    fdatasync = Disk.fdatasync

    def held(disk: Disk, descriptor: int) -> None:
        disk_is_asked.set()
        assert disk_may_answer.wait(30)
        fdatasync(disk, descriptor)

    monkeypatch.setattr(Disk, "fdatasync", held)
    with closing(
        AskedBroker(tmp_path, "durability=fsync", "transaction.state.log.num.partitions=1")
    ) as asked:
        asked.topic("a", partitions=2)
        producer = init(asked)
        asked.ask(addition(producer, "a"), 3)

        async def a_turn() -> None:
            await asyncio.sleep(0)

        disk_may_answer.clear()
        disk_is_asked.clear()
        asked.append("a", index=1)
        asked.broker.commit.request(asked.log("a", 1))
        asked.loop.run_until_complete(a_turn())
        assert disk_is_asked.wait(30), "what comes now waits for the disk's next turn, all of it"
        asked.tell(addition(producer, "a", index=1), 3)
        asked.loop.run_until_complete(a_turn())
        batch_reply = asked.tell(request(("a", 0, transactional(producer))), OLDER)
        asked.tell(ending(producer, is_commit=False), 3)
        asked.loop.run_until_complete(a_turn())
        disk_may_answer.set()
        answer = asked.loop.run_until_complete(asked._wait_for(batch_reply))

        _, response = read_response(PRODUCE, OLDER, answer, 4, len(answer))
        assert codes(response) == [ErrorCode.NOT_ENOUGH_REPLICAS], "that is: ask again"
        asked.loop.run_until_complete(complete(asked))
        response = asked.ask(request(("a", 0, transactional(producer))), OLDER)
        assert codes(response) == [ErrorCode.TRANSACTION_ABORTABLE]
        assert not asked.log("a").is_in_transaction(*producer)


def test_without_verification_an_older_producer_s_batch_is_taken(tmp_path: Path) -> None:
    with closing(AskedBroker(tmp_path, "transaction.partition.verification.enable=false")) as asked:
        asked.topic("a")

        answer = asked.ask(request(("a", 0, transactional((7, 0)))), OLDER)

        assert codes(answer) == [0]


def test_a_transactional_batch_needs_a_transactional_id(broker: AskedBroker) -> None:
    broker.topic("a")

    answer = broker.ask(request(("a", 0, transactional((7, 0))), transactional_id=None), NEWER)

    assert codes(answer) == [ErrorCode.INVALID_TXN_STATE]


def test_a_request_speaks_for_one_producer(broker: AskedBroker) -> None:
    broker.topic("a", partitions=2)
    producer = init(broker)

    answer = broker.ask(request(("a", 0, transactional(producer)), ("a", 1, transactional((99, 0)))), NEWER)

    assert codes(answer) == [0, ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert broker.log("a", 1).log_end_offset == 0


def test_a_plain_batch_beside_transactional_ones_is_plain(broker: AskedBroker) -> None:
    broker.topic("a", partitions=2)
    producer = init(broker)

    answer = broker.ask(request(("a", 0, transactional(producer)), ("a", 1, batch(1))), NEWER)

    assert codes(answer) == [0, 0]
    assert broker.log("a", 1).last_stable_offset == 1


@pytest.mark.parametrize(
    ("version", "refusal"), [(OLDER, ErrorCode.NOT_ENOUGH_REPLICAS), (NEWER, ErrorCode.NOT_ENOUGH_REPLICAS)]
)
def test_while_there_is_no_coordinator_producers_try_again(
    broker: AskedBroker, version: int, refusal: ErrorCode
) -> None:
    broker.topic("a")
    producer = init(broker)
    broker.broker.transactions.stop()

    answer = broker.ask(request(("a", 0, transactional(producer))), version)

    assert codes(answer) == [refusal]


def test_a_fenced_producer_s_batch_is_of_a_stale_epoch(broker: AskedBroker) -> None:
    """Row 59."""
    broker.topic("a")
    former = init(broker)
    init(broker)

    for version in (OLDER, NEWER):
        answer = broker.ask(request(("a", 0, transactional(former))), version)
        assert codes(answer) == [ErrorCode.INVALID_PRODUCER_EPOCH]


@pytest.mark.parametrize("is_commit", [True, False])
def test_the_end_writes_markers_and_decides_offsets(broker: AskedBroker, is_commit: bool) -> None:
    broker.topic("a")
    producer = init(broker)
    broker.ask(request(("a", 0, transactional(producer))), NEWER)
    committed = broker.ask(
        messages.TxnOffsetCommitRequest(
            transactional_id="t",
            group_id="g",
            producer_id=producer[0],
            producer_epoch=producer[1],
            topics=[
                messages.TxnOffsetCommitRequestTopic(
                    name="a",
                    partitions=[
                        messages.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5),
                        messages.TxnOffsetCommitRequestPartition(partition_index=9, committed_offset=5),
                    ],
                )
            ],
        )
    )

    ended = end(broker, producer, is_commit=is_commit)
    # The next transaction begins when this one is complete.
    following = (ended.producer_id, ended.producer_epoch)
    assert codes(broker.ask(request(("a", 0, transactional(following))), NEWER)) == [0]

    assert [one.error_code for one in committed.topics[0].partitions] == [
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert following == (producer[0], producer[1] + 1)
    assert broker.log("a").last_stable_offset == 3
    fetched = broker.ask(
        messages.OffsetFetchRequest(
            require_stable=True,
            groups=[
                messages.OffsetFetchRequestGroup(
                    group_id="g",
                    topics=[messages.OffsetFetchRequestTopics(name="a", partition_indexes=[0])],
                )
            ],
        ),
        9,
    )
    assert fetched.groups[0].topics[0].partitions[0].committed_offset == (5 if is_commit else -1)


def test_empty_ids_are_refused(broker: AskedBroker) -> None:
    nobody = {"transactional_id": "", "producer_id": 1, "producer_epoch": 0}

    assert broker.ask(messages.EndTxnRequest(**nobody)).error_code == ErrorCode.INVALID_REQUEST  # type: ignore[arg-type]
    added = broker.ask(messages.AddOffsetsToTxnRequest(**nobody, group_id="g"))  # type: ignore[arg-type]
    assert added.error_code == ErrorCode.INVALID_REQUEST
    (told,) = broker.ask(messages.DescribeTransactionsRequest(transactional_ids=[""])).transaction_states
    assert told.error_code == ErrorCode.INVALID_REQUEST
    answer = broker.ask(
        messages.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="",
            v3_and_below_topics=[messages.AddPartitionsToTxnTopic(name="a", partitions=[0])],
        ),
        3,
    )
    (result,) = answer.results_by_topic_v3_and_below[0].results_by_partition
    assert result.partition_error_code == ErrorCode.INVALID_REQUEST


def test_the_transaction_topic_is_made_with_its_own_settings(broker: AskedBroker) -> None:
    init(broker)

    topic = broker.broker.cluster.image.topic("__transaction_state")
    assert topic is not None
    assert len(topic.partitions) == 2
    settings = broker.log("__transaction_state").settings
    assert (settings.cleanup_policy, settings.min_insync_replicas) == (frozenset({"compact"}), 1)


def test_a_restart_completes_what_was_decided(tmp_path: Path) -> None:
    flags = ("transaction.state.log.num.partitions=2",)
    with closing(AskedBroker(tmp_path, *flags)) as asked:
        asked.topic("a")
        producer = init(asked)
        asked.ask(request(("a", 0, transactional(producer))), NEWER)
        # The marker does not come about: this is where a crash would cut.
        asked.broker.transactions._write_marker = (  # type: ignore[method-assign]
            lambda *_: asked.loop.create_future()
        )
        assert end(asked, producer).error_code == 0
        assert asked.log("a").last_stable_offset == 0

    with closing(AskedBroker(tmp_path, *flags)) as again:
        following = (producer[0], producer[1] + 1)
        assert codes(again.ask(request(("a", 0, transactional(following))), NEWER)) == [0]
        assert again.log("a").last_stable_offset == 3
