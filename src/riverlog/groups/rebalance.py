"""How a group gets from one generation to the next, and what ends each phase on the way.

    begin      STABLE, COMPLETING or EMPTY to PREPARING: members learn from their heartbeats that they must
               join again. An empty group's first rebalance lasts `group.initial.rebalance.delay.ms`, longer
               for each newcomer; any other until all have joined, at most the longest rebalance timeout.
    complete   PREPARING to COMPLETING: all who joined are told the new generation, its leader also who is in
               it. Dynamic members who did not join are out. Static ones stay: they are expected back.
    assign     COMPLETING to STABLE: the leader's assignment becomes a record; all who wait are told theirs.

Members who never ask for their assignment are out after another rebalance timeout, and the rest
rebalances again. So a phase always ends, whoever falls silent in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from riverlog.groups import replies
from riverlog.groups.group import FirstRebalance, Group, GroupState
from riverlog.groups.records import GroupMetadata
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.config import GroupSettings
    from riverlog.groups.deadlines import Deadlines
    from riverlog.groups.member import Member
    from riverlog.groups.outcome import Outcome
    from riverlog.shards import Moment


class Rebalances:
    """Moves groups between the phases of a rebalance."""

    def __init__(self, settings: GroupSettings, deadlines: Deadlines) -> None:
        self.settings = settings
        self.deadlines = deadlines

    # The phases

    def begin(self, group: Group, outcome: Outcome) -> None:
        """Have all members join again."""
        for member_id in list(group.syncing):
            self.refuse_sync(group, member_id, ErrorCode.REBALANCE_IN_PROGRESS, outcome)
        group.unsynced.clear()
        was_empty = group.state is GroupState.EMPTY
        group.state = GroupState.PREPARING
        if was_empty:
            delay_ms = self.settings.group_initial_rebalance_delay_ms
            group.first_rebalance = FirstRebalance(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
            self.deadlines.set(group.phase_end, outcome.now.steady_ms + delay_ms)
        else:
            group.first_rebalance = None
            self.deadlines.set(group.phase_end, outcome.now.steady_ms + group.rebalance_timeout_ms)
            self.complete_if_all_joined(group, outcome)

    def begin_or_go_on(self, group: Group, outcome: Outcome) -> None:
        """Begin a rebalance; if one has begun, see whether it can go on."""
        if group.state is GroupState.PREPARING:
            self.complete_if_all_joined(group, outcome)
        else:
            self.begin(group, outcome)

    def complete_if_all_joined(self, group: Group, outcome: Outcome) -> None:
        """Go on to the next generation if nobody is missing. A first rebalance waits for its time instead."""
        if group.state is GroupState.PREPARING and group.first_rebalance is None and group.have_all_joined:
            self.complete(group, outcome)

    def complete(self, group: Group, outcome: Outcome) -> None:
        """Go on to the next generation, of those who joined."""
        assert group.state is GroupState.PREPARING
        self.deadlines.clear(group.phase_end)
        missing = [member for member in group.members.values() if member.member_id not in group.joining]
        for member in missing:
            if member.instance_id is None:
                self.dismiss(group, member, outcome)
        if group.members and not group.elect_joined_leader():
            # Only static members are left, none is back: wait for one, or for the end of their sessions.
            self.deadlines.set(group.phase_end, outcome.now.steady_ms + group.rebalance_timeout_ms)
            return
        group.begin_generation()
        if not group.members:
            outcome.records.append(
                GroupMetadata(group.group_id, group.as_stored(outcome.now.wall_ms, [], None))
            )
            return
        for member in group.members.values():
            token = group.joining.pop(member.member_id, None)
            if token is not None:
                outcome.answer(token, replies.joined(group, member.member_id))
            member.is_new = False
            self.hear_from(member, outcome.now)
        self.deadlines.set(group.phase_end, outcome.now.steady_ms + group.rebalance_timeout_ms)

    def assign(self, group: Group, assignments: Mapping[str, bytes], outcome: Outcome) -> None:
        """Store what the leader assigned, and tell it to all who wait. Whoever it left out gets nothing."""
        assert group.state is GroupState.COMPLETING
        members = [
            member.stored(group.protocol_name, assignments.get(member.member_id, b""))
            for member in group.members.values()
        ]
        outcome.group = group
        outcome.records.append(
            GroupMetadata(group.group_id, group.as_stored(outcome.now.wall_ms, members, group.leader_id))
        )
        for member_id, token in group.syncing.items():
            outcome.answer(token, replies.synced(group, assignments.get(member_id, b"")))
            self.hear_from(group.members[member_id], outcome.now)
        group.syncing.clear()

    # What time brings

    def end_phase(self, group: Group, outcome: Outcome) -> None:
        """Go on without whoever is missing: the phase has lasted long enough."""
        if group.state is GroupState.PREPARING:
            first = group.first_rebalance
            if first is not None and first.has_newcomers and first.left_ms:
                self._prolong(group, first, outcome.now)
            else:
                self.complete(group, outcome)
        elif group.unsynced:
            for member_id in list(group.unsynced):
                self.dismiss(group, group.members[member_id], outcome)
            self.begin(group, outcome)

    def _prolong(self, group: Group, first: FirstRebalance, now: Moment) -> None:
        delay_ms = min(self.settings.group_initial_rebalance_delay_ms, first.left_ms)
        first.left_ms = max(first.left_ms - first.delay_ms, 0)
        first.delay_ms = delay_ms
        first.has_newcomers = False
        self.deadlines.set(group.phase_end, now.steady_ms + delay_ms)

    def end_session(self, member: Member, outcome: Outcome) -> None:
        """Take a member out that was silent for too long."""
        group = member.group
        if group.is_owed_an_answer(member) and not member.is_new:
            return  # the answer begins the session anew
        self.dismiss(group, member, outcome)
        self.begin_or_go_on(group, outcome)

    # Members

    def hear_from(self, member: Member, now: Moment) -> None:
        """Begin the member's session anew."""
        self.deadlines.set(member, now.steady_ms + member.session_timeout_ms)

    def dismiss(self, group: Group, member: Member, outcome: Outcome) -> None:
        """Take a member out. What it waits for is refused, so that it can come back if it is still there."""
        for waiting, refusal in (
            (group.joining, replies.not_joined(ErrorCode.UNKNOWN_MEMBER_ID, replies.NO_MEMBER_ID)),
            (group.syncing, replies.not_synced(ErrorCode.UNKNOWN_MEMBER_ID)),
        ):
            token = waiting.pop(member.member_id, None)
            if token is not None:
                outcome.answer(token, refusal)
        group.remove(member.member_id)
        self.deadlines.clear(member)

    def refuse_sync(self, group: Group, member_id: str, error_code: ErrorCode, outcome: Outcome) -> None:
        """Refuse a member the assignment that it waits for."""
        outcome.answer(group.syncing.pop(member_id), replies.not_synced(error_code))
        self.hear_from(group.members[member_id], outcome.now)

    def note_synced(self, group: Group, member_id: str) -> None:
        """The member asked for its assignment; once all have, nobody is waited for any more."""
        group.unsynced.discard(member_id)
        if not group.unsynced:
            self.deadlines.clear(group.phase_end)
