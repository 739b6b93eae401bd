"""The group coordinator: what can be asked about groups, and which machine decides it.

The shell around the machines is `riverlog.shards`. Its one rule for answers has one exception here:
heartbeats promise nothing and do not wait.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from riverlog.groups import replies
from riverlog.groups.machine import GroupMachine
from riverlog.groups.membership import Caller
from riverlog.groups.records import OFFSETS_TOPIC
from riverlog.groups.surroundings import NoTopics, Surroundings
from riverlog.protocol import messages
from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import Answer, Shard, ShardHost
from riverlog.shards.host import LOADING_SLICE_SECONDS

if TYPE_CHECKING:
    import asyncio

    from riverlog.config import ConsumerGroupSettings, GroupSettings
    from riverlog.groups.commits import Commit, WantedTopic
    from riverlog.groups.member import Client
    from riverlog.groups.outcome import Outcome
    from riverlog.groups.overview import CommittedPlace, GroupOverview
    from riverlog.groups.surroundings import Topics
    from riverlog.log import GroupCommit, PartitionLog
    from riverlog.types import TopicPartition


MATCHINGS_OF_A_GROUP_MAX = 2
"""How often a group's regular expressions may wait to be tried: once under way, and once after that."""


class GroupCoordinator(ShardHost[GroupMachine]):
    """All groups whose partition of the offsets topic is here."""

    topic = OFFSETS_TOPIC

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
        consumer_settings: ConsumerGroupSettings,
        overrides: Callable[[str], Mapping[str, str]],
    ) -> None:
        """Take what it needs from the broker: the settings, and what any host needs.

        `overrides` gives a group's own settings.
        """
        super().__init__(
            loop,
            logs=logs,
            create_topic=create_topic,
            commit=commit,
            on_appended=on_appended,
            wall_ms=wall_ms,
        )
        self._surroundings = Surroundings(settings, consumer_settings, NoTopics(), overrides)
        self._deleted_while_loading: set[str] = set()
        self._matching: deque[tuple[Shard[GroupMachine], str]] = deque()
        """Groups whose regular expressions are to be tried, and where they live; the first one is at it."""
        self._next_expiry_ms = 0

    # Life

    def start(self) -> None:
        """Serve what is on disk. Large partitions are loaded while requests come in; until then they wait."""
        self._next_expiry_ms = self._now().steady_ms + self._settings.offsets_retention_check_interval_ms
        super().start()

    @property
    def _settings(self) -> GroupSettings:
        return self._surroundings.settings

    def change_settings(self, settings: GroupSettings, consumer_settings: ConsumerGroupSettings) -> None:
        """Decide by other settings from now on."""
        self._surroundings.settings = settings
        self._surroundings.consumer = consumer_settings
        for shard in self._shards.values():
            shard.machine.change_settings(settings)

    def follow_topics(
        self, topics: Topics, *, created: Iterable[str], changed: Iterable[str], deleted: Iterable[str]
    ) -> None:
        """Decide by these topics from now on, and forget what was committed for those that are gone."""
        self._surroundings.topics = topics
        created, deleted = set(created), list(deleted)
        touched = {*created, *changed, *deleted}
        for shard in self._shards.values():
            shard.machine.topics_changed(touched, are_new=bool(created or deleted))
        if deleted:
            self._forget_topics(deleted)

    def _forget_topics(self, topics: list[str]) -> None:
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
            for group_id in shard.machine.group_ids():
                if self._is_serving(shard):
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
        self._carry_out(shard, shard.machine.join(request, caller, self._now()))
        return future

    def sync(self, request: messages.SyncGroupRequest) -> asyncio.Future[messages.SyncGroupResponse]:
        """Give a member its assignment; answered when the leader has made it."""
        shard = self._shard_of(request.group_id)
        if not isinstance(shard, Shard):
            return self._answered(replies.not_synced(shard))
        future: asyncio.Future[messages.SyncGroupResponse] = self._loop.create_future()
        self._carry_out(shard, shard.machine.sync(request, future, self._now()))
        return future

    def heartbeat(self, group_id: str, generation: int, member_id: str, instance_id: str | None) -> int:
        """Take a sign of life; gives the error code to answer with."""
        shard = self._shard_of(group_id)
        if not isinstance(shard, Shard):
            # As long as nothing is known of the group, a member is better off where it is.
            return ErrorCode.NONE if shard == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else shard
        error_code = shard.machine.heartbeat(group_id, generation, member_id, instance_id, self._now())
        self._watch(shard)
        return error_code

    def consumer_heartbeat(
        self, request: messages.ConsumerGroupHeartbeatRequest, version: int, client: Client
    ) -> asyncio.Future[messages.ConsumerGroupHeartbeatResponse]:
        """Take a heartbeat of the consumer protocol, by which members do everything."""
        shard = self._shard_of(request.group_id)
        if not isinstance(shard, Shard):
            return self._answered(messages.ConsumerGroupHeartbeatResponse(error_code=shard))
        future: asyncio.Future[messages.ConsumerGroupHeartbeatResponse] = self._loop.create_future()
        caller = Caller(version, client, future, str(uuid.uuid4()) if not request.member_id else "")
        outcome = shard.machine.heartbeats.beat(request, caller, self._now())
        self._carry_out(shard, outcome)
        if outcome.matching_of is not None:
            self._match(shard, outcome)
        return future

    def leave(self, request: messages.LeaveGroupRequest) -> asyncio.Future[messages.LeaveGroupResponse]:
        """Let members go."""
        shard = self._shard_of(request.group_id)
        if not isinstance(shard, Shard):
            return self._answered(messages.LeaveGroupResponse(error_code=shard))
        future: asyncio.Future[messages.LeaveGroupResponse] = self._loop.create_future()
        self._carry_out(shard, shard.machine.leave(request, future, self._now()))
        return future

    def commit_offsets(self, commit: Commit) -> asyncio.Future[replies.CommitReply]:
        """Commit offsets of partitions that exist."""
        shard = self._shard_of(commit.group_id)
        if not isinstance(shard, Shard):
            return self._answered(replies.CommitReply([shard] * len(commit.offsets)))
        future: asyncio.Future[replies.CommitReply] = self._loop.create_future()
        self._carry_out(shard, shard.machine.commits.commit(commit, future, self._now()))
        return future

    def offsets_partition_of(self, group_id: str) -> TopicPartition | ErrorCode:
        """Give the partition that a transaction with this group's offsets touches, or why there is none."""
        shard = self._shard_of(group_id)
        return shard.log.topic_partition if isinstance(shard, Shard) else shard

    def transaction_ended(self, log: PartitionLog, producer_id: int, *, is_commit: bool) -> None:
        """Take in a marker that is in the log of a shard; one that is still loaded comes to it by itself."""
        shard = self._shards.get(log.topic_partition.partition)
        if shard is not None and shard.log is log and shard.is_loaded:
            shard.machine.replay_marker(producer_id, is_commit=is_commit)

    def fetch_offsets(
        self,
        group_id: str,
        wanted: Sequence[WantedTopic] | None,
        *,
        require_stable: bool,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> asyncio.Future[replies.OffsetFetchReply]:
        """Give what a group has committed for some partitions, or for all; to anybody, or to a member."""
        shard = self._shard_of(group_id)
        if not isinstance(shard, Shard):
            return self._answered(replies.OffsetFetchReply(shard, []))
        commits = shard.machine.commits
        objection = commits.objection_to_fetch(group_id, member_id, member_epoch)
        if objection:
            return self._answered(replies.OffsetFetchReply(objection, []))
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
        by_shard: dict[Shard[GroupMachine], list[str]] = {}
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

    def describe_consumer_group(
        self, group_id: str
    ) -> messages.ConsumerGroupDescribeResponseDescribedGroup | int | None:
        """Tell all about a group of the consumer protocol; None or an error code as with `describe`."""
        shard = self._shard_of(group_id)
        return shard.machine.describe_consumer_group(group_id) if isinstance(shard, Shard) else shard

    # Regular expressions

    def _match(self, shard: Shard[GroupMachine], outcome: Outcome) -> None:
        """Have a group's expressions tried, for a short while in each turn of the loop."""
        waiting = (shard, outcome.matching_of or "")
        # Once more than it is waiting for: what is under way may not know the newest topics.
        if self._matching.count(waiting) < MATCHINGS_OF_A_GROUP_MAX:
            self._matching.append(waiting)
            if len(self._matching) == 1:
                self._loop.call_soon(self._match_slice, None)

    def _match_slice(self, steps: Iterator[dict[str, frozenset[str]] | None] | None) -> None:
        shard, group_id = self._matching[0]
        try:
            steps = steps or shard.machine.heartbeats.match_in_steps(group_id)
            if self._is_serving(shard) and not self._match_for_a_while(shard, group_id, steps):
                self._loop.call_soon(self._match_slice, steps)
                return
        except Exception:
            # The edge of one group's expressions: the others' have nothing to do with it.
            self._logger.exception("the regular expressions of group %r cannot be tried", group_id)
        self._matching.popleft()
        if self._matching:
            self._loop.call_soon(self._match_slice, None)

    def _match_for_a_while(
        self, shard: Shard[GroupMachine], group_id: str, steps: Iterator[dict[str, frozenset[str]] | None]
    ) -> bool:
        """Take steps until they have taken long enough; say whether there are no more."""
        slice_ends = time.perf_counter() + LOADING_SLICE_SECONDS
        for found in steps:
            if found is not None:
                self._carry_out(shard, shard.machine.heartbeats.note_matches(group_id, found, self._now()))
            elif time.perf_counter() > slice_ends:
                return False
        return True

    # What is there, for those who watch

    def overview(self) -> Iterator[GroupOverview]:
        """Go through the groups that are served here; they may change meanwhile."""
        for shard in self._loaded_shards():
            yield from shard.machine.overview()

    def committed(self) -> Iterator[CommittedPlace]:
        """Go through all that these groups have committed; it may change meanwhile."""
        for shard in self._loaded_shards():
            yield from shard.machine.committed()

    def committed_for(self, topic: str, partition: int) -> Iterator[CommittedPlace]:
        """Go through what these groups have committed for one partition."""
        for shard in self._loaded_shards():
            yield from shard.machine.committed_for(topic, partition)

    # The host's questions

    def _new_machine(self) -> GroupMachine:
        return GroupMachine(self._surroundings)

    @property
    def _load_bytes(self) -> int:
        return self._settings.offsets_load_buffer_size

    @property
    def _codec(self) -> Compression:
        return Compression(self._settings.offsets_topic_compression_codec)

    def _as_refused(self, message: Any, log_error: int) -> Any:
        return replies.refused_by_log(message, log_error)

    def _begin_to_serve(self, shard: Shard[GroupMachine]) -> None:
        super()._begin_to_serve(shard)
        forgotten = shard.machine.commits.forget_topics(self._deleted_while_loading, self._now())
        self._carry_out(shard, forgotten)
        if not self._loading:
            self._deleted_while_loading.clear()
