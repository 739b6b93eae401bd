"""The shell of a coordinator: carries out what the machines of its shards decide.

    request ─▶ shard of an id ─▶ machine: Outcome ─▶ append, replay ─▶ answers, once all that was
                                                                       appended there is committed
A future stands for each request. Its answer may come with the outcome of its own request, of another
one, or of time passing. One timer serves all machines.

One rule for answers: an answer leaves when everything that its shard has appended is safe, so none ever
tells of something that a crash could take back.

Belongs to one event loop. It knows partitions, not brokers: what it needs from the cluster is handed to it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from riverlog.errors import StorageError
from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards.loading import load
from riverlog.shards.machine import Machine
from riverlog.shards.moment import NEVER, Moment
from riverlog.shards.outcome import Answer, Outcome
from riverlog.shards.partitioning import partition_of
from riverlog.shards.shard import Shard

if TYPE_CHECKING:
    from riverlog.log import GroupCommit, PartitionLog

Reply = TypeVar("Reply")
M = TypeVar("M", bound=Machine)

LOADING_SLICE_SECONDS = 0.005
"""For how long loading may keep the event loop from everything else."""


class ShardHost(Generic[M]):
    """All partitions of one coordinator's topic that are here. A coordinator adds what can be asked of it."""

    topic: str
    """Where the state is kept."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        logs: Callable[[], Sequence[PartitionLog | None]],
        create_topic: Callable[[], int],
        commit: GroupCommit,
        on_appended: Callable[[PartitionLog], None],
        wall_ms: Callable[[], int],
    ) -> None:
        """Take what it needs from the broker.

        `logs` gives the partitions of the topic, none if there is no such topic; `create_topic` creates
        it, so that its logs are there afterwards, or gives the error code of the refusal.
        """
        self._loop = loop
        self._logs = logs
        self._create_topic = create_topic
        self._commit = commit
        self._on_appended = on_appended
        self._wall_ms = wall_ms
        self._logger = logging.getLogger(f"riverlog.{type(self).__module__.split('.')[1]}")
        self._shards: dict[int, Shard[M]] = {}
        self._partition_count = 0
        self._loading: deque[tuple[Shard[M], Iterator[None]]] = deque()
        self._load_step: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = NEVER
        self._is_running = False

    # What a coordinator says

    def _new_machine(self) -> M:
        raise NotImplementedError

    @property
    def _load_bytes(self) -> int:
        """How much is read at a time when a shard is loaded."""
        raise NotImplementedError

    @property
    def _codec(self) -> Compression:
        return Compression.NONE

    def _as_refused(self, message: Any, log_error: int) -> Any:
        """Turn an answer into the error that it becomes because the log did not take its records."""
        raise NotImplementedError

    # Life

    def start(self) -> None:
        """Serve what is on disk. Large partitions are loaded while requests come in; until then they wait."""
        self._is_running = True
        self._open_shards()

    def stop(self) -> None:
        """Serve no more: whoever waits for others is told to look for another coordinator."""
        self._is_running = False
        self._close_shards()

    def prepare(self) -> int:
        """See to it that the topic exists; gives why not, or NONE."""
        if not self._is_running:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not self._partition_count:
            self._open_shards()  # somebody else may have created it
        if not self._partition_count:
            error_code = self._create_topic()
            if error_code:
                self._logger.error("%s cannot be created: error %d", self.topic, error_code)
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
            self._open_shards()
        return ErrorCode.NONE

    # Shards

    def _shard_of(self, subject_id: str) -> Shard[M] | ErrorCode:
        """Find the shard that serves an id; or say why it cannot be served now."""
        if not self._partition_count or not self._is_running:
            error_code = self.prepare()
            if error_code:
                return ErrorCode(error_code)
        shard = self._shards.get(partition_of(subject_id, self._partition_count))
        if shard is None:
            return ErrorCode.NOT_COORDINATOR
        return shard if shard.is_loaded else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def _is_serving(self, shard: Shard[M]) -> bool:
        return self._shards.get(shard.log.topic_partition.partition) is shard

    def _loaded_shards(self) -> list[Shard[M]]:
        return [shard for shard in self._shards.values() if shard.is_loaded]

    def _open_shards(self) -> None:
        logs = self._logs()
        self._partition_count = len(logs)
        for index, log in enumerate(logs):
            if log is not None and index not in self._shards:
                shard = self._shards[index] = Shard(log, self._new_machine())
                if not shard.is_loaded:
                    self._loading.append((shard, load(log, shard.machine, self._load_bytes)))
        if self._load_step is None:
            self._load_slice()

    def _close_shards(self) -> None:
        """Serve none of them any more."""
        for shard in list(self._shards.values()):
            self._close(shard)
        self._partition_count = 0
        for handle in (self._load_step, self._timer):
            if handle is not None:
                handle.cancel()
        self._load_step = self._timer = None
        self._timer_ms = NEVER

    def _close(self, shard: Shard[M]) -> None:
        if self._is_serving(shard):
            del self._shards[shard.log.topic_partition.partition]
            self._loading = deque(each for each in self._loading if each[0] is not shard)
            self._give(shard.machine.unload(ErrorCode.NOT_COORDINATOR, self._now()).answers)

    # Loading

    def _load_slice(self) -> None:
        """Load for a short while, and go on in a later turn of the loop if that is not enough."""
        self._load_step = None
        slice_ends = time.perf_counter() + LOADING_SLICE_SECONDS
        while self._loading:
            shard, steps = self._loading[0]
            try:
                for _ in steps:
                    if time.perf_counter() > slice_ends:
                        self._load_step = self._loop.call_soon(self._load_slice)
                        return
            except StorageError as error:
                self._fail(shard, error)
            except Exception:
                # The edge of one shard's loading: the other shards have nothing to do with it.
                self._logger.exception("%s cannot be loaded", shard)
                self._close(shard)
            else:
                self._loading.popleft()
                self._begin_to_serve(shard)

    def _begin_to_serve(self, shard: Shard[M]) -> None:
        shard.is_loaded = True
        for outcome in shard.machine.loaded(self._now()):
            self._carry_out(shard, outcome)

    # Carrying out

    def _carry_out(self, shard: Shard[M], outcome: Outcome) -> bool:
        """Append and replay what was decided, and see to its answers; say whether the log took it."""
        answers = outcome.answers
        is_taken = True
        if outcome.records:
            error_code = shard.append(outcome.records, outcome.now.wall_ms, self._codec, outcome.producer)
            if error_code:
                is_taken = False
                self._logger.error(
                    "%s does not take %d records: %s", shard, len(outcome.records), error_code.name
                )
                answers = [Answer(token, self._as_refused(message, error_code)) for token, message in answers]
                self._carry_out(shard, shard.machine.refused(outcome))
            else:
                self._on_appended(shard.log)
        self._answer_when_safe(shard, answers)
        self._watch(shard)
        return is_taken

    def _answer_when_safe(self, shard: Shard[M], answers: list[Answer]) -> None:
        """Give answers once all that was appended to the shard is committed, or turn them into errors."""
        if not answers:
            return
        if shard.is_safe:
            self._give(answers)
            return

        def on_committed(error: StorageError | None) -> None:
            if error is None:
                self._give(answers)
                return
            self._give(
                [
                    Answer(token, self._as_refused(message, ErrorCode.KAFKA_STORAGE_ERROR))
                    for token, message in answers
                ]
            )
            self._fail(shard, error)

        self._commit.wait_for(shard.log, shard.log.log_end_offset, on_committed)

    def _give(self, answers: Iterable[Answer]) -> None:
        for token, message in answers:
            assert isinstance(token, asyncio.Future)
            if not token.done():  # else whoever asked has gone
                token.set_result(message)

    def _answered(self, message: Reply) -> asyncio.Future[Reply]:
        future: asyncio.Future[Any] = self._loop.create_future()
        future.set_result(message)
        return future

    def _fail(self, shard: Shard[M], error: StorageError) -> None:
        """What the machine took for stored is not: it cannot decide anything any more."""
        if self._is_running:
            self._logger.error("%s cannot be served any more: %s", shard, error)
        self._close(shard)

    # Time

    def _now(self) -> Moment:
        return Moment(self._wall_ms(), int(self._loop.time() * 1000))

    def _watch(self, shard: Shard[M]) -> None:
        """Have the timer ring in time for this shard."""
        due_ms = shard.machine.next_deadline_ms
        if due_ms < self._timer_ms and self._is_running:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_ms = due_ms
            self._timer = self._loop.call_at(due_ms / 1000, self._ring)

    def _ring(self) -> None:
        self._timer, self._timer_ms = None, NEVER
        for shard in self._loaded_shards():
            try:
                for outcome in shard.machine.pass_time(self._now()):
                    self._carry_out(shard, outcome)
            except Exception:
                # The edge of what time brings to one shard: the others' deadlines count all the same.
                self._logger.exception("%s failed as time passed", shard)
            self._watch(shard)
