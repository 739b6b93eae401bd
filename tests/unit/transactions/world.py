"""A machine to try things on: its log is a list, its clock moves by hand, markers are written when told."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from riverlog.config import TransactionSettings
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import Moment, OtherKind, ProducerIdentity
from riverlog.transactions.machine import TransactionMachine
from riverlog.transactions.outcome import Ending, Outcome, TransactionReply
from riverlog.transactions.records import Transaction, TransactionRecord, decode, encode
from riverlog.types import TopicPartition

WALL_MS = 1_700_000_000_000
TIMEOUT_MS = 60_000
ID = "t"

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
OLDER, NEWER = 0, 2


class World:
    """The transactional id is "t" unless a call names another."""

    def __init__(self, *, first_producer_id: int = 1000, **settings: Any) -> None:
        self.settings = TransactionSettings(**settings)
        self.machine = TransactionMachine(self.settings)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.endings: list[Ending] = []
        """Whose markers are to be written."""
        self.ms = 0
        self.producer_ids = count(first_producer_id)
        self.refusal = ErrorCode.NONE
        """What the log answers to appends."""
        self._tokens = count()

    # What the shell does

    @property
    def now(self) -> Moment:
        return Moment(WALL_MS + self.ms, self.ms)

    def new_producer_id(self) -> int:
        return next(self.producer_ids)

    def carry_out(self, outcome: Outcome) -> TransactionReply | None:
        """Append and replay; give the answer, if there is one."""
        if outcome.records and self.refusal:
            self.carry_out(self.machine.refused(outcome))
            return TransactionReply(self.refusal)
        for record in outcome.records:
            self.machine.replay(record, len(self.log))
            self.log.append(encode(record))
        self.endings += outcome.endings
        return outcome.answers[0].message if outcome.answers else None

    def restart(self) -> None:
        """Begin again with what is in the log."""
        self.machine = TransactionMachine(self.settings)
        self.endings = []
        for place, (key, value) in enumerate(self.log):
            record = decode(key, value)
            assert not isinstance(record, OtherKind)
            self.machine.replay(record, place)
        for outcome in self.machine.loaded(self.now):
            self.carry_out(outcome)

    def complete(self, *, endings: Iterable[Ending] | None = None) -> None:
        """Write all markers, and tell the machine."""
        if endings is None:
            endings, self.endings = self.endings, []
        for ending in endings:
            self.carry_out(self.machine.complete(ending, self.now))

    # Requests

    def init(
        self,
        expected: ProducerIdentity | None = None,
        *,
        transactional_id: str = ID,
        timeout_ms: int = TIMEOUT_MS,
    ) -> TransactionReply:
        reply = self.carry_out(
            self.machine.init_producer(
                transactional_id, timeout_ms, expected, self.new_producer_id, next(self._tokens), self.now
            )
        )
        assert reply is not None
        return reply

    def producer(self, *, transactional_id: str = ID, timeout_ms: int = TIMEOUT_MS) -> ProducerIdentity:
        """Get an identity, which must be given."""
        reply = self.init(transactional_id=transactional_id, timeout_ms=timeout_ms)
        assert reply.error_code == 0, ErrorCode(reply.error_code)
        return ProducerIdentity(reply.producer_id, reply.epoch)

    def add(
        self,
        producer: ProducerIdentity,
        *partitions: TopicPartition,
        version: int = NEWER,
        transactional_id: str = ID,
    ) -> int:
        reply = self.carry_out(
            self.machine.add_partitions(
                transactional_id, producer, partitions or (A0,), version, next(self._tokens), self.now
            )
        )
        assert reply is not None
        return reply.error_code

    def end(
        self,
        producer: ProducerIdentity,
        *,
        is_commit: bool = True,
        version: int = NEWER,
        transactional_id: str = ID,
    ) -> TransactionReply:
        reply = self.carry_out(
            self.machine.end(
                transactional_id,
                producer,
                is_commit=is_commit,
                version=version,
                new_producer_id=self.new_producer_id,
                token=next(self._tokens),
                now=self.now,
            )
        )
        assert reply is not None
        return reply

    def time_out(self, transactional_id: str = ID) -> None:
        self.carry_out(self.machine.time_out(transactional_id, self.now))

    def expire(self, transactional_id: str = ID) -> None:
        self.carry_out(self.machine.expire(transactional_id, self.now))

    # Questions and scenes

    def state(self, transactional_id: str = ID) -> Transaction:
        return self.machine.transactions[transactional_id]

    def set_epoch(self, epoch: int, transactional_id: str = ID) -> ProducerIdentity:
        """Let the id have come to this epoch; give its producer."""
        value = self.state(transactional_id)._replace(epoch=epoch, previous_epoch=-1)
        self.machine.replay(TransactionRecord(transactional_id, value), len(self.log))
        self.log.append(encode(TransactionRecord(transactional_id, value)))
        return ProducerIdentity(value.producer_id, epoch)
