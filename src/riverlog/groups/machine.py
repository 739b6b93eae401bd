"""The groups of one partition of the offsets topic, as a replicated state machine.

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
from riverlog.groups.deadlines import Deadlines
from riverlog.groups.group import Group, GroupState, PhaseEnd
from riverlog.groups.member import Member, PendingMember, Token
from riverlog.groups.membership import Membership
from riverlog.groups.offsets import OffsetStore
from riverlog.groups.outcome import Outcome
from riverlog.groups.overview import CommittedPlace, GroupOverview
from riverlog.groups.rebalance import Rebalances
from riverlog.groups.records import GroupRecord, OffsetCommit, decode, encode
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import NO_PRODUCER

if TYPE_CHECKING:
    from riverlog.config import GroupSettings
    from riverlog.shards import Moment

CLASSIC_TYPE = "classic"
DEAD = "Dead"
"""The state of a group that is not there, in answers to those who ask."""


class GroupMachine:
    """Decides for all groups of one partition."""

    encode = staticmethod(encode)
    decode = staticmethod(decode)

    def __init__(self, settings: GroupSettings) -> None:
        self.groups: dict[str, Group] = {}
        self.offsets = OffsetStore()
        self._deadlines = Deadlines()
        self._rebalances = Rebalances(settings, self._deadlines)
        self.membership = Membership(self.groups, self.offsets, self._rebalances)
        """Join, sync, heartbeat, leave."""
        self.commits = Commits(self.groups, self.offsets, self._rebalances)
        """Commit, fetch and delete offsets."""

    def change_settings(self, settings: GroupSettings) -> None:
        """Decide by other settings from now on."""
        self._rebalances.settings = settings

    # Administration

    def delete_groups(self, group_ids: Iterable[str], token: Token, now: Moment) -> Outcome:
        """Delete groups without members, with all that they have committed."""
        outcome = Outcome(now)
        error_codes: dict[str, int] = {}
        for group_id in dict.fromkeys(group_ids):
            group = self.groups.get(group_id)
            if group is None:
                error_codes[group_id] = ErrorCode.GROUP_ID_NOT_FOUND
            elif group.state is not GroupState.EMPTY:
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
        if types and CLASSIC_TYPE not in types:
            return []
        return [
            messages.ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type or "",
                group_state=str(group.state),
                group_type=CLASSIC_TYPE,
            )
            for group in self.groups.values()
            if not states or group.state.lower() in states
        ]

    def describe(self, group_id: str) -> messages.DescribeGroupsResponseDescribedGroup | None:
        """Tell all about a group; None if it is not there."""
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

    # What is there, for those who watch

    def overview(self) -> Iterator[GroupOverview]:
        """Go through the groups; they may change meanwhile."""
        for group in list(self.groups.values()):
            yield GroupOverview(group.group_id, CLASSIC_TYPE, str(group.state), tuple(group.members))

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
            if outcome.answers or outcome.records:
                yield outcome

    def expire_offsets(self, group_id: str, now: Moment) -> Outcome:
        """Forget what a group committed too long ago, and the group if nothing is left of it."""
        group = self.groups.get(group_id)
        return Outcome(now) if group is None else self.commits.expire(group, now)

    # The log

    def replay(self, record: GroupRecord, place: int, producer_id: int = NO_PRODUCER) -> None:
        """Take in a record that lies at `place` in the log. The only way in which what is stored changes."""
        group = self.groups.get(record.group_id)
        if isinstance(record, OffsetCommit):
            self.offsets.replay(record, place, producer_id)
            if group is None and record.value is not None:
                # Somebody who commits without being a member: a group all the same.
                self.groups[record.group_id] = Group(record.group_id)
        elif record.value is not None:
            if group is None:
                group = self.groups[record.group_id] = Group(record.group_id)
            group.replay(record.value)
        elif group is not None:
            for deadline in (*group.members.values(), *group.pending.values(), group.phase_end):
                self._deadlines.clear(deadline)
            del self.groups[record.group_id]

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Take in the end of a transaction."""
        self.offsets.replay_marker(producer_id, is_commit=is_commit)

    def loaded(self, now: Moment) -> Iterator[Outcome]:
        """Begin to serve what was replayed: sessions begin anew. To be used as `pass_time` is."""
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
        return outcome

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
