"""A group whose assignment the broker decides (KIP-848): its members, what each is meant to have, and has.

    EMPTY        no members
    ASSIGNING    the group's epoch is ahead of its targets': they are to be worked out
    RECONCILING  some member does not have what it is meant to have
    STABLE       all do

All of this is stored. It changes by `replay` alone, and follows from the last record of each key: so a
compacted log gives the same group as a whole one. What is counted beside it, to be found quickly, follows
from it in turn.

A decision that takes several records is made on a draft: a copy to which each record is applied as it is
decided, and which is dropped in the end. So later steps see what earlier ones changed, and the group
itself changes when the log has all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from enum import StrEnum
from typing import TypeVar

from riverlog.groups.assignors import NOTHING, Partitions
from riverlog.groups.consumer.member import NEWCOMER, NO_PATTERN, Held, Standing, Subscription
from riverlog.groups.consumer.records import (
    ConsumerRecord,
    Epoch,
    GroupEpoch,
    GroupMember,
    GroupPattern,
    GroupTargetEpoch,
    GroupTopics,
    Matches,
    MemberStanding,
    MemberTarget,
    TargetEpoch,
)
from riverlog.groups.subscription import CONSUMER_PROTOCOL_TYPE
from riverlog.protocol.error_codes import ErrorCode

T = TypeVar("T")

FIRST_EPOCH = Epoch(1, 0)
FIRST_TARGET_EPOCH = TargetEpoch(1, 0)
"""Before anything was decided. Member epoch 0 means to join, so a group's own begin above it."""


class ConsumerGroupState(StrEnum):
    """How far a group has come, under the names that Kafka's tools print."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ConsumerGroup:
    """A group's stored state, and what is counted from it."""

    __slots__ = (
        "_by_name",
        "_pattern_users",
        "_support",
        "assignors",
        "classic_count",
        "group_id",
        "has_topics_record",
        "is_refresh_due",
        "matches",
        "members",
        "owners",
        "standings",
        "static_ids",
        "stored_epoch",
        "target_epoch",
        "targets",
    )

    protocol_type = CONSUMER_PROTOCOL_TYPE

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.stored_epoch = FIRST_EPOCH
        self.target_epoch = FIRST_TARGET_EPOCH
        self.members: dict[str, Subscription] = {}
        self.targets: dict[str, Partitions] = {}
        """By member id: what each is meant to have."""
        self.standings: dict[str, Standing] = {}
        """By member id: what each has."""
        self.matches: dict[str, Matches] = {}
        """By regular expression: the topics that it matched when it was last tried."""
        self.has_topics_record = False
        self.is_refresh_due = True
        """Topics have changed, or may have: what the group reads is to be looked at again. Not stored."""
        # Counted from the above:
        self.static_ids: dict[str, str] = {}
        """Instance id to member id of the static members."""
        self.owners: dict[bytes, dict[int, str]] = {}
        """Topic id to partition to the member that has it, or has yet to give it up."""
        self.assignors: Counter[str] = Counter()
        """How many members ask for which assignor."""
        self.classic_count = 0
        """How many members speak the classic protocol."""
        self._support: Counter[str] = Counter()
        self._by_name: Counter[str] = Counter()
        self._pattern_users: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"ConsumerGroup({self.group_id!r}, {self.state}, epoch {self.epoch}, {len(self.members)})"

    def __eq__(self, other: object) -> bool:
        """Say whether the same is stored about both."""
        if not isinstance(other, ConsumerGroup):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _STORED)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def draft(self) -> ConsumerGroup:
        """Copy the group, to decide on."""
        copy = ConsumerGroup(self.group_id)
        copy.stored_epoch, copy.target_epoch = self.stored_epoch, self.target_epoch
        copy.members, copy.targets = self.members.copy(), self.targets.copy()
        copy.standings, copy.matches = self.standings.copy(), self.matches.copy()
        copy.has_topics_record, copy.is_refresh_due = self.has_topics_record, self.is_refresh_due
        copy.static_ids = self.static_ids.copy()
        copy.owners = {topic_id: partitions.copy() for topic_id, partitions in self.owners.items()}
        copy.assignors, copy.classic_count = self.assignors.copy(), self.classic_count
        copy._support, copy._by_name = self._support.copy(), self._by_name.copy()
        copy._pattern_users = self._pattern_users.copy()
        return copy

    # Questions

    @property
    def epoch(self) -> int:
        """The group's epoch."""
        return self.stored_epoch.epoch

    @property
    def assignment_epoch(self) -> int:
        """The epoch that the targets belong to; never above the group's."""
        return self.target_epoch.epoch

    @property
    def state(self) -> ConsumerGroupState:
        """How far the group has come."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(self.standing(member_id).is_at(self.assignment_epoch) for member_id in self.members):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def standing(self, member_id: str) -> Standing:
        """Give what a member has."""
        return self.standings.get(member_id, NEWCOMER)

    def target(self, member_id: str) -> Partitions:
        """Give what a member is meant to have."""
        return self.targets.get(member_id, NOTHING)

    def topics_of(self, member: Subscription) -> Set[str]:
        """Name the topics that a member reads, by name and by regular expression."""
        if member.pattern == NO_PATTERN:
            return member.topics
        matches = self.matches.get(member.pattern)
        return member.topics if matches is None else member.topics | matches.topics

    def all_topics(self) -> set[str]:
        """Name the topics that the group reads."""
        topics = set(self._by_name)
        for pattern in self._pattern_users:
            if pattern in self.matches:
                topics |= self.matches[pattern].topics
        return topics

    def is_subscribed_to(self, topic: str) -> bool:
        """Say whether a member reads the topic."""
        return topic in self._by_name or any(
            topic in self.matches[pattern].topics
            for pattern in self._pattern_users
            if pattern in self.matches
        )

    @property
    def patterns(self) -> Iterable[str]:
        """The regular expressions that members read topics by."""
        return self._pattern_users.keys()

    def is_free_for(self, member_id: str, topic_id: bytes, partition: int) -> bool:
        """Say whether nobody else has a partition."""
        owners = self.owners.get(topic_id)
        return owners is None or owners.get(partition, member_id) == member_id

    def waits_for_others(self, member_id: str) -> bool:
        """Say whether something that a member is meant to have is still another's."""
        assigned = self.standing(member_id).assigned
        return any(
            partition not in assigned.get(topic_id, ())
            and not self.is_free_for(member_id, topic_id, partition)
            for topic_id, partitions in self.target(member_id).items()
            for partition in partitions
        )

    def supports_classic(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Say whether one who speaks the classic protocol has a protocol in common with all others who do."""
        return protocol_type == CONSUMER_PROTOCOL_TYPE and any(
            self._support[name] == self.classic_count for name in names
        )

    def objection_to(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Say why this is not a member that may speak: fenced, or unknown. NONE if it is one."""
        if instance_id is not None:
            known_id = self.static_ids.get(instance_id)
            if known_id is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    # Records

    def removal(self) -> list[ConsumerRecord]:
        """Give the records that remove all of the group."""
        group_id = self.group_id
        return [
            *(MemberStanding(group_id, member_id, None) for member_id in self.standings),
            *(MemberTarget(group_id, member_id, None) for member_id in self.targets),
            GroupTargetEpoch(group_id, None),
            *(GroupMember(group_id, member_id, None) for member_id in self.members),
            *(GroupPattern(group_id, pattern, None) for pattern in self.matches),
            GroupTopics(group_id, None),
            GroupEpoch(group_id, None),
        ]

    def removal_of(self, member_id: str) -> list[ConsumerRecord]:
        """Give the records that remove a member."""
        return [
            MemberStanding(self.group_id, member_id, None),
            MemberTarget(self.group_id, member_id, None),
            GroupMember(self.group_id, member_id, None),
        ]

    # Replay

    def replay(self, record: ConsumerRecord) -> None:
        """Take in a record about this group. The group's end is not its own affair."""
        match record:
            case MemberStanding():
                self._replay_standing(record)
            case MemberTarget(_, member_id, value):
                _put(self.targets, member_id, value)
            case GroupMember(_, member_id, value):
                self._replay_member(member_id, value)
            case GroupEpoch(_, value):
                self.stored_epoch = value or FIRST_EPOCH
            case GroupTargetEpoch(_, value):
                self.target_epoch = value or FIRST_TARGET_EPOCH
            case GroupPattern(_, pattern, value):
                _put(self.matches, pattern, value)
            case GroupTopics(_, value):
                self.has_topics_record = value is not None

    def _replay_member(self, member_id: str, value: Subscription | None) -> None:
        former = self.members.get(member_id)
        if former is not None:
            self._count(member_id, former, -1)
        _put(self.members, member_id, value)
        if value is not None:
            self._count(member_id, value, 1)

    def _count(self, member_id: str, member: Subscription, step: int) -> None:
        """Count a member in or out."""
        _change(self._by_name, member.topics, step)
        if member.pattern != NO_PATTERN:
            _change(self._pattern_users, (member.pattern,), step)
        if member.assignor is not None:
            _change(self.assignors, (member.assignor,), step)
        if member.classic is not None:
            self.classic_count += step
            _change(self._support, {name for name, _ in member.classic.protocols}, step)
        if member.instance_id is not None:
            if step > 0:
                self.static_ids[member.instance_id] = member_id
            elif self.static_ids.get(member.instance_id) == member_id:
                del self.static_ids[member.instance_id]

    def _replay_standing(self, record: MemberStanding) -> None:
        _, member_id, value = record
        former = self.standings.get(member_id)
        if former is not None:
            self._release(member_id, former.assigned)
            self._release(member_id, former.revoking)
        _put(self.standings, member_id, value)
        if value is not None:
            self._take(member_id, value.assigned)
            self._take(member_id, value.revoking)

    def _take(self, member_id: str, held: Held) -> None:
        for topic_id, partitions in held.items():
            owners = self.owners.setdefault(topic_id, {})
            for partition in partitions:
                owners[partition] = member_id

    def _release(self, member_id: str, held: Held) -> None:
        for topic_id, partitions in held.items():
            owners = self.owners.get(topic_id, {})
            for partition in partitions:
                if owners.get(partition) == member_id:
                    del owners[partition]
            if not owners:
                self.owners.pop(topic_id, None)


_STORED = (
    "group_id",
    "stored_epoch",
    "target_epoch",
    "members",
    "targets",
    "standings",
    "matches",
    "has_topics_record",
    "static_ids",
    "owners",
)


def _put(table: dict[str, T], key: str, value: T | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _change(counter: Counter[str], keys: Iterable[str], step: int) -> None:
    """Count up or down; what nobody has any more is not in the counter."""
    for key in keys:
        counter[key] += step
        if not counter[key]:
            del counter[key]
