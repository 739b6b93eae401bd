"""Groups that pass from one protocol to the other while their members are live (KIP-848).

    classic ──── somebody joins by ConsumerGroupHeartbeat ────▶ consumer
            ◀─── the last who speaks that is gone ────────────

On the way up the members keep their ids, their partitions, and the generation as their epoch. They go on
speaking the classic protocol: see `classic_members`. On the way down they keep all that as well, and then
join again, so that one of them leads. What `group.consumer.migration.policy` does not allow is refused, or
left undone.

A group without members is simply begun anew in the other protocol; its commits stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from riverlog.errors import RemoteProtocolError, RequestRefused
from riverlog.groups import replies
from riverlog.groups.assignors import Partitions
from riverlog.groups.consumer.changes import Draft
from riverlog.groups.consumer.embedded import (
    read_assignment,
    read_subscription,
    version_of,
    write_assignment,
)
from riverlog.groups.consumer.group import ConsumerGroup
from riverlog.groups.consumer.member import ClassicSide, MemberState, Standing, Subscription
from riverlog.groups.consumer.records import (
    ConsumerRecord,
    Epoch,
    GroupEpoch,
    GroupMember,
    GroupTargetEpoch,
    MemberStanding,
    MemberTarget,
    TargetEpoch,
)
from riverlog.groups.consumer.target import digest
from riverlog.groups.deadlines import Deadline, Deadlines
from riverlog.groups.records import GroupMetadata
from riverlog.groups.subscription import CONSUMER_PROTOCOL_TYPE
from riverlog.groups.vote import elected
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.groups.consumer.timers import MemberTimers
    from riverlog.groups.group import Group
    from riverlog.groups.member import Member
    from riverlog.groups.outcome import Outcome
    from riverlog.groups.surroundings import Surroundings

DISABLED = "disabled"
_UPGRADES = ("upgrade", "bidirectional")
_DOWNGRADES = ("downgrade", "bidirectional")


class Downgraded(Deadline):
    """A group has become one of the classic protocol: its members' sessions are to begin. Due at once."""

    __slots__ = ("group_id", "is_stale")

    def __init__(self, group_id: str, *, is_stale: bool) -> None:
        super().__init__()
        self.group_id = group_id
        self.is_stale = is_stale
        """Its members are to join again: what they were assigned is not for them as they are now."""


class Migration:
    """Turns groups of one protocol into groups of the other."""

    def __init__(
        self,
        classic_groups: dict[str, Group],
        timers: MemberTimers,
        deadlines: Deadlines,
        surroundings: Surroundings,
    ) -> None:
        self._classic_groups = classic_groups
        self._timers = timers
        self._deadlines = deadlines
        self._surroundings = surroundings

    def not_found(self, group_id: str) -> RequestRefused:
        """Say that there is no group of the consumer protocol under this name."""
        if group_id in self._classic_groups:
            return _not_found(f"group {group_id} is one of the classic protocol")
        return _not_found(f"there is no group {group_id}")

    # Up

    def begin(self, group_id: str, outcome: Outcome) -> Draft:
        """Begin a group of the consumer protocol, with what there is of it in the classic one."""
        draft = Draft(ConsumerGroup(group_id), outcome, is_copy=True)
        classic = self._classic_groups.get(group_id)
        if classic is None:
            return draft
        if classic.members:
            records = list(self._upgraded(classic))
            outcome.records.append(GroupMetadata(group_id, None))
            draft.emit(*records)
            draft.upgraded_from = classic
        elif classic.stored is not None:
            outcome.records.append(GroupMetadata(group_id, None))
        return draft

    def release(self, draft: Draft) -> None:
        """Let members who wait in a group that is no longer of the classic protocol ask again."""
        classic = draft.upgraded_from
        if classic is None:
            return
        outcome = draft.outcome
        for member_id, token in classic.joining.items():
            outcome.answer(token, replies.not_joined(ErrorCode.REBALANCE_IN_PROGRESS, member_id))
        for token in classic.syncing.values():
            outcome.answer(token, replies.not_synced(ErrorCode.REBALANCE_IN_PROGRESS))
        classic.joining.clear()
        classic.syncing.clear()
        for member in classic.members.values():
            due_ms = outcome.now.steady_ms + member.session_timeout_ms
            self._timers.hear_from(classic.group_id, member.member_id, due_ms)

    def _upgraded(self, classic: Group) -> Iterator[ConsumerRecord]:
        """Give a live group in the form of the consumer protocol. Raises RequestRefused if it has none."""
        group_id = classic.group_id
        refused = f"group {group_id} stays in the classic protocol:"
        if self._surroundings.consumer.group_consumer_migration_policy not in _UPGRADES:
            raise _not_found(f"{refused} group.consumer.migration.policy does not allow it to leave")
        if classic.protocol_type != CONSUMER_PROTOCOL_TYPE:
            raise _not_found(f"{refused} its members are no consumers")
        if len(classic.members) > self._surroundings.consumer.group_consumer_max_size:
            raise _not_found(f"{refused} it has more members than group.consumer.max.size")
        epoch = classic.generation
        protocol_name = classic.protocol_name or classic.elected_protocol()
        taken: dict[bytes, set[int]] = {}
        topics: set[str] = set()
        for member in classic.members.values():
            try:
                told = read_subscription(member.subscription(protocol_name))
                assigned, user_data = read_assignment(member.assignment)
            except RemoteProtocolError:
                raise _not_found(f"{refused} what its members or its leader said cannot be read") from None
            if user_data:
                raise _not_found(f"{refused} its assignor attaches data of its own to assignments")
            topics |= told.topics
            target = self._by_id(assigned, taken)
            yield GroupMember(group_id, member.member_id, _subscription(member, told.topics, told.rack_id))
            yield MemberTarget(group_id, member.member_id, target)
            held = {topic_id: dict.fromkeys(sorted(each), epoch) for topic_id, each in target.items()}
            yield MemberStanding(group_id, member.member_id, Standing(epoch, epoch, MemberState.STABLE, held))
        yield GroupEpoch(group_id, Epoch(epoch, digest(topics, self._surroundings.topics)))
        yield GroupTargetEpoch(group_id, TargetEpoch(epoch, 0))

    def _by_id(self, assigned: Mapping[str, frozenset[int]], taken: dict[bytes, set[int]]) -> Partitions:
        """Tell an assignment by topic ids. What the leader gave to two members is the first one's."""
        known = self._surroundings.topics.topics
        by_id: dict[bytes, frozenset[int]] = {}
        for name, partitions in assigned.items():
            topic = known.get(name)
            if topic is None:
                continue
            others = taken.setdefault(topic.topic_id, set())
            mine = partitions - others
            others |= mine
            if mine:
                by_id[topic.topic_id] = mine
        return by_id

    # Down

    def can_downgrade(self, group: ConsumerGroup, *, without: Collection[str] = ()) -> bool:
        """Say whether a group without some members is to go on in the classic protocol."""
        left_count = len(group.members) - len(without)
        classic_left = group.classic_count - sum(
            group.members[member_id].classic is not None for member_id in without
        )
        return (
            0 < left_count == classic_left
            and self._surroundings.consumer.group_consumer_migration_policy in _DOWNGRADES
            and left_count <= self._surroundings.settings.group_max_size
        )

    def downgrade(self, draft: Draft, *, without: Collection[str] = (), is_stale: bool = True) -> None:
        """Let a group go on in the classic protocol, without some of its members."""
        group = draft.group
        left = {
            member_id: (member, member.classic)
            for member_id, member in group.members.items()
            if member_id not in without and member.classic is not None
        }
        protocol_name = elected([classic.protocols for _, classic in left.values()])
        value = messages.GroupMetadataValue(
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            generation=group.epoch,
            protocol=protocol_name,
            leader=next(iter(left)),
            current_state_timestamp=draft.now.wall_ms,
            members=[
                self._stored_member(group, member_id, member, classic, protocol_name)
                for member_id, (member, classic) in left.items()
            ],
        )
        draft.outcome.records += group.removal()
        draft.outcome.records.append(GroupMetadata(group.group_id, value))
        for member_id in group.members:
            self._timers.forget(group.group_id, member_id)
        self._deadlines.set(Downgraded(group.group_id, is_stale=is_stale), draft.now.steady_ms)

    def _stored_member(
        self,
        group: ConsumerGroup,
        member_id: str,
        member: Subscription,
        classic: ClassicSide,
        protocol_name: str | None,
    ) -> messages.MemberMetadata:
        subscription = dict(classic.protocols).get(protocol_name or "", b"")
        return messages.MemberMetadata(
            member_id=member_id,
            group_instance_id=member.instance_id,
            client_id=member.client.client_id,
            client_host=member.client.host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=classic.session_timeout_ms,
            subscription=subscription,
            assignment=self.write_assignment(subscription, group.target(member_id)),
        )

    def write_assignment(self, subscription: bytes, partitions: Partitions) -> bytes:
        """Write partitions in the terms of the classic protocol, in the version of a subscription."""
        known = self._surroundings.topics.topics_by_id
        by_name = {known[topic_id].name: each for topic_id, each in partitions.items() if topic_id in known}
        return write_assignment(version_of(subscription), by_name)


def _subscription(member: Member, topics: frozenset[str], rack_id: str | None) -> Subscription:
    return Subscription(
        instance_id=member.instance_id,
        rack_id=rack_id,
        client=member.client,
        topics=topics,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicSide(member.session_timeout_ms, member.protocols),
    )


def _not_found(message: str) -> RequestRefused:
    return RequestRefused(ErrorCode.GROUP_ID_NOT_FOUND, message)
