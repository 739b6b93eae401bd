"""Transactional ids under everything that can happen to them: producers that come and go, lost answers, late
requests, time-outs, crashes between any two steps. Named claims hold at every step, and in the end every
transaction has one outcome, the same in all its partitions, and the one that its producer was told.
"""

from __future__ import annotations

from itertools import count, pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import OtherKind, ProducerIdentity
from riverlog.transactions.machine import LAST_EPOCH
from riverlog.transactions.outcome import Ending
from riverlog.transactions.records import Status, Transaction, decode
from riverlog.types import TopicPartition
from tests.unit.transactions.world import ID, NEWER, OLDER, TIMEOUT_MS, World

PARTITIONS = [TopicPartition("t", index) for index in range(3)]


class Partition:
    """As much of a partition as matters here: who may write, and what is under which end."""

    def __init__(self) -> None:
        self.epochs: dict[int, int] = {}
        self.open: dict[int, list[int]] = {}
        """Producer id to the transactions, by number, of its records that no marker has decided."""
        self.outcomes: dict[int, set[bool]] = {}

    def takes(self, producer: ProducerIdentity) -> bool:
        return producer.epoch >= self.epochs.get(producer.producer_id, 0)

    def is_in_transaction(self, producer: ProducerIdentity) -> bool:
        return (
            bool(self.open.get(producer.producer_id)) and self.epochs[producer.producer_id] == producer.epoch
        )

    def append(self, producer: ProducerIdentity, number: int) -> None:
        self.epochs[producer.producer_id] = producer.epoch
        self.open.setdefault(producer.producer_id, []).append(number)

    def mark(self, ending: Ending) -> None:
        at = self.epochs.get(ending.producer_id, 0)
        has_open = bool(self.open.get(ending.producer_id))
        assert ending.epoch >= at, "a marker is never of an epoch that has passed"
        if ending.version >= NEWER and has_open:
            assert ending.epoch > at, "a newer end comes in an epoch above that of the records"
        self.epochs[ending.producer_id] = ending.epoch
        for number in self.open.pop(ending.producer_id, []):
            self.outcomes.setdefault(number, set()).add(ending.is_commit)


class Instance:
    """A producer process. It believes what it was told last."""

    def __init__(self, number: int, version: int) -> None:
        self.number = number
        self.version = version
        self.identity: ProducerIdentity | None = None
        self.transaction = -1
        self.added: set[TopicPartition] = set()
        self.is_fenced = False
        self.may_return = False
        """Its transaction was taken from it and not its place: it may ask for the next epoch."""

    def __repr__(self) -> str:
        return f"Instance({self.number}, version {self.version}, {self.identity})"


class Transactions(RuleBasedStateMachine):
    """One transactional id, some producers that want it, and whatever happens to them."""

    instances = Bundle("instances")

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.partitions = {each: Partition() for each in PARTITIONS}
        self.everybody: list[Instance] = []
        self.numbers = count()
        self.told: dict[int, bool] = {}
        """The outcome that a transaction's producer was told."""
        self.half_written: list[tuple[Ending, list[TopicPartition]]] = []

    # Producers

    @rule(target=instances, version=st.sampled_from([OLDER, NEWER]))
    def a_producer_comes(self, version: int) -> Instance:
        instance = Instance(len(self.everybody), version)
        self.everybody.append(instance)
        return instance

    @rule(instance=instances, hears=st.booleans())
    def asks_for_its_identity(self, instance: Instance, hears: bool) -> None:
        reply = self.world.init()
        if reply.error_code:
            assert reply.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
            return
        for other in self.everybody:
            if other is not instance or not hears:
                other.is_fenced = other.identity is not None
                other.may_return = False
        if hears:
            self._become(instance, ProducerIdentity(reply.producer_id, reply.epoch))

    @rule(instance=instances, hears=st.booleans())
    def goes_on_after_an_error(self, instance: Instance, hears: bool) -> None:
        if instance.identity is None:
            return
        reply = self.world.init(instance.identity)
        may_go_on = instance.may_return or not instance.is_fenced
        assert may_go_on or reply.error_code, "a fenced producer goes on"
        if reply.error_code == 0 and hears:
            self._become(instance, ProducerIdentity(reply.producer_id, reply.epoch))

    @rule()
    def epochs_are_nearly_used_up(self) -> None:
        known = self.world.machine.transactions.get(ID)
        if known is None or known.status is not Status.EMPTY or known.epoch >= LAST_EPOCH - 2:
            return
        self.world.set_epoch(LAST_EPOCH - 1)
        for each in self.everybody:
            each.is_fenced = each.identity is not None
            each.may_return = False

    def _become(self, instance: Instance, identity: ProducerIdentity) -> None:
        instance.identity = identity
        instance.is_fenced = instance.may_return = False
        instance.transaction = next(self.numbers)
        instance.added = set()

    # Transactions

    @rule(instance=instances, partition=st.sampled_from(PARTITIONS), hears=st.booleans())
    def adds_a_partition(self, instance: Instance, partition: TopicPartition, hears: bool) -> None:
        if instance.identity is None:
            return
        error_code = self.world.add(instance.identity, partition, version=instance.version)
        assert not (instance.is_fenced and error_code == 0), "a fenced producer adds a partition"
        if error_code == 0 and hears:
            instance.added.add(partition)

    @rule(instance=instances, partition=st.sampled_from(PARTITIONS))
    def writes(self, instance: Instance, partition: TopicPartition) -> None:
        """As a leader decides: an open transaction goes on, for all else the coordinator is asked."""
        there = self.partitions[partition]
        producer = instance.identity
        if producer is None or not there.takes(producer):
            return
        if not there.is_in_transaction(producer):
            if self.world.machine.verify(ID, producer, [partition])[partition]:
                return
            assert not instance.is_fenced, "a fenced producer's write is verified"
        there.append(producer, instance.transaction)

    @rule(instance=instances, is_commit=st.booleans(), hears=st.booleans())
    def ends_its_transaction(self, instance: Instance, is_commit: bool, hears: bool) -> None:
        if instance.identity is None:
            return
        known = self.world.state()
        reply = self.world.end(instance.identity, is_commit=is_commit, version=instance.version)
        may_end = not instance.is_fenced or (instance.may_return and not is_commit)
        assert may_end or reply.error_code, "a fenced producer ends a transaction"
        if reply.error_code:
            return
        was_ongoing = known.status is Status.ONGOING
        if was_ongoing or instance.transaction in self.told:
            assert self.told.setdefault(instance.transaction, is_commit) == is_commit, "both outcomes"
        if hears:
            self._become(instance, ProducerIdentity(reply.producer_id, reply.epoch))
        elif instance.version == OLDER:
            # The next transaction has the same identity: the retry is its first request.
            instance.transaction = next(self.numbers)

    @rule()
    def time_runs_out(self) -> None:
        known = self.world.machine.transactions.get(ID)
        self.world.ms += TIMEOUT_MS + 1
        self.world.time_out()
        if known is not None and known.status is Status.ONGOING:
            for each in self.everybody:
                each.is_fenced = each.identity is not None
                each.may_return = each.identity == (known.producer_id, known.epoch)

    # The end of a transaction, step by step

    @rule(written=st.integers(0, len(PARTITIONS)))
    def markers_are_written(self, written: int) -> None:
        for ending in self.world.endings:
            self.half_written.append((ending, sorted(ending.partitions)))
        self.world.endings = []
        for ending, missing in self.half_written:
            for partition in missing[:written]:
                self.partitions[partition].mark(ending)
            del missing[:written]
        done = [ending for ending, missing in self.half_written if not missing]
        self.half_written = [each for each in self.half_written if each[1]]
        self.world.complete(endings=done)

    @rule()
    def the_broker_crashes(self) -> None:
        self.half_written = []
        self.world.restart()

    # Claims

    @invariant()
    def epochs_only_grow(self) -> None:
        states = self._states()
        for before, after in pairwise(states):
            assert (after.producer_id, after.epoch) >= (before.producer_id, before.epoch)

    @invariant()
    def an_outcome_is_never_both(self) -> None:
        outcomes: dict[int, set[bool]] = {}
        for partition in self.partitions.values():
            for number, ends in partition.outcomes.items():
                outcomes.setdefault(number, set()).update(ends)
        assert all(len(ends) == 1 for ends in outcomes.values())

    @invariant()
    def a_decision_stands_until_it_is_complete(self) -> None:
        follows = {
            Status.PREPARE_COMMIT: Status.COMPLETE_COMMIT,
            Status.PREPARE_ABORT: Status.COMPLETE_ABORT,
        }
        for before, after in pairwise(self._states()):
            if before.status in follows:
                assert after.status is follows[before.status]

    @invariant()
    def a_restart_finds_the_same(self) -> None:
        other = World()
        other.log = list(self.world.log)
        other.restart()
        assert other.machine.transactions == {
            key: each._replace(previous_epoch=-1) for key, each in self.world.machine.transactions.items()
        }
        assert set(other.machine.ongoing) == set(self.world.machine.ongoing)

    def teardown(self) -> None:
        """In the end, whatever was decided is carried out, and nothing is undecided but what is open."""
        self.the_broker_crashes()
        self.markers_are_written(len(PARTITIONS))
        known = self.world.machine.transactions.get(ID)
        if known is None:
            return
        assert not known.status.is_ending
        self.an_outcome_is_never_both()
        for partition in self.partitions.values():
            for number, ends in partition.outcomes.items():
                if number in self.told:
                    assert ends == {self.told[number]}, "the producer was told something else"
            for producer_id, numbers in partition.open.items():
                assert known.status is Status.ONGOING, f"nobody will end {numbers} of {producer_id}"
        for each, partition in self.partitions.items():
            if any(partition.open.values()):
                assert each in known.partitions

    def _states(self) -> list[Transaction]:
        states = []
        for key, value in self.world.log:
            record = decode(key, value)
            assert not isinstance(record, OtherKind)
            if record.value is not None:
                states.append(record.value)
        return states


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
