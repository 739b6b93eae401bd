"""The transaction coordinator: what can be asked about transactional ids, and how transactions are ended.

    PREPARE record safe ─▶ markers into all partitions ─▶ markers safe ─▶ COMPLETE record
            │
            └─▶ the producer is answered

The shell around the machines is `riverlog.shards`. What is different here is the end of a transaction: it
goes on after the answer, and after a restart it begins again from the PREPARE record. A marker that is
written twice does no harm.

- A partition that is gone gets no marker; one that was created again under its name gets it in the new log.
- A partition whose disk fails gets it when it can be written again; until then the id is in PREPARE.
- A partition that has moved on to a later epoch of the producer needs no marker of this one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from riverlog.errors import RequestRefused, StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.expressions import compile_expression
from riverlog.shards import Answer, Shard, ShardHost
from riverlog.transactions.machine import TransactionMachine
from riverlog.transactions.outcome import Ending, Outcome, TransactionReply
from riverlog.transactions.records import TRANSACTIONS_TOPIC, Status

if TYPE_CHECKING:
    from riverlog import shards
    from riverlog.config import TransactionSettings
    from riverlog.log import GroupCommit, PartitionLog
    from riverlog.shards import ProducerIdentity
    from riverlog.types import TopicPartition

MARKER_RETRY_SECONDS = 0.5
"""How long until a marker that could not be written is tried again."""

END_WAIT_SECONDS = 1.0
"""How long a producer that begins its next transaction may wait for the end of the last one."""

WriteMarker: TypeAlias = "Callable[[Ending, TopicPartition, int], asyncio.Future[int]]"
"""Writes an ending's marker into a partition, in a coordinator's epoch; gives an error code once safe."""

TransactionShard: TypeAlias = Shard[TransactionMachine]

_STATUS_TEXTS = frozenset(status.text for status in Status)


class TransactionCoordinator(ShardHost[TransactionMachine]):
    """All transactional ids whose partition of the transaction topic is here."""

    topic = TRANSACTIONS_TOPIC

    def __init__(
        self,
        settings: TransactionSettings,
        loop: asyncio.AbstractEventLoop,
        *,
        logs: Callable[[], Sequence[PartitionLog | None]],
        create_topic: Callable[[], int],
        commit: GroupCommit,
        on_appended: Callable[[PartitionLog], None],
        wall_ms: Callable[[], int],
        new_producer_id: Callable[[], int],
        write_marker: WriteMarker,
    ) -> None:
        """Take what it needs from the broker: settings, what any host needs, ids, and a way to partitions.

        `new_producer_id` may raise StorageError.
        """
        super().__init__(
            loop,
            logs=logs,
            create_topic=create_topic,
            commit=commit,
            on_appended=on_appended,
            wall_ms=wall_ms,
        )
        self._settings = settings
        self._new_producer_id = new_producer_id
        self._write_marker = write_marker
        self._waiting_for_end: dict[str, asyncio.Future[None]] = {}
        self._next_time_out_ms = 0
        self._next_expiry_ms = 0

    # Life

    def start(self) -> None:
        """Serve what is on disk, and end the transactions whose end had begun."""
        self._set_next_time_out()
        self._set_next_expiry()
        super().start()

    def change_settings(self, settings: TransactionSettings) -> None:
        """Decide by other settings from now on."""
        self._settings = settings
        for shard in self._shards.values():
            shard.machine.settings = settings

    def topics_deleted(self, topics: Iterable[str]) -> None:
        """Serve no more if the transaction topic is gone."""
        if TRANSACTIONS_TOPIC in topics:
            self._close_shards()

    def housekeeping(self) -> Iterator[None]:
        """Abort transactions that have timed out and forget ids, if it is time to look, in short steps."""
        if not self._is_running:
            return
        if self._now().steady_ms >= self._next_time_out_ms:
            self._set_next_time_out()
            yield from self._look_through(lambda machine: machine.ongoing, lambda machine: machine.time_out)
        if self._now().steady_ms >= self._next_expiry_ms:
            self._set_next_expiry()
            yield from self._look_through(
                lambda machine: machine.transactions, lambda machine: machine.expire
            )

    def _look_through(
        self,
        ids: Callable[[TransactionMachine], Collection[str]],
        decide: Callable[[TransactionMachine], Callable[[str, shards.Moment], Outcome]],
    ) -> Iterator[None]:
        for shard in self._loaded_shards():
            for transactional_id in list(ids(shard.machine)):
                if self._is_serving(shard):
                    self._carry_out(shard, decide(shard.machine)(transactional_id, self._now()))
                yield

    def _set_next_time_out(self) -> None:
        interval = self._settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
        self._next_time_out_ms = self._now().steady_ms + interval

    def _set_next_expiry(self) -> None:
        interval = self._settings.transaction_remove_expired_transaction_cleanup_interval_ms
        self._next_expiry_ms = self._now().steady_ms + interval

    # Requests

    def init_producer(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdentity | None
    ) -> asyncio.Future[TransactionReply]:
        """Give a producer its identity, and fence whoever had the id before."""
        shard = self._shard_of(transactional_id)
        if not isinstance(shard, Shard):
            return self._answered(TransactionReply(shard))
        future: asyncio.Future[TransactionReply] = self._loop.create_future()
        try:
            outcome = shard.machine.init_producer(
                transactional_id, timeout_ms, expected, self._new_producer_id, future, self._now()
            )
        except StorageError:
            return self._without_producer_id()
        self._carry_out(shard, outcome)
        return future

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        version: int,
    ) -> asyncio.Future[TransactionReply]:
        """Make partitions part of the producer's transaction, the first of which begins it."""
        shard = self._shard_of(transactional_id)
        if not isinstance(shard, Shard):
            return self._answered(TransactionReply(shard))
        future: asyncio.Future[TransactionReply] = self._loop.create_future()
        self._carry_out(
            shard,
            shard.machine.add_partitions(
                transactional_id, producer, partitions, version, future, self._now()
            ),
        )
        return future

    async def add_partitions_after_end(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        version: int,
        first: asyncio.Future[TransactionReply] | None = None,
    ) -> TransactionReply:
        """Do the same, and wait a while if the last transaction is still being ended.

        `first` is the reply to the first attempt, if that was made already.
        """
        if first is None:
            first = self.add_partitions(transactional_id, producer, partitions, version)
        reply = await first
        if reply.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
            return reply
        await self._end_of_last(transactional_id)
        return await self.add_partitions(transactional_id, producer, partitions, version)

    def verify(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Collection[TopicPartition]
    ) -> asyncio.Future[dict[TopicPartition, ErrorCode]]:
        """Say for each partition whether it is part of the producer's open transaction."""
        shard = self._shard_of(transactional_id)
        if not isinstance(shard, Shard):
            return self._answered(dict.fromkeys(partitions, shard))
        future: asyncio.Future[dict[TopicPartition, ErrorCode]] = self._loop.create_future()
        verdicts = shard.machine.verify(transactional_id, producer, partitions)
        self._answer_when_safe(shard, [Answer(future, verdicts)])
        return future

    def verify_at_once(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Say the same as things stand, be it safe or not: for whoever has waited for `verify`."""
        shard = self._shard_of(transactional_id)
        if not isinstance(shard, Shard):
            return dict.fromkeys(partitions, shard)
        return shard.machine.verify(transactional_id, producer, partitions)

    def end(
        self, transactional_id: str, producer: ProducerIdentity, *, is_commit: bool, version: int
    ) -> asyncio.Future[TransactionReply]:
        """Commit or abort a transaction; answered once that is decided."""
        shard = self._shard_of(transactional_id)
        if not isinstance(shard, Shard):
            return self._answered(TransactionReply(shard))
        future: asyncio.Future[TransactionReply] = self._loop.create_future()
        try:
            outcome = shard.machine.end(
                transactional_id,
                producer,
                is_commit=is_commit,
                version=version,
                new_producer_id=self._new_producer_id,
                token=future,
                now=self._now(),
            )
        except StorageError:
            return self._without_producer_id()
        self._carry_out(shard, outcome)
        return future

    def describe(
        self, transactional_id: str
    ) -> asyncio.Future[messages.DescribeTransactionsResponseTransactionState]:
        """Tell all about a transactional id."""
        shard = self._shard_of(transactional_id)
        told: messages.DescribeTransactionsResponseTransactionState | None = None
        error_code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        if isinstance(shard, Shard):
            told = shard.machine.describe(transactional_id)
        else:
            error_code = shard
        if told is None or not isinstance(shard, Shard):
            return self._answered(
                messages.DescribeTransactionsResponseTransactionState(
                    error_code=error_code, transactional_id=transactional_id
                )
            )
        future: asyncio.Future[messages.DescribeTransactionsResponseTransactionState] = (
            self._loop.create_future()
        )
        self._answer_when_safe(shard, [Answer(future, told)])
        return future

    def list_transactions(
        self, request: messages.ListTransactionsRequest
    ) -> messages.ListTransactionsResponse:
        """List the transactional ids that pass the request's filters."""
        if not self._is_running:
            return messages.ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if self._loading:
            return messages.ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        pattern = request.transactional_id_pattern
        try:
            expression = compile_expression(pattern) if pattern else None
        except RequestRefused as refused:
            return messages.ListTransactionsResponse(error_code=refused.error_code)
        states = set(request.state_filters)
        now = self._now()
        return messages.ListTransactionsResponse(
            unknown_state_filters=sorted(states - _STATUS_TEXTS),
            transaction_states=[
                told
                for shard in self._shards.values()
                for told in shard.machine.list_transactions(
                    states, set(request.producer_id_filters), request.duration_filter, expression, now
                )
            ],
        )

    # Ending transactions

    def _carry_out(self, shard: TransactionShard, outcome: shards.Outcome) -> bool:
        is_taken = super()._carry_out(shard, outcome)
        if is_taken and isinstance(outcome, Outcome):
            for ending in outcome.endings:
                self._end_when_safe(shard, ending)
        return is_taken

    def _end_when_safe(self, shard: TransactionShard, ending: Ending) -> None:
        if shard.is_safe:
            self._write_markers(shard, ending, ending.partitions)
            return

        def on_committed(error: StorageError | None) -> None:
            if error is None:
                self._write_markers(shard, ending, ending.partitions)
            else:
                self._fail(shard, error)

        self._commit.wait_for(shard.log, shard.log.log_end_offset, on_committed)

    def _write_markers(
        self, shard: TransactionShard, ending: Ending, partitions: Collection[TopicPartition]
    ) -> None:
        """Write the marker into these partitions; all are appended before any is waited for."""
        if not self._is_serving(shard):
            return  # whoever loads the shard next ends the transaction
        coordinator_epoch = shard.log.leader_epoch
        written = {each: self._write_marker(ending, each, coordinator_epoch) for each in partitions}
        waiting = sum(not each.done() for each in written.values())

        def on_written(_: asyncio.Future[int]) -> None:
            nonlocal waiting
            waiting -= 1
            if not waiting:
                self._markers_written(shard, ending, written)

        if not waiting:
            self._markers_written(shard, ending, written)
            return
        for each in written.values():
            if not each.done():
                each.add_done_callback(on_written)

    def _markers_written(
        self, shard: TransactionShard, ending: Ending, written: dict[TopicPartition, asyncio.Future[int]]
    ) -> None:
        """Complete the transaction, or write what could not be written again, after a pause."""
        if not self._is_serving(shard):
            return
        missing = [
            each for each, result in written.items() if self._is_missing(ending, each, result.result())
        ]
        if missing:
            again = partial(self._write_markers, shard, ending, missing)
            self._loop.call_later(MARKER_RETRY_SECONDS, again)
            return
        self._carry_out(shard, shard.machine.complete(ending, self._now()))
        waiting = self._waiting_for_end.pop(ending.transactional_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def _is_missing(self, ending: Ending, partition: TopicPartition, error_code: int) -> bool:
        """Say whether the marker is still to be written, by what the partition answered."""
        if error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            return False
        self._logger.error(
            "the end of transaction %r cannot be written to %s: %s",
            ending.transactional_id,
            partition,
            ErrorCode(error_code).name,
        )
        return error_code != ErrorCode.INVALID_PRODUCER_EPOCH

    async def _end_of_last(self, transactional_id: str) -> None:
        """Wait until the transaction that is being ended is complete, at most for a while."""
        shard = self._shard_of(transactional_id)
        if not isinstance(shard, Shard):
            return
        known = shard.machine.transactions.get(transactional_id)
        if known is None or not known.status.is_ending:
            return
        waiting = self._waiting_for_end.get(transactional_id)
        if waiting is None:
            waiting = self._waiting_for_end[transactional_id] = self._loop.create_future()
        await asyncio.wait([waiting], timeout=END_WAIT_SECONDS)

    # The host's questions

    def _new_machine(self) -> TransactionMachine:
        return TransactionMachine(self._settings)

    @property
    def _load_bytes(self) -> int:
        return self._settings.transaction_state_log_load_buffer_size

    def _as_refused(self, message: Any, log_error: int) -> Any:
        code = _for_producers(log_error)
        if isinstance(message, TransactionReply):
            return TransactionReply(message.error_code or code)
        if isinstance(message, dict):
            return {partition: error_code or code for partition, error_code in message.items()}
        return type(message)(error_code=code, transactional_id=message.transactional_id)

    def _without_producer_id(self) -> asyncio.Future[TransactionReply]:
        self._logger.exception("cannot reserve producer ids")
        return self._answered(TransactionReply(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def _for_producers(log_error: int) -> ErrorCode:
    """Turn an error of the log into one that makes producers look for the coordinator again."""
    if log_error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR):
        return ErrorCode.NOT_COORDINATOR
    if log_error in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
    ):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.UNKNOWN_SERVER_ERROR
