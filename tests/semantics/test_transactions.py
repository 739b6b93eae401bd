"""Rows 52-64: transactions with their coordinator, in the older flow of the protocol and in the newer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.process.raw_client import INIT_PRODUCER_ID, RawClient

from .asking import (
    Topic,
    append,
    batches_of,
    create_again,
    delete_topic,
    eventually,
    fetch_request,
    fetched_of,
    log_end,
    wanted,
)
from .conftest import BrokerUnderTest, Connect, GivenBroker, NewTopic
from .test_transaction_log import aborted_in, fresh, offsets_in
from .transactional import (
    ADD_PARTITIONS,
    DESCRIBE_PRODUCERS,
    FLOWS,
    LIST_TRANSACTIONS,
    NEWER,
    NOT_YET,
    OLDER,
    Flow,
    TransactionalProducer,
    find_coordinator,
)

NewProducer = Callable[..., TransactionalProducer]

FETCH, OFFSET_COMMIT, OFFSET_FETCH, JOIN_GROUP, SYNC_GROUP = 1, 8, 9, 11, 14
READ_COMMITTED = 1
MAX_TIMEOUT_MS = 900_000
LAST_EPOCH = 2**15 - 2
"""The last epoch that a producer gets; the one above is for fencing it."""

BOTH_FLOWS = pytest.mark.parametrize("flow", FLOWS, ids=["older", "newer"])
BOTH_ENDS = pytest.mark.parametrize("is_commit", [True, False], ids=["commit", "abort"])


@pytest.fixture
def new_producer(client: RawClient, topic_name: Callable[[], str]) -> NewProducer:
    """Make a producer of an id that nobody has had, or of the one that is given."""

    def make(flow: Flow = NEWER, transactional_id: str | None = None) -> TransactionalProducer:
        return TransactionalProducer(client, transactional_id or f"id-of-{topic_name()}", flow)

    return make


def read_committed(client: RawClient, topic: Topic, *, partition: int = 0) -> Any:
    request = fetch_request({topic: [wanted(partition)]})
    request.isolation_level = READ_COMMITTED
    (reply,) = fetched_of(client.call(FETCH, 18, request)).values()
    assert reply.error_code == 0
    return reply


def await_end(client: RawClient, topic: Topic, *, partition: int = 0) -> None:
    """Wait until nothing in the partition is undecided."""

    def is_decided() -> bool:
        reply = read_committed(client, topic, partition=partition)
        return bool(reply.last_stable_offset == reply.high_watermark)

    eventually(is_decided, f"{topic.name}-{partition} has no open transaction")


# What readers see


@BOTH_FLOWS
@BOTH_ENDS
def test_a_transaction_is_seen_in_all_its_partitions_or_in_none(
    client: RawClient, new_topic: NewTopic, new_producer: NewProducer, flow: Flow, is_commit: bool
) -> None:
    """Rows 52, 53."""
    topic = new_topic(partitions=2)
    producer = new_producer(flow).init()
    for partition in range(2):
        producer.send(topic, partition=partition, count=2)
        assert offsets_in(read_committed(client, topic, partition=partition)) == []

    first_id = producer.id
    producer.end(is_commit=is_commit)

    for partition in range(2):
        await_end(client, topic, partition=partition)
        reply = read_committed(client, topic, partition=partition)
        assert offsets_in(reply) == [0, 1]  # the client drops what is aborted
        assert aborted_in(reply) == ([] if is_commit else [(first_id, 0)])


@BOTH_FLOWS
def test_readers_of_everything_get_what_was_aborted(
    client: RawClient, topic: Topic, new_producer: NewProducer, flow: Flow
) -> None:
    """Row 54."""
    producer = new_producer(flow).init()
    producer.send(topic)
    producer.end(is_commit=False)

    (reply,) = fetched_of(client.call(FETCH, 18, fetch_request({topic: [wanted()]}))).values()

    assert offsets_in(reply) == [0]
    assert aborted_in(reply) == []


@BOTH_FLOWS
def test_each_transaction_leaves_one_marker_in_each_partition(
    client: RawClient, topic: Topic, new_producer: NewProducer, flow: Flow
) -> None:
    """Row 55."""
    producer = new_producer(flow).init()
    for is_commit in (True, False, True):
        producer.send(topic, count=2)
        producer.end(is_commit=is_commit)
    await_end(client, topic)

    batches = batches_of(read_committed(client, topic).records)
    assert [each.header.base_offset for each in batches if each.header.is_control] == [2, 5, 8]
    assert log_end(client, topic) == 9


@BOTH_ENDS
def test_the_end_of_a_transaction_wakes_a_parked_reader(
    client: RawClient, connect: Connect, topic: Topic, new_producer: NewProducer, is_commit: bool
) -> None:
    """Row 56."""
    producer = new_producer().init()
    producer.send(topic)
    reader = connect()
    request = fetch_request({topic: [wanted()]}, max_wait_ms=25_000)
    request.isolation_level = READ_COMMITTED
    reader.send(FETCH, 18, request)

    producer.end(is_commit=is_commit)

    (reply,) = fetched_of(reader.receive()).values()
    assert offsets_in(reply) == [0]


# Time-outs and identities


@pytest.mark.parametrize("timeout_ms", [0, -1, MAX_TIMEOUT_MS + 1])
def test_a_time_out_that_is_not_possible_is_refused(new_producer: NewProducer, timeout_ms: int) -> None:
    """Row 57."""
    reply = new_producer().ask_for_identity(timeout_ms=timeout_ms)

    assert reply.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


@BOTH_FLOWS
def test_a_transaction_that_times_out_is_aborted_and_its_producer_fenced(
    client: RawClient, topic: Topic, new_producer: NewProducer, flow: Flow
) -> None:
    """Rows 57, 59."""
    producer = new_producer(flow).init(timeout_ms=100)
    producer.send(topic)

    producer.await_state("CompleteAbort")

    await_end(client, topic)
    assert aborted_in(read_committed(client, topic)) == [(producer.id, 0)]
    # a newer client's is taken for a retry of the abort, in the other direction
    refusal = ErrorCode.INVALID_TXN_STATE if flow is NEWER else ErrorCode.PRODUCER_FENCED
    assert producer.ask_for_end(is_commit=True).error_code == refusal
    assert producer.write(topic) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.described().producer_epoch > producer.epoch


@BOTH_FLOWS
def test_a_producer_that_timed_out_may_go_on_until_another_has_its_id(
    topic: Topic, new_producer: NewProducer, flow: Flow
) -> None:
    """Rows 57, 58: it has lost its transaction, not its place (KIP-588)."""
    late = new_producer(flow).init(timeout_ms=100)
    late.send(topic)
    late.await_state("CompleteAbort")

    replies = [late.ask_for_identity(expected=(late.id, late.epoch)) for _ in range(2)]
    successor = new_producer(flow, late.transactional_id).init()
    refused = late.ask_for_identity(expected=(late.id, late.epoch))

    assert [(each.error_code, each.producer_id, each.producer_epoch) for each in replies] == [
        (0, late.id, late.epoch + 1)
    ] * 2
    assert (successor.id, successor.epoch) == (late.id, late.epoch + 2)
    assert refused.error_code == ErrorCode.PRODUCER_FENCED
    successor.send(topic)
    successor.end()


@BOTH_FLOWS
def test_a_producer_that_asks_again_loses_what_it_has_open_and_goes_on(
    client: RawClient, topic: Topic, new_producer: NewProducer, flow: Flow
) -> None:
    """Row 58."""
    producer = new_producer(flow).init()
    producer.send(topic)
    former = (producer.id, producer.epoch)

    first = producer.ask_for_identity(expected=former)
    producer.await_state("CompleteAbort")
    second = producer.ask_for_identity(expected=former)
    producer.become(second.producer_id, second.producer_epoch)
    producer.send(topic)
    producer.end()

    assert first.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert (second.producer_id, second.producer_epoch) == (former[0], former[1] + 1)
    await_end(client, topic)
    assert aborted_in(read_committed(client, topic)) == [(former[0], 0)]


def test_a_transaction_without_a_record_times_out_too(topic: Topic, new_producer: NewProducer) -> None:
    """Row 57: an older client has named the partition, and has written nothing."""
    producer = new_producer(OLDER).init(timeout_ms=100)
    assert producer.add(topic) == 0

    producer.await_state("CompleteAbort")

    assert producer.add(topic) == ErrorCode.PRODUCER_FENCED


@pytest.mark.slow
def test_a_producer_gets_another_producer_id_when_its_epochs_are_used_up(
    client: RawClient, topic: Topic, new_producer: NewProducer
) -> None:
    """Row 58: the last epoch is left for a fence; what was written under the former id stays."""
    producer = new_producer().init()
    former = producer.id
    request = messages.InitProducerIdRequest(
        transactional_id=producer.transactional_id, transaction_timeout_ms=60_000
    )
    while producer.epoch < LAST_EPOCH:
        asked = min(100, LAST_EPOCH - producer.epoch)
        for _ in range(asked):
            client.send(INIT_PRODUCER_ID, 5, request)
        replies = [client.receive() for _ in range(asked)]
        assert {(each.error_code, each.producer_id) for each in replies} == {(0, former)}
        producer.become(former, replies[-1].producer_epoch)
    assert producer.epoch == LAST_EPOCH
    producer.send(topic)

    ended = producer.ask_for_end(is_commit=True)
    again = producer.ask_for_end(is_commit=True)

    assert (ended.error_code, ended.producer_epoch) == (0, 0)
    assert ended.producer_id != former
    assert (again.producer_id, again.producer_epoch) == (ended.producer_id, 0)
    producer.become(ended.producer_id, 0)
    producer.send(topic)
    producer.end()
    await_end(client, topic)
    assert offsets_in(read_committed(client, topic)) == [0, 2]


def test_the_present_producer_gets_the_next_epoch_and_is_told_it_again(new_producer: NewProducer) -> None:
    """Row 58."""
    producer = new_producer().init()
    present = (producer.id, producer.epoch)

    replies = [producer.ask_for_identity(expected=present) for _ in range(2)]

    assert [(each.error_code, each.producer_id, each.producer_epoch) for each in replies] == [
        (0, producer.id, producer.epoch + 1)
    ] * 2


def test_a_former_producer_is_fenced(new_producer: NewProducer) -> None:
    """Row 58."""
    former = new_producer().init()
    new_producer(transactional_id=former.transactional_id).init()

    newer = former.ask_for_identity(expected=(former.id, former.epoch))
    older = former.ask_for_identity(expected=(former.id, former.epoch), version=3)
    other = former.ask_for_identity(expected=(former.id + 1_000_000, 0))

    assert newer.error_code == other.error_code == ErrorCode.PRODUCER_FENCED
    assert older.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


@BOTH_FLOWS
def test_what_a_former_producer_left_open_is_aborted_before_the_next_one_begins(
    client: RawClient, topic: Topic, new_producer: NewProducer, flow: Flow
) -> None:
    """Rows 58, 59."""
    former = new_producer(flow).init()
    former.send(topic)

    first = new_producer(flow, former.transactional_id).ask_for_identity()
    present = new_producer(flow, former.transactional_id).init()

    assert first.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert present.epoch > former.epoch
    assert aborted_in(read_committed(client, topic)) == [(former.id, 0)]
    present.send(topic)
    present.end()
    assert former.ask_for_end(is_commit=True).error_code == ErrorCode.PRODUCER_FENCED


@BOTH_FLOWS
def test_a_fenced_producer_is_told_so_in_the_words_of_its_version(
    topic: Topic, new_producer: NewProducer, flow: Flow
) -> None:
    """Row 59."""
    former = new_producer(flow).init()
    new_producer(flow, former.transactional_id).init()
    fenced, stale = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH

    assert former.write(topic) == stale
    assert [former.add(topic, version=version) for version in (1, 2, 3)] == [stale, fenced, fenced]
    assert [former.add_offsets("g", version=version) for version in (1, 2, 3)] == [stale, fenced, fenced]
    ends = [former.ask_for_end(is_commit=True, version=version).error_code for version in (1, 2, 5)]
    assert ends == [stale, fenced, fenced]
    assert former.commit_offset("g", topic, 1) == stale


def test_nobody_ends_or_writes_what_the_coordinator_does_not_know(
    topic: Topic, new_producer: NewProducer
) -> None:
    """Row 58."""
    producer = new_producer()
    producer.become(123_456_789, 0)
    find_coordinator(producer._client, producer.transactional_id)
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING

    assert producer.add(topic) == mapping
    assert producer.ask_for_end(is_commit=True).error_code == mapping
    assert producer.write(topic, version=12) == mapping
    assert producer.described().error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


# Partitions


@pytest.mark.parametrize(
    ("version", "refusal"),
    [
        (8, ErrorCode.INVALID_TXN_STATE),
        (10, ErrorCode.INVALID_TXN_STATE),
        (11, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_an_older_client_s_write_to_a_partition_it_did_not_name_is_refused(
    client: RawClient, topic: Topic, new_producer: NewProducer, version: int, refusal: ErrorCode
) -> None:
    """Row 60."""
    producer = new_producer(OLDER).init()

    assert producer.write(topic, version=version) == refusal
    assert log_end(client, topic) == 0
    assert producer.add(topic) == 0
    assert producer.write(topic, version=version) == 0


def test_a_late_write_of_an_older_client_does_not_open_a_transaction(
    client: RawClient, topic: Topic, new_producer: NewProducer
) -> None:
    """Row 60: the transaction has ended, and nobody would end another one here."""
    producer = new_producer(OLDER).init()
    producer.send(topic)
    producer.end()
    producer.await_state("CompleteCommit")

    assert producer.write(topic) == ErrorCode.INVALID_TXN_STATE
    assert read_committed(client, topic).last_stable_offset == log_end(client, topic)


@pytest.mark.parametrize("version", [12, 13])
def test_a_newer_client_s_write_makes_the_partition_part_of_the_transaction(
    topic: Topic, new_producer: NewProducer, version: int
) -> None:
    """Row 60."""
    producer = new_producer().init()

    assert producer.write(topic, version=version) == 0

    told = producer.described()
    assert told.transaction_state == "Ongoing"
    assert [(each.topic, each.partitions) for each in told.topics] == [(topic.name, [0])]


def test_a_newer_end_raises_the_epoch_and_can_be_repeated_but_not_reversed(
    topic: Topic, new_producer: NewProducer
) -> None:
    """Row 60."""
    producer = new_producer().init()
    producer.send(topic)

    first = producer.ask_for_end(is_commit=True)
    again = producer.ask_for_end(is_commit=True)
    opposite = producer.ask_for_end(is_commit=False)

    assert (first.error_code, first.producer_id, first.producer_epoch) == (0, producer.id, producer.epoch + 1)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (0, producer.id, producer.epoch + 1)
    assert opposite.error_code == ErrorCode.INVALID_TXN_STATE


def test_an_older_end_keeps_the_epoch(topic: Topic, new_producer: NewProducer) -> None:
    """Row 60."""
    producer = new_producer(OLDER).init()
    for _ in range(2):
        producer.send(topic)
        producer.end()
    producer.await_state("CompleteCommit")

    assert producer.described().producer_epoch == producer.epoch
    assert producer.ask_for_end(is_commit=False).error_code == ErrorCode.INVALID_TXN_STATE


def test_all_partitions_of_a_request_are_added_or_none(topic: Topic, new_producer: NewProducer) -> None:
    """Row 60."""
    producer = new_producer(OLDER).init()

    assert producer.add(topic, 0, 99) == ErrorCode.OPERATION_NOT_ATTEMPTED
    assert producer.add(topic, 99) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert producer.described().transaction_state == "Empty"


def test_a_broker_may_ask_whether_partitions_are_part_of_a_transaction(
    client: RawClient, new_topic: NewTopic, new_producer: NewProducer
) -> None:
    """Row 60: versions 4 and up are for many transactions."""
    topic = new_topic(partitions=2)
    producer = new_producer(OLDER).init()
    producer.add(topic, 0)
    request = messages.AddPartitionsToTxnRequest(
        transactions=[
            messages.AddPartitionsToTxnTransaction(
                transactional_id=producer.transactional_id,
                producer_id=producer.id,
                producer_epoch=epoch,
                verify_only=True,
                topics=[messages.AddPartitionsToTxnTopic(name=topic.name, partitions=[0, 1])],
            )
            for epoch in (producer.epoch, producer.epoch + 1)
        ]
    )

    reply = client.call(ADD_PARTITIONS, 5, request)

    assert reply.error_code == 0
    codes = [
        {one.partition_index: one.partition_error_code for one in each.topic_results[0].results_by_partition}
        for each in reply.results_by_transaction
    ]
    fenced = ErrorCode.PRODUCER_FENCED
    # Kafka keeps results by id, so that of two for one id only the last is answered.
    assert codes[0] in ({0: 0, 1: ErrorCode.TRANSACTION_ABORTABLE}, {0: fenced, 1: fenced})
    assert codes[-1] == {0: fenced, 1: fenced}


# Topics that go


def test_a_topic_that_is_deleted_gets_no_marker_and_the_others_do(
    client: RawClient, new_topic: NewTopic, new_producer: NewProducer
) -> None:
    """Row 61."""
    gone, stays = new_topic(), new_topic()
    producer = new_producer().init()
    producer.send(gone)
    producer.send(stays)

    delete_topic(client, gone)
    producer.end()

    producer.await_state("CompleteCommit")
    await_end(client, stays)
    assert offsets_in(read_committed(client, stays)) == [0]


def test_a_topic_that_was_created_again_gets_the_marker_in_its_new_log(
    client: RawClient, new_topic: NewTopic, new_producer: NewProducer
) -> None:
    """Row 61."""
    topic = new_topic()
    producer = new_producer().init()
    producer.send(topic, count=5)

    delete_topic(client, topic)
    again = create_again(client, topic.name)
    producer.end()
    producer.await_state("CompleteCommit")

    assert [each.header.is_control for each in batches_of(read_committed(client, again).records)] == [True]
    append(client, again, fresh(1))
    assert offsets_in(read_committed(client, again)) == [1]


# Offsets


def fetched_offset(
    client: RawClient, group: str, topic: Topic, *, require_stable: bool = False
) -> tuple[int, int]:
    """Give the error code and the offset that a group has committed for partition 0."""
    request = messages.OffsetFetchRequest(
        require_stable=require_stable,
        groups=[
            messages.OffsetFetchRequestGroup(
                group_id=group,
                topics=[messages.OffsetFetchRequestTopics(name=topic.name, partition_indexes=[0])],
            )
        ],
    )
    answers: list[Any] = []

    def is_answered() -> bool:
        (answered,) = client.call(OFFSET_FETCH, 9, request).groups
        answers.append(answered)
        return answered.error_code not in NOT_YET

    eventually(is_answered, f"{group} has a coordinator")
    (one,) = answers[-1].topics[0].partitions
    return int(one.error_code), int(one.committed_offset)


def commit_plainly(client: RawClient, group: str, topic: Topic, offset: int) -> None:
    request = messages.OffsetCommitRequest(
        group_id=group,
        topics=[
            messages.OffsetCommitRequestTopic(
                name=topic.name,
                partitions=[
                    messages.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
                ],
            )
        ],
    )

    def is_committed() -> bool:
        (one,) = client.call(OFFSET_COMMIT, 9, request).topics[0].partitions
        return not one.error_code

    eventually(is_committed, f"{group} has committed")


@BOTH_FLOWS
@BOTH_ENDS
def test_offsets_of_an_open_transaction_are_unstable_until_it_ends(
    client: RawClient,
    topic: Topic,
    topic_name: Callable[[], str],
    new_producer: NewProducer,
    flow: Flow,
    is_commit: bool,
) -> None:
    """Row 62."""
    group = f"group-of-{topic_name()}"
    commit_plainly(client, group, topic, 3)
    producer = new_producer(flow).init()
    producer.send(topic)
    producer.send_offset(group, topic, 7)

    assert fetched_offset(client, group, topic) == (0, 3)
    assert fetched_offset(client, group, topic, require_stable=True)[0] == ErrorCode.UNSTABLE_OFFSET_COMMIT

    producer.end(is_commit=is_commit)
    producer.await_state("CompleteCommit" if is_commit else "CompleteAbort")

    assert fetched_offset(client, group, topic, require_stable=True) == (0, 7 if is_commit else 3)


def test_an_older_client_s_offsets_need_the_group_to_be_named(
    topic: Topic, new_producer: NewProducer
) -> None:
    """Row 60: the offsets topic is a partition like others."""
    producer = new_producer(OLDER).init()
    group = f"group-of-{producer.transactional_id}"

    assert producer.commit_offset(group, topic, 7) == ErrorCode.INVALID_TXN_STATE
    assert producer.add_offsets(group) == 0
    assert producer.commit_offset(group, topic, 7) == 0


@BOTH_FLOWS
def test_offsets_are_held_against_the_generation_of_the_member_that_is_named(
    client: RawClient, topic: Topic, new_producer: NewProducer, flow: Flow
) -> None:
    """Row 63."""
    producer = new_producer(flow).init()
    group = f"group-of-{producer.transactional_id}"
    producer.send_offset(group, topic, 1)
    member = join(client, group, "instance")

    def commit(generation: int, member_id: str, instance: str | None) -> int:
        return producer.commit_offset(
            group, topic, 7, generation=generation, member=member_id, instance=instance
        )

    assert commit(1, member, "instance") == 0
    assert commit(0, member, "instance") == ErrorCode.ILLEGAL_GENERATION
    assert commit(1, "stranger", None) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(1, "stranger", "instance") == ErrorCode.FENCED_INSTANCE_ID
    assert commit(-1, "", None) == 0


def join(client: RawClient, group: str, instance: str) -> str:
    """Become the only member of a group, in generation 1; give its id."""
    joined = client.call(
        JOIN_GROUP,
        7,
        messages.JoinGroupRequest(
            group_id=group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=[messages.JoinGroupRequestProtocol(name="range", metadata=b"")],
        ),
    )
    assert (joined.error_code, joined.generation_id) == (0, 1)
    synced = client.call(
        SYNC_GROUP,
        5,
        messages.SyncGroupRequest(
            group_id=group,
            generation_id=1,
            member_id=joined.member_id,
            group_instance_id=instance,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[messages.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")],
        ),
    )
    assert synced.error_code == 0
    return str(joined.member_id)


@pytest.mark.parametrize("plain_is_later", [True, False])
def test_of_a_plain_and_a_transactional_commit_the_later_in_the_log_wins(
    broker: BrokerUnderTest | GivenBroker,
    client: RawClient,
    connect: Connect,
    topic: Topic,
    new_producer: NewProducer,
    plain_is_later: bool,
) -> None:
    """Row 64: while the broker runs, and after a restart."""
    producer = new_producer().init()
    group = f"group-of-{producer.transactional_id}"
    if plain_is_later:
        producer.send_offset(group, topic, 7)
        commit_plainly(client, group, topic, 3)
    else:
        commit_plainly(client, group, topic, 3)
        producer.send_offset(group, topic, 7)
    producer.end()
    producer.await_state("CompleteCommit")
    expected = (0, 3 if plain_is_later else 7)

    assert fetched_offset(client, group, topic, require_stable=True) == expected
    broker.restart()
    assert fetched_offset(connect(), group, topic, require_stable=True) == expected


# Restarts, and those who look


@BOTH_FLOWS
@BOTH_ENDS
def test_an_open_transaction_survives_a_crash_of_the_broker_and_can_be_ended(
    broker: BrokerUnderTest | GivenBroker,
    connect: Connect,
    topic: Topic,
    new_producer: NewProducer,
    flow: Flow,
    is_commit: bool,
) -> None:
    """Rows 52, 60."""
    producer = new_producer(flow).init()
    producer.send(topic, count=2)

    broker.restart()
    after = connect()
    producer._client = after
    find_coordinator(after, producer.transactional_id)
    eventually(lambda: producer.described().error_code not in NOT_YET, "the coordinator is loaded")
    assert offsets_in(read_committed(after, topic)) == []
    producer.end(is_commit=is_commit)

    await_end(after, topic)
    assert bool(aborted_in(read_committed(after, topic))) is not is_commit


def test_transactions_are_listed_by_their_state_and_name(
    client: RawClient, topic: Topic, new_producer: NewProducer
) -> None:
    """Row 52: who looks for the transaction that holds readers back finds it."""
    open_one, idle = new_producer().init(), new_producer().init()
    open_one.send(topic)

    def listed(version: int = 2, **filters: Any) -> set[str]:
        reply = client.call(LIST_TRANSACTIONS, version, messages.ListTransactionsRequest(**filters))
        assert reply.error_code == 0
        return {each.transactional_id for each in reply.transaction_states}

    both = {open_one.transactional_id, idle.transactional_id}
    assert both <= listed(version=0)
    assert both & listed(state_filters=["Ongoing"]) == {open_one.transactional_id}
    assert both & listed(producer_id_filters=[idle.id]) == {idle.transactional_id}
    assert listed(transactional_id_pattern=idle.transactional_id[:-1] + ".") >= {idle.transactional_id}
    assert both & listed(state_filters=["Ongoing"], duration_filter=3_600_000) == set()


def test_a_producer_s_open_transaction_is_told_with_its_partition(
    client: RawClient, topic: Topic, new_producer: NewProducer
) -> None:
    """Row 52."""
    producer = new_producer().init()
    producer.send(topic)
    request = messages.DescribeProducersRequest(
        topics=[messages.DescribeProducersRequestTopicRequest(name=topic.name, partition_indexes=[0])]
    )

    (told,) = client.call(DESCRIBE_PRODUCERS, 0, request).topics
    (one,) = told.partitions[0].active_producers

    assert (one.producer_id, one.producer_epoch, one.current_txn_start_offset) == (
        producer.id,
        producer.epoch,
        0,
    )
