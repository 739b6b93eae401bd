"""Committed offsets: who may commit, what is answered, and when a commit is forgotten (KIP-211).

A commit comes from a member of the present generation, or, with generation -1, from anybody while the
group is empty: consumers that assign partitions by themselves, and administrators. While the leader is
about to assign, nobody may: the member has to join first and would commit for partitions it had before.

In a group whose assignment the broker decides, members commit by their epochs: see `consumer.committing`.

A commit that is part of a producer's transaction counts once that is committed (KIP-98). It may name the
member whose work it is, and is then held against the group's generation (KIP-447), also while the leader
is about to assign. One that names nobody is fenced by the producer's epoch alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from riverlog.groups.consumer.committing import objection_to_commit, objection_to_fetch
from riverlog.groups.consumer.group import ConsumerGroup
from riverlog.groups.group import Group, GroupState
from riverlog.groups.outcome import Outcome
from riverlog.groups.records import (
    NO_EXPIRY,
    NO_TOPIC_ID,
    CommittedOffset,
    GroupMetadata,
    GroupRecord,
    OffsetCommit,
)
from riverlog.groups.replies import CommitReply, FetchedOffset, OffsetDeleteReply
from riverlog.groups.subscription import CONSUMER_PROTOCOL_TYPE
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.groups.member import Token
    from riverlog.groups.offsets import OffsetStore
    from riverlog.groups.rebalance import Rebalances
    from riverlog.shards import Moment, ProducerIdentity

FIRST_COMMIT_VERSION_THAT_KNOWS_MISSING_GROUPS = 9
NO_RETENTION = -1
TIME_MAX = 2**63 - 1
"""The latest time that a record can carry."""


class OffsetToCommit(NamedTuple):
    """One partition's part of a commit. The partition exists: the caller has looked."""

    topic: str
    topic_id: bytes
    partition: int
    offset: int
    leader_epoch: int
    metadata: str | None


class Commit(NamedTuple):
    """A commit, whichever version of the request it came in."""

    version: int
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None
    offsets: Sequence[OffsetToCommit]
    retention_ms: int = NO_RETENTION
    producer: ProducerIdentity | None = None
    """Whose transaction it is part of, if it is."""

    @property
    def names_nobody(self) -> bool:
        """No member is named, nor a generation."""
        return self.generation < 0 and not self.member_id and self.instance_id is None


class WantedTopic(NamedTuple):
    """Partitions of a topic whose commits are asked for."""

    topic: str
    topic_id: bytes
    """All zeros: whichever topic of that name the commits were for."""
    partitions: Sequence[int]


class Commits:
    """Decides about committed offsets."""

    def __init__(
        self,
        groups: dict[str, Group],
        consumer_groups: dict[str, ConsumerGroup],
        offsets: OffsetStore,
        rebalances: Rebalances,
    ) -> None:
        self._groups = groups
        self._consumer_groups = consumer_groups
        self._offsets = offsets
        self._rebalances = rebalances

    # Committing

    def commit(self, commit: Commit, token: Token, now: Moment) -> Outcome:
        """Commit offsets, those whose metadata is not too long, if the committer may."""
        outcome = Outcome(now)
        objection = self._objection_to(commit)
        if objection:
            outcome.answer(token, CommitReply([objection] * len(commit.offsets)))
            return outcome
        group = self._groups.get(commit.group_id)
        if group is not None and commit.member_id in group.members and commit.producer is None:
            self._rebalances.hear_from(group.members[commit.member_id], now)
        expire_ms = NO_EXPIRY
        if commit.retention_ms != NO_RETENTION:
            expire_ms = min(now.wall_ms + commit.retention_ms, TIME_MAX)
        outcome.producer = commit.producer
        error_codes = []
        for wanted in commit.offsets:
            metadata = wanted.metadata or ""
            if len(metadata) > self._rebalances.settings.offset_metadata_max_bytes:
                error_codes.append(int(ErrorCode.OFFSET_METADATA_TOO_LARGE))
                continue
            error_codes.append(int(ErrorCode.NONE))
            value = CommittedOffset(
                wanted.offset, wanted.leader_epoch, metadata, now.wall_ms, expire_ms, wanted.topic_id
            )
            outcome.records.append(OffsetCommit(commit.group_id, wanted.topic, wanted.partition, value))
        outcome.answer(token, CommitReply(error_codes))
        return outcome

    def _objection_to(self, commit: Commit) -> ErrorCode:
        """Say why this committer may not commit now."""
        consumer_group = self._consumer_groups.get(commit.group_id)
        if consumer_group is not None:
            return objection_to_commit(consumer_group, commit)
        group = self._groups.get(commit.group_id)
        if group is None:
            if commit.generation < 0:
                return ErrorCode.NONE
            if commit.version >= FIRST_COMMIT_VERSION_THAT_KNOWS_MISSING_GROUPS:
                return ErrorCode.GROUP_ID_NOT_FOUND
            return ErrorCode.ILLEGAL_GENERATION
        if commit.generation < 0 and group.state is GroupState.EMPTY:
            return ErrorCode.NONE
        if commit.producer is not None and commit.names_nobody:
            return ErrorCode.NONE
        objection = group.objection_to(commit.member_id, commit.instance_id)
        if objection:
            return objection
        if commit.generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if group.state is GroupState.COMPLETING and commit.producer is None:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    # Asking

    def objection_to_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Say why a member that asks is not told. In the classic protocol anybody is."""
        group = self._consumer_groups.get(group_id)
        return ErrorCode.NONE if group is None else objection_to_fetch(group, member_id, member_epoch)

    def fetch(
        self, group_id: str, wanted: Iterable[WantedTopic], *, require_stable: bool
    ) -> list[tuple[str, list[FetchedOffset]]]:
        """Give what a group has committed. For a group that is not there: nothing."""
        return [
            (
                topic,
                [self._fetch_one(group_id, topic, topic_id, each, require_stable) for each in partitions],
            )
            for topic, topic_id, partitions in wanted
        ]

    def fetch_all(self, group_id: str, *, require_stable: bool) -> list[tuple[str, list[FetchedOffset]]]:
        """Give everything that a group has committed."""
        partitions: dict[str, list[int]] = {}
        for topic, partition, _ in self._offsets.of_group(group_id):
            partitions.setdefault(topic, []).append(partition)
        wanted = (WantedTopic(topic, NO_TOPIC_ID, each) for topic, each in partitions.items())
        return self.fetch(group_id, wanted, require_stable=require_stable)

    def _fetch_one(
        self, group_id: str, topic: str, topic_id: bytes, partition: int, require_stable: bool
    ) -> FetchedOffset:
        if require_stable and self._offsets.is_undecided(group_id, topic, partition):
            return FetchedOffset(partition, None, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        committed = self._offsets.get(group_id, topic, partition)
        if committed is not None and NO_TOPIC_ID != topic_id != committed.topic_id != NO_TOPIC_ID:
            committed = None  # for an earlier topic of this name
        return FetchedOffset(partition, committed)

    # Forgetting

    def delete(
        self, group_id: str, partitions: Sequence[tuple[str, int]], token: Token, now: Moment
    ) -> Outcome:
        """Forget commits on an administrator's word, unless a member reads the topic."""
        outcome = Outcome(now)
        group = self._groups.get(group_id) or self._consumer_groups.get(group_id)
        error_code = ErrorCode.NONE
        if not group_id:
            error_code = ErrorCode.INVALID_GROUP_ID
        elif group is None:
            error_code = ErrorCode.GROUP_ID_NOT_FOUND
        elif (
            isinstance(group, Group)
            and group.state is not GroupState.EMPTY
            and group.protocol_type != CONSUMER_PROTOCOL_TYPE
        ):
            error_code = ErrorCode.NON_EMPTY_GROUP  # nobody knows what its members read
        if error_code or group is None:
            outcome.answer(token, OffsetDeleteReply(error_code, []))
            return outcome
        in_use = {topic for topic in {topic for topic, _ in partitions} if group.is_subscribed_to(topic)}
        known = set(self._offsets.known_partitions(group_id))
        outcome.records += [
            OffsetCommit(group_id, topic, partition, None)
            for topic, partition in dict.fromkeys(partitions)
            if topic not in in_use and (topic, partition) in known
        ]
        outcome.answer(
            token,
            OffsetDeleteReply(
                ErrorCode.NONE,
                [
                    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if topic in in_use else ErrorCode.NONE
                    for topic, _ in partitions
                ],
            ),
        )
        return outcome

    def forget_topics(self, topics: Iterable[str], now: Moment) -> Outcome:
        """Forget what was committed for topics that are deleted."""
        outcome = Outcome(now)
        outcome.records += [OffsetCommit(*where, None) for where in self._offsets.of_topics(topics)]
        return outcome

    def forget_group(self, group: Group | ConsumerGroup) -> list[GroupRecord]:
        """Give the records that remove an empty group with all its commits."""
        return [
            *(
                OffsetCommit(group.group_id, topic, partition, None)
                for topic, partition in self._offsets.known_partitions(group.group_id)
            ),
            *_removal(group),
        ]

    def expire(self, group: Group | ConsumerGroup, now: Moment) -> Outcome:
        """Forget a group's commits that are too old, and the group with the last of them.

        The age counts
        - from when the last member left, if the group has had members;
        - from the commit, if it never had any, or if members are there and read other topics by now.
        """
        outcome = Outcome(now)
        group_id = group.group_id
        if isinstance(group, Group):
            if group.pending or group.state not in (GroupState.EMPTY, GroupState.STABLE):
                return outcome
            if group.state is GroupState.STABLE and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
                return outcome
        empty_since_ms = _empty_since_ms(group)
        commits = list(self._offsets.of_group(group_id))
        in_use = {topic for topic in {topic for topic, _, _ in commits} if group.is_subscribed_to(topic)}
        for topic, partition, committed in commits:
            if (
                topic not in in_use
                and self._is_over(committed, empty_since_ms, now.wall_ms)
                and not self._offsets.is_undecided(group_id, topic, partition)
            ):
                outcome.records.append(OffsetCommit(group_id, topic, partition, None))
        keeps_something = len(outcome.records) < len(commits) or self._offsets.has_undecided(group_id)
        if not group.members and not keeps_something:
            outcome.records += _removal(group)
        return outcome

    def _is_over(self, committed: CommittedOffset, empty_since_ms: int, now_ms: int) -> bool:
        if committed.expire_ms != NO_EXPIRY:
            return now_ms >= committed.expire_ms
        since_ms = committed.commit_ms if empty_since_ms < 0 else empty_since_ms
        return now_ms - since_ms >= self._rebalances.settings.offsets_retention_minutes * 60_000


def _removal(group: Group | ConsumerGroup) -> list[GroupRecord]:
    return [GroupMetadata(group.group_id, None)] if isinstance(group, Group) else list(group.removal())


def _empty_since_ms(group: Group | ConsumerGroup) -> int:
    """Give when the last member left; -1 if there are members, never were any, or it is not known.

    Nothing that is stored about a group of the consumer protocol tells.
    """
    if isinstance(group, ConsumerGroup):
        return -1
    if group.state is not GroupState.EMPTY or group.protocol_type is None or group.stored is None:
        return -1
    return group.stored.current_state_timestamp
