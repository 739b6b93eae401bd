"""The transactional ids of one partition of the transaction topic, as a replicated state machine.

                    a partition is added             it ends              the markers are written
    EMPTY, COMPLETE ────────────────────▶ ONGOING ──────────▶ PREPARE_* ─────────────────────────▶ COMPLETE_*
                                             │                    ▲
                                             └────────────────────┘
                  it times out, or a producer asks for the id: abort in a new epoch, the old one is fenced

- The outcome is decided by the PREPARE record alone. Whatever crashes after it, a restart replays it,
  writes the markers again and completes the transaction: the outcome is never both.
- One state for each id, which is its last record, changed by `replay` alone. A request is held against it:
  another producer id is an invalid mapping, another epoch is a fenced producer.
- Older clients keep their epoch from one transaction to the next; newer ones (`transaction.version` 2,
  KIP-890) get the next epoch with each end, so that a late write can never reach a later transaction.
- A fence aborts in the next epoch, so that nothing of the former one is written any more. Until another
  producer has the id, the former one may go on in that epoch if it says so: it has lost its transaction to
  a time-out or to a request of its own, not its place (KIP-588). Another producer gets the epoch after it.

Pure: time comes in with each call, producer ids are drawn from the caller's supply, requests are tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import NEVER, NO_PRODUCER
from riverlog.transactions.outcome import Ending, Outcome, TransactionReply
from riverlog.transactions.records import (
    NO_EPOCH,
    NO_ID,
    NO_TIME,
    Status,
    Transaction,
    TransactionRecord,
    decode,
    encode,
)

if TYPE_CHECKING:
    from riverlog.config import TransactionSettings
    from riverlog.protocol.expressions import Expression
    from riverlog.shards import Moment, ProducerIdentity, Token
    from riverlog.types import TopicPartition

EPOCH_MAX = 2**15 - 1
LAST_EPOCH = EPOCH_MAX - 1
"""The last epoch that a producer gets; the one above is for fencing it."""

NEWEST_VERSION = 2
"""Of `transaction.version`: the epoch rises with each end (KIP-890)."""

_UNFINISHED = (Status.ONGOING, Status.PREPARE_COMMIT, Status.PREPARE_ABORT)


class TransactionMachine:
    """Decides for all transactional ids of one partition."""

    encode = staticmethod(encode)
    decode = staticmethod(decode)

    def __init__(self, settings: TransactionSettings) -> None:
        self.settings = settings
        self.transactions: dict[str, Transaction] = {}
        self._ongoing: set[str] = set()

    # Producers

    def init_producer(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: ProducerIdentity | None,
        new_producer_id: Callable[[], int],
        token: Token,
        now: Moment,
    ) -> Outcome:
        """Give a producer its identity, and fence whoever had the id before.

        `expected` is the identity of a producer that goes on after an error. If a transaction is open it is
        aborted first, and the producer is told to ask again.
        """
        outcome = Outcome(now)
        if not 0 < timeout_ms <= self.settings.transaction_max_timeout_ms:
            outcome.answer(token, TransactionReply(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
            return outcome
        known = self.transactions.get(transactional_id)
        if known is None:
            given = Transaction(new_producer_id(), 0, timeout_ms, updated_ms=now.wall_ms)
            self._give_identity(transactional_id, given, token, outcome)
        elif expected is not None and not _may_go_on(known, expected):
            outcome.answer(token, TransactionReply(ErrorCode.PRODUCER_FENCED))
        elif known.status.is_ending:
            outcome.answer(token, TransactionReply(ErrorCode.CONCURRENT_TRANSACTIONS))
        elif known.status is Status.ONGOING:
            self._fence(transactional_id, known, outcome)
            outcome.answer(token, TransactionReply(ErrorCode.CONCURRENT_TRANSACTIONS))
        else:
            base = known._replace(
                status=Status.EMPTY,
                partitions=frozenset(),
                timeout_ms=timeout_ms,
                start_ms=NO_TIME,
                updated_ms=now.wall_ms,
                previous_producer_id=known.producer_id,
                next_producer_id=NO_ID,
            )
            next_ = _next_identity(known, base, expected, new_producer_id)
            if next_ is None:
                outcome.answer(token, TransactionReply(ErrorCode.PRODUCER_FENCED))
            else:
                self._give_identity(transactional_id, next_, token, outcome)
        return outcome

    def _give_identity(
        self, transactional_id: str, given: Transaction, token: Token, outcome: Outcome
    ) -> None:
        outcome.records.append(TransactionRecord(transactional_id, given))
        outcome.answer(token, TransactionReply(ErrorCode.NONE, given.producer_id, given.epoch))

    # Partitions

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        version: int,
        token: Token,
        now: Moment,
    ) -> Outcome:
        """Make partitions part of the transaction, the first of which begins it."""
        outcome = Outcome(now)
        known = self.transactions.get(transactional_id)
        objection = _objection(known, producer)
        if objection or known is None:
            outcome.answer(token, TransactionReply(objection))
            return outcome
        is_ongoing = known.status is Status.ONGOING
        if not (is_ongoing and known.partitions.issuperset(partitions)):
            value = known._replace(
                status=Status.ONGOING,
                partitions=known.partitions.union(partitions),
                start_ms=known.start_ms if is_ongoing else now.wall_ms,
                updated_ms=now.wall_ms,
                previous_producer_id=known.producer_id,
                client_version=version,
            )
            outcome.records.append(TransactionRecord(transactional_id, value))
        outcome.answer(token, TransactionReply(ErrorCode.NONE))
        return outcome

    def verify(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Say which partitions are part of the producer's open transaction, with no change to it."""
        known = self.transactions.get(transactional_id)
        objection = _objection(known, producer)
        if objection or known is None:
            return dict.fromkeys(partitions, objection)
        return {
            each: ErrorCode.NONE if each in known.partitions else ErrorCode.TRANSACTION_ABORTABLE
            for each in partitions
        }

    # The end

    def end(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        *,
        is_commit: bool,
        version: int,
        new_producer_id: Callable[[], int],
        token: Token,
        now: Moment,
    ) -> Outcome:
        """Decide a transaction's outcome. The answer leaves before the markers are written."""
        outcome = Outcome(now)
        known = self.transactions.get(transactional_id)
        if known is None:
            outcome.answer(token, TransactionReply(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
        elif version < NEWEST_VERSION:
            verdict = _verdict_on_older_end(known, producer, is_commit=is_commit)
            if verdict is None:
                value = self._prepare(transactional_id, known, outcome, is_commit=is_commit, version=0)
                verdict = TransactionReply(ErrorCode.NONE, value.producer_id, value.epoch)
            outcome.answer(token, verdict)
        else:
            verdict = _verdict_on_newer_end(known, producer, is_commit=is_commit)
            if verdict is None:
                next_id = new_producer_id() if known.epoch >= LAST_EPOCH else NO_ID
                value = self._prepare(
                    transactional_id, known, outcome, is_commit=is_commit, version=version, next_id=next_id
                )
                verdict = TransactionReply(ErrorCode.NONE, *_identity_after(value))
            outcome.answer(token, verdict)
        return outcome

    def complete(self, ending: Ending, now: Moment) -> Outcome:
        """Take note that the markers are in all partitions, and safe."""
        outcome = Outcome(now)
        known = self.transactions.get(ending.transactional_id)
        if known is None or not known.status.is_ending:
            return outcome
        if (known.producer_id, known.epoch) != (ending.producer_id, ending.epoch):
            return outcome
        producer_id, epoch = _identity_after(known)
        value = known._replace(
            producer_id=producer_id,
            epoch=epoch,
            status=Status.COMPLETE_COMMIT if ending.is_commit else Status.COMPLETE_ABORT,
            partitions=frozenset(),
            updated_ms=now.wall_ms,
            previous_producer_id=known.producer_id,
            next_producer_id=NO_ID,
        )
        outcome.records.append(TransactionRecord(ending.transactional_id, value))
        return outcome

    def _fence(self, transactional_id: str, known: Transaction, outcome: Outcome) -> None:
        """Abort a transaction in the epoch above its producer's."""
        self._prepare(transactional_id, known, outcome, is_commit=False, version=NEWEST_VERSION)

    def _prepare(
        self,
        transactional_id: str,
        known: Transaction,
        outcome: Outcome,
        *,
        is_commit: bool,
        version: int,
        next_id: int = NO_ID,
    ) -> Transaction:
        now_ms = outcome.now.wall_ms
        raises = version >= NEWEST_VERSION
        value = known._replace(
            epoch=min(known.epoch + 1, EPOCH_MAX) if raises else known.epoch,
            previous_epoch=known.epoch if raises else known.previous_epoch,
            status=Status.PREPARE_COMMIT if is_commit else Status.PREPARE_ABORT,
            # One that never began may be aborted, and ends in the moment in which it began.
            start_ms=known.start_ms if known.status is Status.ONGOING else now_ms,
            updated_ms=now_ms,
            client_version=version,
            previous_producer_id=known.producer_id,
            next_producer_id=next_id,
        )
        outcome.records.append(TransactionRecord(transactional_id, value))
        outcome.endings.append(_ending(transactional_id, value))
        return value

    # Time

    next_deadline_ms = NEVER
    """Who has timed out or expired is looked for at intervals, as in Kafka."""

    def pass_time(self, _now: Moment) -> Iterator[Outcome]:
        """Nothing is due at a moment of its own."""
        yield from ()

    @property
    def ongoing(self) -> Collection[str]:
        """The ids that have an open transaction."""
        return self._ongoing

    def time_out(self, transactional_id: str, now: Moment) -> Outcome:
        """Abort a transaction that has been open for too long, and fence its producer."""
        outcome = Outcome(now)
        known = self.transactions.get(transactional_id)
        if known is None or known.status is not Status.ONGOING:
            return outcome
        if now.wall_ms > known.start_ms + known.timeout_ms:
            self._fence(transactional_id, known, outcome)
        return outcome

    def expire(self, transactional_id: str, now: Moment) -> Outcome:
        """Forget a transactional id that nobody has used for long."""
        outcome = Outcome(now)
        known = self.transactions.get(transactional_id)
        if known is None or known.status in _UNFINISHED:
            return outcome
        if now.wall_ms - known.updated_ms >= self.settings.transactional_id_expiration_ms:
            outcome.records.append(TransactionRecord(transactional_id, None))
        return outcome

    # Questions

    def describe(self, transactional_id: str) -> messages.DescribeTransactionsResponseTransactionState | None:
        """Tell all about a transactional id; None if it is not known."""
        known = self.transactions.get(transactional_id)
        if known is None:
            return None
        by_topic: dict[str, list[int]] = {}
        for topic, partition in sorted(known.partitions):
            by_topic.setdefault(topic, []).append(partition)
        return messages.DescribeTransactionsResponseTransactionState(
            transactional_id=transactional_id,
            transaction_state=known.status.text,
            transaction_timeout_ms=known.timeout_ms,
            transaction_start_time_ms=known.start_ms,
            producer_id=known.producer_id,
            producer_epoch=known.epoch,
            topics=[
                messages.DescribeTransactionsResponseTopicData(topic=topic, partitions=indexes)
                for topic, indexes in by_topic.items()
            ],
        )

    def list_transactions(
        self,
        states: Collection[str],
        producer_ids: Collection[int],
        longer_than_ms: int,
        expression: Expression | None,
        now: Moment,
    ) -> list[messages.ListTransactionsResponseTransactionState]:
        """List the transactional ids that pass all filters; one that is empty, -1 or None lets all pass."""
        return [
            messages.ListTransactionsResponseTransactionState(
                transactional_id=transactional_id,
                producer_id=known.producer_id,
                transaction_state=known.status.text,
            )
            for transactional_id, known in self.transactions.items()
            if (not states or known.status.text in states)
            and (not producer_ids or known.producer_id in producer_ids)
            and (longer_than_ms < 0 or now.wall_ms - known.start_ms > longer_than_ms)
            and (expression is None or expression.matches(transactional_id))
        ]

    # The log

    def replay(self, record: TransactionRecord, _place: int, _producer_id: int = NO_PRODUCER) -> None:
        """Take in a record. The only way in which anything here changes."""
        transactional_id, value = record
        if value is None:
            self.transactions.pop(transactional_id, None)
        else:
            self.transactions[transactional_id] = value
        if value is not None and value.status is Status.ONGOING:
            self._ongoing.add(transactional_id)
        else:
            self._ongoing.discard(transactional_id)

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Nothing in this topic is part of a transaction."""

    def loaded(self, now: Moment) -> Iterator[Outcome]:
        """Begin to serve what was replayed: transactions whose end had begun are ended."""
        outcome = Outcome(now)
        outcome.endings += [
            _ending(transactional_id, known)
            for transactional_id, known in self.transactions.items()
            if known.status.is_ending
        ]
        yield outcome

    def refused(self, refused: Outcome) -> Outcome:
        """Go on after the log refused an outcome's records: nothing has changed."""
        return Outcome(refused.now)

    def unload(self, _error_code: ErrorCode, now: Moment) -> Outcome:
        """Stop serving; nobody waits here."""
        return Outcome(now)


def _may_go_on(known: Transaction, expected: ProducerIdentity) -> bool:
    """Say whether a producer that names this identity can be the one that has the id.

    Or was, in its last epoch: then it may have missed that it was given another producer id.
    """
    return expected.producer_id == known.producer_id or (
        expected.producer_id == known.previous_producer_id and expected.epoch >= LAST_EPOCH
    )


def _next_identity(
    known: Transaction,
    base: Transaction,
    expected: ProducerIdentity | None,
    new_producer_id: Callable[[], int],
) -> Transaction | None:
    """Give the next identity for a producer; None if it is fenced.

    - the one that has the present epoch, or a new one that names none: the next epoch
    - one that missed the answer which gave it the present epoch: that again
    - when the epochs are used up: another producer id
    """
    was_fenced_last = known.epoch == EPOCH_MAX and expected is not None and expected.epoch == LAST_EPOCH
    if known.epoch >= LAST_EPOCH and (expected is None or expected.epoch == known.epoch or was_fenced_last):
        previous_epoch = NO_EPOCH if expected is None else expected.epoch
        return base._replace(producer_id=new_producer_id(), epoch=0, previous_epoch=previous_epoch)
    if expected is None:
        return base._replace(epoch=known.epoch + 1, previous_epoch=NO_EPOCH)
    if expected.epoch == known.epoch:
        return base._replace(epoch=known.epoch + 1, previous_epoch=known.epoch)
    if expected.epoch == known.previous_epoch:
        return base._replace(
            previous_producer_id=known.previous_producer_id, previous_epoch=known.previous_epoch
        )
    return None


def _objection(known: Transaction | None, producer: ProducerIdentity) -> ErrorCode:
    """Say why a producer may not write in the transaction of this id now."""
    if known is None or known.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.epoch != producer.epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.CONCURRENT_TRANSACTIONS if known.status.is_ending else ErrorCode.NONE


def _verdict_on_older_end(
    known: Transaction, producer: ProducerIdentity, *, is_commit: bool
) -> TransactionReply | None:
    """Say what to answer to an end that does not raise the epoch; None: end the transaction."""
    if known.producer_id != producer.producer_id:
        return TransactionReply(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if known.epoch != producer.epoch:
        return TransactionReply(ErrorCode.PRODUCER_FENCED)
    if known.status is Status.ONGOING:
        return None
    return _verdict_on_repeated_end(known, is_commit=is_commit)


def _verdict_on_newer_end(
    known: Transaction, producer: ProducerIdentity, *, is_commit: bool
) -> TransactionReply | None:
    """Say what to answer to an end that raises the epoch; None: end the transaction, or an empty one.

    The epoch tells a retry from the end of the next transaction: who retries is one epoch behind.
    """
    is_behind = (
        known.producer_id == producer.producer_id
        and known.epoch == producer.epoch + 1
        # The highest epoch is nobody's. Without another id to go on with, the producer was fenced.
        and (known.epoch < EPOCH_MAX or known.next_producer_id != NO_ID)
    )
    has_missed_new_id = (
        known.previous_producer_id == producer.producer_id
        and producer.epoch == LAST_EPOCH
        and known.epoch == 0
        and known.producer_id != producer.producer_id
    )
    if known.producer_id != producer.producer_id and not has_missed_new_id:
        return TransactionReply(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if known.status in (Status.EMPTY, Status.ONGOING):
        is_current, is_retry = known.epoch == producer.epoch, False
    elif known.status.is_ending:
        is_current, is_retry = False, is_behind
    else:
        is_current, is_retry = known.epoch == producer.epoch, is_behind or has_missed_new_id
    if is_retry:
        return _verdict_on_repeated_end(known, is_commit=is_commit)
    if not is_current:
        return TransactionReply(ErrorCode.PRODUCER_FENCED)
    if known.status is Status.ONGOING or not is_commit:
        return None
    return TransactionReply(ErrorCode.INVALID_TXN_STATE)


def _verdict_on_repeated_end(known: Transaction, *, is_commit: bool) -> TransactionReply:
    """Answer an end of a transaction whose outcome is decided already."""
    if known.status is (Status.COMPLETE_COMMIT if is_commit else Status.COMPLETE_ABORT):
        return TransactionReply(ErrorCode.NONE, known.producer_id, known.epoch)
    if known.status is (Status.PREPARE_COMMIT if is_commit else Status.PREPARE_ABORT):
        return TransactionReply(ErrorCode.CONCURRENT_TRANSACTIONS)
    return TransactionReply(ErrorCode.INVALID_TXN_STATE)


def _identity_after(value: Transaction) -> tuple[int, int]:
    """Give who the producer is once an ending transaction is complete."""
    if value.next_producer_id != NO_ID:
        return value.next_producer_id, 0
    return value.producer_id, value.epoch


def _ending(transactional_id: str, value: Transaction) -> Ending:
    return Ending(
        transactional_id,
        value.producer_id,
        value.epoch,
        value.status is Status.PREPARE_COMMIT,
        value.partitions,
        value.client_version,
    )
