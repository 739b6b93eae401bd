"""The groups of one partition of the offsets topic, as a replicated state machine.

A group is of the classic protocol, where one of its members assigns, or of the consumer protocol, where
this machine does; requests of the classic protocol are for both.

    request ──▶ decide ──▶ Outcome: records, answers
                              │  the shell appends the records to the partition
                              ▼
                            replay ──▶ what is stored: each group's last generation, all committed offsets

What is stored changes by `replay` alone: while the broker runs, when it starts, and on whichever broker leads
the partition next. Everything else about a group (who is joining, whose session ends when) is kept in
memory, as in Kafka: a crash ends a rebalance, and the members, told that their generation is not the
group's, join again.

Pure: time comes in with each call, member ids get their unique part from the caller, requests are tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from riverlog.groups import replies
from riverlog.groups.commits import Commits
from riverlog.groups.consumer import description
from riverlog.groups.consumer.changes import Changes
from riverlog.groups.consumer.classic_members import ClassicMembers
from riverlog.groups.consumer.group import ConsumerGroup
from riverlog.groups.consumer.heartbeats import Heartbeats
from riverlog.groups.consumer.migration import Downgraded, Migration
from riverlog.groups.consumer.records import ConsumerRecord, GroupEpoch
from riverlog.groups.consumer.timers import MemberDeadline, MemberTimers
from riverlog.groups.deadlines import Deadlines
from riverlog.groups.group import Group, GroupState, PhaseEnd
from riverlog.groups.member import Member, PendingMember, Token
from riverlog.groups.membership import Caller, Membership
from riverlog.groups.offsets import OffsetStore
from riverlog.groups.outcome import Outcome
from riverlog.groups.overview import CommittedPlace, GroupOverview
from riverlog.groups.rebalance import Rebalances
from riverlog.groups.records import GroupMetadata, GroupRecord, OffsetCommit, decode, encode
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import NO_PRODUCER

if TYPE_CHECKING:
    from riverlog.config import GroupSettings
    from riverlog.groups.surroundings import Surroundings
    from riverlog.shards import Moment

CLASSIC_TYPE = "classic"
CONSUMER_KIND = "consumer"
DEAD = "Dead"
"""The state of a group that is not there, in answers to those who ask."""


class GroupMachine:
    """Decides for all groups of one partition."""

    encode = staticmethod(encode)
    decode = staticmethod(decode)

    def __init__(self, surroundings: Surroundings) -> None:
        self.groups: dict[str, Group] = {}
        """Those of the classic protocol."""
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        """Those of the consumer protocol; no id is in both."""
        self.offsets = OffsetStore()
        self._surroundings = surroundings
        self._deadlines = Deadlines()
        self._rebalances = Rebalances(surroundings.settings, self._deadlines)
        self.membership = Membership(self.groups, self.offsets, self._rebalances)
        """Join, sync, heartbeat, leave, in groups of the classic protocol."""
        timers = MemberTimers(self._deadlines)
        changes = Changes(timers, surroundings)
        migration = Migration(self.groups, timers, self._deadlines, surroundings)
        self.heartbeats = Heartbeats(self.consumer_groups, changes, migration, timers, surroundings)
        """All that members of groups of the consumer protocol do."""
        self._classic_members = ClassicMembers(changes, self.heartbeats, migration, timers, surroundings)
        self.commits = Commits(self.groups, self.consumer_groups, self.offsets, self._rebalances)
        """Commit, fetch and delete offsets."""

    def change_settings(self, settings: GroupSettings) -> None:
        """Decide by other settings from now on."""
        self._rebalances.settings = settings

    # The classic protocol, in groups of both

    def join(self, request: messages.JoinGroupRequest, caller: Caller, now: Moment) -> Outcome:
        """Let somebody into a group, or in again."""
        group = self.consumer_groups.get(request.group_id)
        if group is None:
            return self.membership.join(request, caller, now)
        if group.members:
            return self._classic_members.join(group, request, caller, now)
        outcome = self.membership.join(request, caller, now)
        if request.group_id in self.groups:  # it has begun anew in the classic protocol
            outcome.records[:0] = group.removal()
        return outcome

    def sync(self, request: messages.SyncGroupRequest, token: Token, now: Moment) -> Outcome:
        """Give a member its assignment, now or when the leader has made it."""
        group = self.consumer_groups.get(request.group_id)
        if group is None:
            return self.membership.sync(request, token, now)
        return self._classic_members.sync(group, request, token, now)

    def heartbeat(
        self, group_id: str, generation: int, member_id: str, instance_id: str | None, now: Moment
    ) -> ErrorCode:
        """Take a sign of life."""
        group = self.consumer_groups.get(group_id)
        if group is None:
            return self.membership.heartbeat(group_id, generation, member_id, instance_id, now.steady_ms)
        return self._classic_members.heartbeat(group, generation, member_id, instance_id, now)

    def leave(self, request: messages.LeaveGroupRequest, token: Token, now: Moment) -> Outcome:
        """Let members go."""
        group = self.consumer_groups.get(request.group_id)
        if group is None:
            return self.membership.leave(request, token, now)
        return self._classic_members.leave(group, request, token, now)

    # Administration

    def delete_groups(self, group_ids: Iterable[str], token: Token, now: Moment) -> Outcome:
        """Delete groups without members, with all that they have committed."""
        outcome = Outcome(now)
        error_codes: dict[str, int] = {}
        for group_id in dict.fromkeys(group_ids):
            group = self.groups.get(group_id) or self.consumer_groups.get(group_id)
            if group is None:
                error_codes[group_id] = ErrorCode.GROUP_ID_NOT_FOUND
            elif group.members or group.state != GroupState.EMPTY:
                error_codes[group_id] = ErrorCode.NON_EMPTY_GROUP
            else:
                error_codes[group_id] = ErrorCode.NONE
                outcome.records += self.commits.forget_group(group)
        outcome.answer(token, replies.DeleteGroupsReply(error_codes))
        return outcome

    def list_groups(self, states: Collection[str], types: Collection[str]) -> list[messages.ListedGroup]:
        """List the groups in these states and of these types; if none are named, in any."""
        states = {state.lower() for state in states}
        types = {type_.lower() for type_ in types}
        return [
            messages.ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type or "",
                group_state=str(group.state),
                group_type=kind,
            )
            for kind, groups in self._groups_by_kind()
            if not types or kind in types
            for group in groups
            if not states or group.state.lower() in states
        ]

    def _groups_by_kind(self) -> Iterator[tuple[str, list[Group] | list[ConsumerGroup]]]:
        yield CLASSIC_TYPE, list(self.groups.values())
        yield CONSUMER_KIND, list(self.consumer_groups.values())

    def describe(self, group_id: str) -> messages.DescribeGroupsResponseDescribedGroup | None:
        """Tell all about a group of the classic protocol; None if it is not there."""
        group = self.groups.get(group_id)
        if group is None:
            return None
        is_stable = group.state is GroupState.STABLE
        protocol_name = group.protocol_name if is_stable else None
        return messages.DescribeGroupsResponseDescribedGroup(
            group_id=group_id,
            group_state=str(group.state),
            protocol_type=group.protocol_type or "",
            protocol_data=protocol_name or "",
            members=[
                messages.DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client.client_id,
                    client_host=member.client.host,
                    member_metadata=member.subscription(protocol_name) if is_stable else b"",
                    member_assignment=member.assignment,
                )
                for member in group.members.values()
            ],
        )

    def describe_consumer_group(
        self, group_id: str
    ) -> messages.ConsumerGroupDescribeResponseDescribedGroup | None:
        """Tell all about a group of the consumer protocol; None if it is not there."""
        group = self.consumer_groups.get(group_id)
        return None if group is None else description.describe(group, self._surroundings)

    # What is there, for those who watch

    def overview(self) -> Iterator[GroupOverview]:
        """Go through the groups; they may change meanwhile."""
        for kind, groups in self._groups_by_kind():
            for group in groups:
                yield GroupOverview(group.group_id, kind, str(group.state), tuple(group.members))

    def committed(self) -> Iterator[CommittedPlace]:
        """Go through all that groups have committed; it may change meanwhile."""
        for group_id in self.offsets.group_ids():
            for topic, partition, value in list(self.offsets.of_group(group_id)):
                yield CommittedPlace(group_id, topic, partition, value.offset)

    def committed_for(self, topic: str, partition: int) -> Iterator[CommittedPlace]:
        """Go through what groups have committed for one partition."""
        for group_id in self.offsets.group_ids():
            value = self.offsets.get(group_id, topic, partition)
            if value is not None:
                yield CommittedPlace(group_id, topic, partition, value.offset)

    # Time

    @property
    def next_deadline_ms(self) -> int:
        """When to call `pass_time` again, on the steady clock; NEVER if nothing is waited for."""
        return self._deadlines.next_ms

    def pass_time(self, now: Moment) -> Iterator[Outcome]:
        """End the sessions, waits and phases that are due. Each outcome is to be carried out before the next
        is asked for."""
        for due in self._deadlines.take_due(now.steady_ms):
            outcome = Outcome(now)
            match due:
                case PhaseEnd():
                    self._rebalances.end_phase(due.group, outcome)
                case Member() if due.group.members.get(due.member_id) is due:
                    self._rebalances.end_session(due, outcome)
                case PendingMember():
                    self.membership.end_pending(due, outcome)
                case MemberDeadline():
                    self.heartbeats.end_wait(due, outcome)
                case Downgraded():
                    self._go_on_in_classic(due, outcome)
            if outcome.answers or outcome.records:
                yield outcome

    def _go_on_in_classic(self, downgraded: Downgraded, outcome: Outcome) -> None:
        """Serve the members of a group that was one of the consumer protocol a moment ago."""
        group = self.groups.get(downgraded.group_id)
        if group is None or not group.members or group.state is not GroupState.STABLE:
            return
        for member in group.members.values():
            self._rebalances.hear_from(member, outcome.now)
        if downgraded.is_stale:
            self._rebalances.begin(group, outcome)

    def group_ids(self) -> list[str]:
        """List the groups of both protocols."""
        return [*self.groups, *self.consumer_groups]

    def topics_changed(self, names: Collection[str], *, are_new: bool) -> None:
        """Let groups that read these topics look at them again; new ones may match an expression."""
        for group in self.consumer_groups.values():
            if (are_new and group.patterns) or any(map(group.is_subscribed_to, names)):
                group.is_refresh_due = True

    def expire_offsets(self, group_id: str, now: Moment) -> Outcome:
        """Forget what a group committed too long ago, and the group if nothing is left of it."""
        group = self.groups.get(group_id) or self.consumer_groups.get(group_id)
        return Outcome(now) if group is None else self.commits.expire(group, now)

    # The log

    def replay(self, record: GroupRecord, place: int, producer_id: int = NO_PRODUCER) -> None:
        """Take in a record that lies at `place` in the log. The only way in which what is stored changes."""
        if isinstance(record, OffsetCommit):
            self.offsets.replay(record, place, producer_id)
            if record.value is not None:
                self._group_of_commits(record.group_id)
        elif isinstance(record, GroupMetadata):
            self._replay_classic(record)
        else:
            self._replay_consumer(record)

    def _group_of_commits(self, group_id: str) -> None:
        """Let there be a group for commits: whoever commits without being a member is one all the same."""
        if group_id not in self.groups and group_id not in self.consumer_groups:
            self.groups[group_id] = Group(group_id)

    def _replay_classic(self, record: GroupMetadata) -> None:
        group = self.groups.get(record.group_id)
        if record.value is not None:
            if group is None:
                group = self.groups[record.group_id] = Group(record.group_id)
            self.consumer_groups.pop(record.group_id, None)
            group.replay(record.value)
        elif group is not None:
            for deadline in (*group.members.values(), *group.pending.values(), group.phase_end):
                self._deadlines.clear(deadline)
            del self.groups[record.group_id]

    def _replay_consumer(self, record: ConsumerRecord) -> None:
        """Take in a record about a group of the consumer protocol; the first one with a value begins it."""
        group_id = record.group_id
        group = self.consumer_groups.get(group_id)
        if isinstance(record, GroupEpoch) and record.value is None:
            if group is not None:
                del self.consumer_groups[group_id]
                if self.offsets.has_any(group_id):
                    self._group_of_commits(group_id)
            return
        if group is None:
            if record.value is None:
                return
            group = self.consumer_groups[group_id] = ConsumerGroup(group_id)
            self._replay_classic(GroupMetadata(group_id, None))
        group.replay(record)

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Take in the end of a transaction."""
        self.offsets.replay_marker(producer_id, is_commit=is_commit)

    def loaded(self, now: Moment) -> Iterator[Outcome]:
        """Begin to serve what was replayed: sessions begin anew. To be used as `pass_time` is."""
        for group_id in self.consumer_groups:
            self.heartbeats.see_to_sessions(group_id, now)
        for group in list(self.groups.values()):
            for member in group.members.values():
                self._rebalances.hear_from(member, now)
            if len(group.members) > self._rebalances.settings.group_max_size:
                outcome = Outcome(now)
                self._rebalances.begin(group, outcome)
                yield outcome

    def refused(self, refused: Outcome) -> Outcome:
        """Go on after the log refused an outcome's records: nothing of what it says about a group is so."""
        outcome = Outcome(refused.now)
        group = refused.group
        if group is not None:
            group.staged = None
            if group.state is GroupState.COMPLETING:
                self._rebalances.begin(group, outcome)
        for group_id in {record.group_id for record in refused.records}:
            self.heartbeats.see_to_sessions(group_id, refused.now)
            if group_id in self.groups and group_id in self.consumer_groups:
                self._unbegin(self.groups.pop(group_id), outcome)
        return outcome

    def _unbegin(self, group: Group, outcome: Outcome) -> None:
        """Drop a group that was to begin anew in the classic protocol, had the log taken the other's end."""
        for deadline in (*group.members.values(), *group.pending.values(), group.phase_end):
            self._deadlines.clear(deadline)
        for member_id, token in group.joining.items():
            outcome.answer(token, replies.not_joined(ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id))

    def unload(self, error_code: ErrorCode, now: Moment) -> Outcome:
        """Stop serving: whoever waits is told to look elsewhere."""
        outcome = Outcome(now)
        for group in self.groups.values():
            for member_id, token in group.joining.items():
                outcome.answer(token, replies.not_joined(error_code, member_id))
            for token in group.syncing.values():
                outcome.answer(token, replies.not_synced(error_code))
            group.joining.clear()
            group.syncing.clear()
        return outcome
