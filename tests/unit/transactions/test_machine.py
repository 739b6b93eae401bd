"""The machine: identities, partitions, ends, fences, time; rows 57 to 60."""

from __future__ import annotations

import pytest

from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.expressions import compile_expression
from riverlog.shards import NEVER, ProducerIdentity
from riverlog.transactions.machine import EPOCH_MAX, LAST_EPOCH
from riverlog.transactions.outcome import TransactionReply
from riverlog.transactions.records import Status

from .world import A0, A1, B0, NEWER, OLDER, TIMEOUT_MS, WALL_MS, World

CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
FENCED = ErrorCode.PRODUCER_FENCED
INVALID_STATE = ErrorCode.INVALID_TXN_STATE
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING

BOTH = pytest.mark.parametrize("version", [OLDER, NEWER])


# Identities


def test_a_new_id_gets_a_producer_id_in_epoch_0() -> None:
    assert World().init() == TransactionReply(0, 1000, 0)


def test_the_next_producer_with_the_id_gets_the_next_epoch() -> None:
    world = World()
    world.producer()

    assert world.init() == TransactionReply(0, 1000, 1)


def test_other_ids_have_other_producer_ids() -> None:
    world = World()

    assert (
        world.producer(transactional_id="a").producer_id != world.producer(transactional_id="b").producer_id
    )


def test_a_producer_that_goes_on_after_an_error_gets_the_next_epoch_once() -> None:
    world = World()
    producer = world.producer()

    first = world.init(producer)
    again = world.init(producer)

    assert first == again == TransactionReply(0, 1000, 1)


def test_a_producer_whose_place_was_taken_cannot_go_on() -> None:
    world = World()
    former = world.producer()
    world.producer()

    assert world.init(former).error_code == FENCED
    assert world.init(ProducerIdentity(77, 0)).error_code == FENCED


def test_a_producer_may_name_an_identity_that_nobody_remembers() -> None:
    assert World().init(ProducerIdentity(77, 3)) == TransactionReply(0, 1000, 0)


@pytest.mark.parametrize("names_itself", [True, False])
def test_used_up_epochs_lead_to_another_producer_id(names_itself: bool) -> None:
    world = World()
    world.producer()
    last = world.set_epoch(LAST_EPOCH)

    assert world.init(last if names_itself else None) == TransactionReply(0, 1001, 0)


def test_a_producer_that_missed_its_new_producer_id_is_told_it_again() -> None:
    world = World()
    world.producer()
    last = world.set_epoch(LAST_EPOCH)
    world.init(last)

    assert [world.init(last), world.init(last)] == [TransactionReply(0, 1001, 0)] * 2


@pytest.mark.parametrize(
    ("timeout_ms", "is_taken"), [(0, False), (-1, False), (900_000, True), (900_001, False)]
)
def test_time_outs_are_above_0_and_not_above_the_maximum(timeout_ms: int, is_taken: bool) -> None:
    expected = 0 if is_taken else ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert World().init(timeout_ms=timeout_ms).error_code == expected


def test_the_open_transaction_of_a_former_producer_is_aborted_first() -> None:
    world = World()
    former = world.producer()
    world.add(former)

    waiting = world.init()
    during = world.state()
    still_waiting = world.init()
    world.complete()
    after = world.init()

    assert (waiting.error_code, still_waiting.error_code) == (CONCURRENT, CONCURRENT)
    assert during.status is Status.PREPARE_ABORT
    assert after.error_code == 0
    assert after.epoch > former.epoch + 1
    assert world.end(former, is_commit=False).error_code == FENCED


# Partitions


def test_the_first_partition_begins_a_transaction() -> None:
    world = World()
    producer = world.producer()
    world.ms = 10

    assert world.add(producer, A0) == 0
    world.ms = 20
    assert world.add(producer, B0, A1) == 0

    state = world.state()
    assert (state.status, state.partitions) == (Status.ONGOING, {A0, A1, B0})
    assert (state.start_ms, state.updated_ms) == (WALL_MS + 10, WALL_MS + 20)


def test_partitions_that_are_part_of_it_already_cost_no_record() -> None:
    world = World()
    producer = world.producer()
    world.add(producer, A0, A1)
    before = len(world.log)

    assert world.add(producer, A1) == 0
    assert len(world.log) == before


def test_only_the_present_producer_adds_partitions() -> None:
    world = World()
    producer = world.producer()

    assert world.add(producer, transactional_id="unknown") == MAPPING
    assert world.add(producer._replace(producer_id=5)) == MAPPING
    assert world.add(producer._replace(epoch=5)) == FENCED
    assert world.state().status is Status.EMPTY


@BOTH
def test_nothing_is_added_while_the_last_transaction_is_ended(version: int) -> None:
    world = World()
    producer = world.producer()
    world.add(producer, version=version)
    reply = world.end(producer, version=version)
    following = ProducerIdentity(reply.producer_id, reply.epoch)

    during = world.add(following, version=version)
    world.complete()

    assert (during, world.add(following, version=version)) == (CONCURRENT, 0)


def test_partitions_are_verified_one_by_one() -> None:
    world = World()
    producer = world.producer()
    world.add(producer, A0)

    assert world.machine.verify("t", producer, [A0, A1]) == {A0: 0, A1: ErrorCode.TRANSACTION_ABORTABLE}
    assert world.machine.verify("t", producer._replace(epoch=9), [A0]) == {A0: FENCED}
    assert world.machine.verify("u", producer, [A0]) == {A0: MAPPING}


# The end


@BOTH
@pytest.mark.parametrize("is_commit", [True, False])
def test_an_end_is_decided_then_written_then_complete(version: int, is_commit: bool) -> None:
    world = World()
    producer = world.producer()
    world.add(producer, A0, B0, version=version)

    reply = world.end(producer, is_commit=is_commit, version=version)
    decided = world.state()
    (ending,) = world.endings
    world.complete()

    assert reply.error_code == 0
    assert decided.status is (Status.PREPARE_COMMIT if is_commit else Status.PREPARE_ABORT)
    assert (ending.is_commit, ending.partitions, ending.version) == (is_commit, {A0, B0}, version)
    assert ending.epoch == (producer.epoch if version == OLDER else producer.epoch + 1)
    assert world.state().status is (Status.COMPLETE_COMMIT if is_commit else Status.COMPLETE_ABORT)
    assert world.state().partitions == frozenset()


def test_newer_ends_raise_the_epoch_and_older_ones_keep_it() -> None:
    world = World()
    producer = world.producer()
    world.add(producer)
    newer = world.end(producer)
    world.complete()
    following = ProducerIdentity(newer.producer_id, newer.epoch)
    world.add(following, version=OLDER)
    older = world.end(following, version=OLDER)

    assert (newer.epoch, older.epoch) == (1, 1)


@pytest.mark.parametrize("is_commit", [True, False])
def test_the_same_newer_end_succeeds_again_and_the_opposite_fails(is_commit: bool) -> None:
    """Row 60."""
    world = World()
    producer = world.producer()
    world.add(producer)
    first = world.end(producer, is_commit=is_commit)

    assert world.end(producer, is_commit=is_commit).error_code == CONCURRENT
    assert world.end(producer, is_commit=not is_commit).error_code == INVALID_STATE
    world.complete()
    assert world.end(producer, is_commit=is_commit) == first
    assert world.end(producer, is_commit=not is_commit).error_code == INVALID_STATE


@pytest.mark.parametrize("is_commit", [True, False])
def test_the_same_older_end_succeeds_again_and_the_opposite_fails(is_commit: bool) -> None:
    world = World()
    producer = world.producer()
    world.add(producer, version=OLDER)
    world.end(producer, is_commit=is_commit, version=OLDER)

    during = world.end(producer, is_commit=is_commit, version=OLDER).error_code
    opposite = world.end(producer, is_commit=not is_commit, version=OLDER).error_code
    world.complete()
    after = world.end(producer, is_commit=is_commit, version=OLDER).error_code
    opposite_after = world.end(producer, is_commit=not is_commit, version=OLDER).error_code

    assert (during, opposite, after, opposite_after) == (CONCURRENT, INVALID_STATE, 0, INVALID_STATE)


def test_a_transaction_that_never_began_cannot_be_committed() -> None:
    world = World()
    producer = world.producer()

    assert world.end(producer, version=OLDER).error_code == INVALID_STATE
    assert world.end(producer, is_commit=False, version=OLDER).error_code == INVALID_STATE
    assert world.end(producer).error_code == INVALID_STATE
    assert world.state().status is Status.EMPTY


def test_a_transaction_that_never_began_may_be_aborted_in_the_newer_way() -> None:
    world = World()
    producer = world.producer()

    first = world.end(producer, is_commit=False)
    world.complete()
    second = world.end(ProducerIdentity(first.producer_id, first.epoch), is_commit=False)
    world.complete()

    assert (first, second) == (TransactionReply(0, 1000, 1), TransactionReply(0, 1000, 2))
    assert world.state().status is Status.COMPLETE_ABORT


@BOTH
def test_only_the_present_producer_ends_a_transaction(version: int) -> None:
    world = World()
    producer = world.producer()
    world.add(producer, version=version)

    assert world.end(producer, version=version, transactional_id="u").error_code == MAPPING
    assert world.end(producer._replace(producer_id=5), version=version).error_code == MAPPING
    assert world.end(producer._replace(epoch=3), version=version).error_code == FENCED
    assert world.state().status is Status.ONGOING


def test_the_end_of_the_last_epoch_gives_another_producer_id() -> None:
    world = World()
    world.producer()
    last = world.set_epoch(LAST_EPOCH)
    world.add(last)

    reply = world.end(last)
    (ending,) = world.endings
    during = world.end(last).error_code
    world.complete()
    again = world.end(last)

    assert reply == again == TransactionReply(0, 1001, 0)
    assert (ending.producer_id, ending.epoch) == (1000, EPOCH_MAX)
    assert during == CONCURRENT
    assert world.add(ProducerIdentity(1001, 0)) == 0


def test_a_completion_that_comes_too_late_changes_nothing() -> None:
    world = World()
    producer = world.producer()
    world.add(producer)
    reply = world.end(producer)
    (ending,) = world.endings
    world.complete()
    world.add(ProducerIdentity(reply.producer_id, reply.epoch))
    before = world.state()

    world.complete(endings=[ending])

    assert world.state() == before


# Fences and time


@BOTH
def test_a_transaction_that_times_out_is_aborted_and_its_producer_fenced(version: int) -> None:
    """Row 57."""
    world = World()
    producer = world.producer()
    world.add(producer, version=version)
    world.ms = TIMEOUT_MS
    world.time_out()
    in_time = world.state().status
    world.ms += 1
    world.time_out()
    (ending,) = world.endings
    world.complete()

    assert in_time is Status.ONGOING
    assert not ending.is_commit
    assert ending.epoch > producer.epoch
    assert world.add(producer, version=version) == FENCED
    refusal = INVALID_STATE if version == NEWER else FENCED
    assert world.end(producer, is_commit=True, version=version).error_code == refusal
    assert world.init().error_code == 0
    assert world.end(producer, is_commit=False, version=version).error_code == FENCED
    assert world.init(producer).error_code == FENCED


@BOTH
def test_who_was_fenced_by_a_time_out_may_go_on_until_another_has_the_id(version: int) -> None:
    """KIP-588: it has lost its transaction, not its place."""
    world = World()
    producer = world.producer()
    world.add(producer, version=version)
    world.ms = TIMEOUT_MS + 1
    world.time_out()

    during = world.init(producer)
    world.complete()
    after = [world.init(producer), world.init(producer)]

    assert during.error_code == CONCURRENT
    assert after == [TransactionReply(0, producer.producer_id, producer.epoch + 1)] * 2


def test_a_newer_producer_that_was_fenced_by_a_time_out_may_abort_and_go_on() -> None:
    world = World()
    producer = world.producer()
    world.add(producer, version=NEWER)
    world.ms = TIMEOUT_MS + 1
    world.time_out()
    world.complete()

    reply = world.end(producer, is_commit=False, version=NEWER)

    assert reply == TransactionReply(0, producer.producer_id, producer.epoch + 1)
    assert world.add(ProducerIdentity(reply.producer_id, reply.epoch), version=NEWER) == 0


def test_a_producer_s_own_request_for_an_identity_aborts_what_it_had_open() -> None:
    world = World()
    producer = world.producer()
    world.add(producer)

    first = world.init(producer)
    world.complete()

    assert first.error_code == CONCURRENT
    assert world.init(producer) == TransactionReply(0, producer.producer_id, producer.epoch + 1)


def test_a_fence_in_the_last_epoch_is_one_too() -> None:
    world = World()
    world.producer()
    last = world.set_epoch(LAST_EPOCH)
    world.add(last)
    world.init()
    world.complete()

    assert world.end(last, is_commit=False).error_code == FENCED
    assert world.add(last) == FENCED
    assert world.init() == TransactionReply(0, 1001, 0)


def test_who_was_fenced_in_the_last_epoch_goes_on_under_another_producer_id() -> None:
    world = World()
    world.producer()
    last = world.set_epoch(LAST_EPOCH)
    world.add(last)
    world.init(last)
    world.complete()

    assert [world.init(last), world.init(last)] == [TransactionReply(0, 1001, 0)] * 2


def test_only_open_transactions_time_out() -> None:
    world = World()
    producer = world.producer()
    world.add(producer)
    world.end(producer)
    world.ms = 10 * TIMEOUT_MS
    before = world.state()

    world.time_out()
    world.time_out("unknown")

    assert world.state() == before
    assert list(world.machine.ongoing) == []


def test_the_ids_with_open_transactions_are_at_hand() -> None:
    world = World()
    world.add(world.producer())
    world.add(world.producer(transactional_id="u"), transactional_id="u")

    assert set(world.machine.ongoing) == {"t", "u"}
    assert world.machine.next_deadline_ms == NEVER
    assert list(world.machine.pass_time(world.now)) == []


def test_an_id_that_was_not_used_for_long_is_forgotten() -> None:
    world = World(transactional_id_expiration_ms=1000)
    world.producer()
    world.ms = 999
    world.expire()
    assert "t" in world.machine.transactions

    world.ms = 1000
    world.expire()
    world.expire("unknown")

    assert "t" not in world.machine.transactions
    assert world.log[-1][1] is None


def test_an_id_with_a_transaction_is_not_forgotten() -> None:
    world = World(transactional_id_expiration_ms=1000)
    producer = world.producer()
    world.add(producer)
    world.ms = 5000
    world.expire()
    world.end(producer)
    world.ms = 9000
    world.expire()

    assert world.state().status is Status.PREPARE_COMMIT


# The log


def test_a_restart_ends_what_was_decided() -> None:
    world = World()
    producer = world.producer()
    world.add(producer, A0, B0)
    world.end(producer)
    before = world.endings
    state = world.state()

    world.restart()

    assert world.endings == before
    assert world.state() == state._replace(previous_epoch=-1)
    world.complete()
    assert world.state().status is Status.COMPLETE_COMMIT


def test_a_restart_finds_open_transactions_and_forgets_forgotten_ids() -> None:
    world = World(transactional_id_expiration_ms=1000)
    world.producer(transactional_id="old")
    world.ms = 5000
    world.expire("old")
    producer = world.producer()
    world.add(producer, A1)

    world.restart()

    assert list(world.machine.transactions) == ["t"]
    assert set(world.machine.ongoing) == {"t"}
    assert world.add(producer, A0) == 0
    assert world.state().partitions == {A0, A1}


def test_what_the_log_refuses_has_not_happened() -> None:
    world = World()
    producer = world.producer()
    world.add(producer)
    before = world.state()

    world.refusal = ErrorCode.KAFKA_STORAGE_ERROR
    world.end(producer)

    assert (world.state(), world.endings) == (before, [])
    assert world.machine.unload(ErrorCode.NOT_COORDINATOR, world.now).answers == []


# Questions


def test_a_transaction_is_described() -> None:
    world = World()
    producer = world.producer()
    world.ms = 5
    world.add(producer, B0, A1, A0)

    told = world.machine.describe("t")

    assert told is not None
    assert (told.transactional_id, told.transaction_state) == ("t", "Ongoing")
    assert (told.producer_id, told.producer_epoch, told.transaction_timeout_ms) == (1000, 0, TIMEOUT_MS)
    assert told.transaction_start_time_ms == WALL_MS + 5
    assert [(each.topic, each.partitions) for each in told.topics] == [("a", [0, 1]), ("b", [0])]
    assert world.machine.describe("unknown") is None


def test_transactions_are_listed_by_state_producer_age_and_name() -> None:
    world = World()
    first = world.producer(transactional_id="first")
    world.add(first, transactional_id="first")
    world.ms = 1000
    world.add(world.producer(transactional_id="second"), transactional_id="second")
    world.producer(transactional_id="third")
    world.ms = 1500

    def listed(
        states: tuple[str, ...] = (), ids: tuple[int, ...] = (), longer_than_ms: int = -1, pattern: str = ""
    ) -> list[str]:
        compiled = compile_expression(pattern) if pattern else None
        told = world.machine.list_transactions(states, ids, longer_than_ms, compiled, world.now)
        return [each.transactional_id for each in told]

    assert listed() == ["first", "second", "third"]
    assert listed(states=("Ongoing",)) == ["first", "second"]
    assert listed(ids=(first.producer_id,)) == ["first"]
    assert listed(states=("Ongoing",), longer_than_ms=1000) == ["first"]
    assert listed(pattern=".*d") == ["second", "third"]
    assert listed(pattern="ir") == []


@BOTH
def test_versions_of_a_transaction_may_mix(version: int) -> None:
    """A client that was upgraded goes on with the id of its predecessor."""
    world = World()
    producer = world.producer()
    for each in (OLDER, NEWER, version):
        assert world.add(producer, version=each) == 0
        reply = world.end(producer, version=each)
        assert reply.error_code == 0
        world.complete()
        producer = ProducerIdentity(reply.producer_id, reply.epoch)
