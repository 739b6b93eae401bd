"""The group coordinator: carries out what the machines decide.

    request ─▶ shard of the group ─▶ machine: Outcome ─▶ append, replay ─▶ answers, once all that was
                                                                           appended there is committed
A future stands for each request. Its answer may come with the outcome of its own request, of another
one, or of time passing. One timer serves all machines.

One rule for answers, without exceptions but one: an answer leaves when everything that its shard has appended
is safe, so none ever tells of something that a crash could take back. Heartbeats promise nothing and do not
wait.

Belongs to one event loop. It knows partitions, not brokers: what it needs from the cluster is handed to it.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from riverlog.errors import StorageError
from riverlog.groups import replies
from riverlog.groups.deadlines import NEVER
from riverlog.groups.loading import load
from riverlog.groups.machine import GroupMachine
from riverlog.groups.membership import Caller
from riverlog.groups.moment import Moment
from riverlog.groups.outcome import Answer, Outcome
from riverlog.groups.partitioning import OFFSETS_TOPIC, partition_of
from riverlog.groups.shard import Shard
from riverlog.protocol import messages
from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.config import GroupSettings
    from riverlog.groups.commits import Commit, WantedTopic
    from riverlog.groups.member import Client
    from riverlog.log import GroupCommit, PartitionLog

Reply = TypeVar("Reply")

LOADING_SLICE_SECONDS = 0.005
"""For how long loading may keep the event loop from everything else."""

logger = logging.getLogger("riverlog.groups")


class GroupCoordinator:
    """All groups whose partition of the offsets topic is here."""

    def __init__(
        self,
        settings: GroupSettings,
        loop: asyncio.AbstractEventLoop,
        *,
        logs: Callable[[], Sequence[PartitionLog | None]],
        create_topic: Callable[[], int],
        commit: GroupCommit,
        on_appended: Callable[[PartitionLog], None],
        wall_ms: Callable[[], int],
    ) -> None:
        """Take what it needs from the broker.

        `logs` gives the partitions of the offsets topic, none if there is no such topic; `create_topic`
        creates it, so that its logs are there afterwards, or gives the error code of the refusal.
        """
        self._settings = settings
        self._loop = loop
        self._logs = logs
        self._create_topic = create_topic
        self._commit = commit
        self._on_appended = on_appended
        self._wall_ms = wall_ms
        self._shards: dict[int, Shard] = {}
        self._partition_count = 0
        self._loading: deque[tuple[Shard, Iterator[None]]] = deque()
        self._load_step: asyncio.Handle | None = None
        self._deleted_while_loading: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = NEVER
        self._next_expiry_ms = 0
        self._is_running = False

    # Life

    def start(self) -> None:
        """Serve what is on disk. Large partitions are loaded while requests come in; until then they wait."""
        self._is_running = True
        self._next_expiry_ms = self._now().steady_ms + self._settings.offsets_retention_check_interval_ms
        self._open_shards()

    def stop(self) -> None:
        """Serve no more: whoever waits for others is told to look for another coordinator."""
        self._is_running = False
        self._close_shards()

    def change_settings(self, settings: GroupSettings) -> None:
        """Decide by other settings from now on."""
        self._settings = settings
        for shard in self._shards.values():
            shard.machine.change_settings(settings)

    def prepare(self) -> int:
        """See to it that the offsets topic exists; gives why not, or NONE."""
        if not self._is_running:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not self._partition_count:
            self._open_shards()  # somebody else may have created it
        if not self._partition_count:
            error_code = self._create_topic()
            if error_code:
                logger.error("%s cannot be created: error %d", OFFSETS_TOPIC, error_code)
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
            self._open_shards()
        return ErrorCode.NONE

    def topics_deleted(self, topics: Iterable[str]) -> None:
        """Forget what was committed for topics that are gone."""
        topics = list(topics)
        if OFFSETS_TOPIC in topics:
            self._close_shards()
        if self._loading:
            self._deleted_while_loading.update(topics)
        for shard in self._loaded_shards():
            outcome = shard.machine.commits.forget_topics(topics, self._now())
            self._carry_out(shard, outcome)

    def housekeeping(self) -> Iterator[None]:
        """Forget what was committed too long ago, if it is time to look, in short steps."""
        if self._now().steady_ms < self._next_expiry_ms or not self._is_running:
            return
        self._next_expiry_ms = self._now().steady_ms + self._settings.offsets_retention_check_interval_ms
        for shard in self._loaded_shards():
            for group_id in list(shard.machine.groups):
                if self._shards.get(shard.log.topic_partition.partition) is shard:
                    self._carry_out(shard, shard.machine.expire_offsets(group_id, self._now()))
                yield

    # Requests

    def join(
        self, request: messages.JoinGroupRequest, version: int, client: Client
    ) -> asyncio.Future[messages.JoinGroupResponse]:
        """Let somebody into a group; answered when all others have joined as well."""
        shard = self._shard_of(request.group_id)
        if not isinstance(shard, Shard):
            return self._answered(replies.not_joined(shard, request.member_id))
        future: asyncio.Future[messages.JoinGroupResponse] = self._loop.create_future()
        caller = Caller(version, client, future, str(uuid.uuid4()))
        self._carry_out(shard, shard.machine.membership.join(request, caller, self._now()))
        return future

    def sync(self, request: messages.SyncGroupRequest) -> asyncio.Future[messages.SyncGroupResponse]:
        """Give a member its assignment; answered when the leader has made it."""
        shard = self._shard_of(request.group_id)
        if not isinstance(shard, Shard):
            return self._answered(replies.not_synced(shard))
        future: asyncio.Future[messages.SyncGroupResponse] = self._loop.create_future()
        self._carry_out(shard, shard.machine.membership.sync(request, future, self._now()))
        return future

    def heartbeat(self, group_id: str, generation: int, member_id: str, instance_id: str | None) -> int:
        """Take a sign of life; gives the error code to answer with."""
        shard = self._shard_of(group_id)
        if not isinstance(shard, Shard):
            # As long as nothing is known of the group, a member is better off where it is.
            return ErrorCode.NONE if shard == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else shard
        steady_ms = int(self._loop.time() * 1000)
        return shard.machine.membership.heartbeat(group_id, generation, member_id, instance_id, steady_ms)

    def leave(self, request: messages.LeaveGroupRequest) -> asyncio.Future[messages.LeaveGroupResponse]:
        """Let members go."""
        shard = self._shard_of(request.group_id)
        if not isinstance(shard, Shard):
            return self._answered(messages.LeaveGroupResponse(error_code=shard))
        future: asyncio.Future[messages.LeaveGroupResponse] = self._loop.create_future()
        self._carry_out(shard, shard.machine.membership.leave(request, future, self._now()))
        return future

    def commit_offsets(self, commit: Commit) -> asyncio.Future[replies.CommitReply]:
        """Commit offsets of partitions that exist."""
        shard = self._shard_of(commit.group_id)
        if not isinstance(shard, Shard):
            return self._answered(replies.CommitReply([shard] * len(commit.offsets)))
        future: asyncio.Future[replies.CommitReply] = self._loop.create_future()
        self._carry_out(shard, shard.machine.commits.commit(commit, future, self._now()))
        return future

    def fetch_offsets(
        self, group_id: str, wanted: Sequence[WantedTopic] | None, *, require_stable: bool
    ) -> asyncio.Future[replies.OffsetFetchReply]:
        """Give what a group has committed for some partitions, or for all."""
        shard = self._shard_of(group_id)
        if not isinstance(shard, Shard):
            return self._answered(replies.OffsetFetchReply(shard, []))
        commits = shard.machine.commits
        if wanted is None:
            topics = commits.fetch_all(group_id, require_stable=require_stable)
        else:
            topics = commits.fetch(group_id, wanted, require_stable=require_stable)
        future: asyncio.Future[replies.OffsetFetchReply] = self._loop.create_future()
        self._answer_when_safe(shard, [Answer(future, replies.OffsetFetchReply(ErrorCode.NONE, topics))])
        return future

    def delete_offsets(
        self, group_id: str, partitions: Sequence[tuple[str, int]]
    ) -> asyncio.Future[replies.OffsetDeleteReply]:
        """Forget what a group has committed for partitions that nobody in it reads."""
        shard = self._shard_of(group_id)
        if not isinstance(shard, Shard):
            return self._answered(replies.OffsetDeleteReply(shard, []))
        future: asyncio.Future[replies.OffsetDeleteReply] = self._loop.create_future()
        self._carry_out(shard, shard.machine.commits.delete(group_id, partitions, future, self._now()))
        return future

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, int]:
        """Delete groups that are empty; gives an error code for each."""
        error_codes: dict[str, int] = {}
        by_shard: dict[Shard, list[str]] = {}
        for group_id in group_ids:
            shard = self._shard_of(group_id)
            if isinstance(shard, Shard):
                by_shard.setdefault(shard, []).append(group_id)
            else:
                error_codes[group_id] = shard
        waiting = []
        for shard, ids in by_shard.items():
            future: asyncio.Future[replies.DeleteGroupsReply] = self._loop.create_future()
            waiting.append(future)
            self._carry_out(shard, shard.machine.delete_groups(ids, future, self._now()))
        for reply in waiting:
            error_codes.update((await reply).error_codes)
        return error_codes

    def list_groups(self, states: Iterable[str], types: Iterable[str]) -> messages.ListGroupsResponse:
        """List the groups in these states and of these types; if none are named, in any."""
        if not self._is_running:
            return messages.ListGroupsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if self._loading:
            return messages.ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        states, types = set(states), set(types)
        groups = [
            group for shard in self._shards.values() for group in shard.machine.list_groups(states, types)
        ]
        return messages.ListGroupsResponse(groups=groups)

    def describe(self, group_id: str) -> messages.DescribeGroupsResponseDescribedGroup | int | None:
        """Tell all about a group; None if it is not there, or the error code why that cannot be said."""
        shard = self._shard_of(group_id)
        return shard.machine.describe(group_id) if isinstance(shard, Shard) else shard

    # Shards

    def _shard_of(self, group_id: str) -> Shard | ErrorCode:
        """Find the shard that serves a group; or say why the group cannot be served now."""
        if not self._partition_count or not self._is_running:
            error_code = self.prepare()
            if error_code:
                return ErrorCode(error_code)
        shard = self._shards.get(partition_of(group_id, self._partition_count))
        if shard is None:
            return ErrorCode.NOT_COORDINATOR
        return shard if shard.is_loaded else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def _loaded_shards(self) -> list[Shard]:
        return [shard for shard in self._shards.values() if shard.is_loaded]

    def _open_shards(self) -> None:
        logs = self._logs()
        self._partition_count = len(logs)
        for index, log in enumerate(logs):
            if log is not None and index not in self._shards:
                shard = self._shards[index] = Shard(log, GroupMachine(self._settings))
                if not shard.is_loaded:
                    steps = load(log, shard.machine, self._settings.offsets_load_buffer_size)
                    self._loading.append((shard, steps))
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

    def _close(self, shard: Shard) -> None:
        index = shard.log.topic_partition.partition
        if self._shards.get(index) is shard:
            del self._shards[index]
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
                # The edge of one shard's loading: the other shards' groups have nothing to do with it.
                logger.exception("%s cannot be loaded", shard)
                self._close(shard)
            else:
                self._loading.popleft()
                self._begin_to_serve(shard)

    def _begin_to_serve(self, shard: Shard) -> None:
        shard.is_loaded = True
        for outcome in shard.machine.loaded(self._now()):
            self._carry_out(shard, outcome)
        forgotten = shard.machine.commits.forget_topics(self._deleted_while_loading, self._now())
        self._carry_out(shard, forgotten)
        if not self._loading:
            self._deleted_while_loading.clear()

    # Carrying out

    def _carry_out(self, shard: Shard, outcome: Outcome) -> None:
        """Append and replay what was decided, and see to its answers."""
        answers = outcome.answers
        if outcome.records:
            codec = Compression(self._settings.offsets_topic_compression_codec)
            error_code = shard.append(outcome.records, outcome.now.wall_ms, codec)
            if error_code:
                logger.error("%s does not take %d records: %s", shard, len(outcome.records), error_code.name)
                answers = [
                    Answer(token, replies.refused_by_log(message, error_code)) for token, message in answers
                ]
                self._carry_out(shard, shard.machine.refused(outcome))
            else:
                self._on_appended(shard.log)
        self._answer_when_safe(shard, answers)
        self._watch(shard)

    def _answer_when_safe(self, shard: Shard, answers: list[Answer]) -> None:
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
                    Answer(token, replies.refused_by_log(message, ErrorCode.KAFKA_STORAGE_ERROR))
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

    def _fail(self, shard: Shard, error: StorageError) -> None:
        """What the machine took for stored is not: it cannot decide anything any more."""
        if self._is_running:
            logger.error("%s cannot serve its groups any more: %s", shard, error)
        self._close(shard)

    # Time

    def _now(self) -> Moment:
        return Moment(self._wall_ms(), int(self._loop.time() * 1000))

    def _watch(self, shard: Shard) -> None:
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
                # The edge of what time brings to one shard: others' sessions must end all the same.
                logger.exception("%s failed as time passed", shard)
            self._watch(shard)
