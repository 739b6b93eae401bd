"""Who is in a group: join, sync, heartbeat and leave of the classic protocol, all versions.

    member                                coordinator
      join, without an id            ──▶  here is one, join again with it (KIP-394, version 4 on)
      join                           ──▶  ... waits for the others, then: generation, leader, members
      sync (leader: all assignments) ──▶  ... waits for the leader, then: the assignment
      heartbeat, now and then        ──▶  fine, or: join again
      leave                          ──▶  fine

Static members (KIP-345) bring a name of their own. Coming back under it they take their old place: in a
stable group without a rebalance, and whoever still holds the old member id is fenced.

A connection that is lost changes nothing: a member is out when its session ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from riverlog.groups import replies
from riverlog.groups.group import Group, GroupState
from riverlog.groups.member import Client, Member, PendingMember, Protocols, Token
from riverlog.groups.outcome import Outcome
from riverlog.groups.records import GroupMetadata
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.groups.offsets import OffsetStore
    from riverlog.groups.rebalance import Rebalances
    from riverlog.shards import Moment

FIRST_JOIN_VERSION_WITH_KNOWN_IDS = 4
FIRST_JOIN_VERSION_THAT_SKIPS_ASSIGNMENT = 9

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""How long a join of a new member may wait. It cannot send heartbeats yet, so its client may be long gone."""

PENDING_MEMBERS_MAX = 10_000
"""How many ids a group may have given out whose receivers are not back yet."""


class Caller(NamedTuple):
    """The circumstances of a join."""

    version: int
    client: Client
    token: Token
    unique: str
    """A text that no member id has had before."""


class Membership:
    """Decides the requests of members."""

    def __init__(self, groups: dict[str, Group], offsets: OffsetStore, rebalances: Rebalances) -> None:
        self._groups = groups
        self._offsets = offsets
        self._rebalances = rebalances

    # Join

    def join(self, request: messages.JoinGroupRequest, caller: Caller, now: Moment) -> Outcome:
        """Let somebody in, or in again."""
        outcome = Outcome(now)
        member_id = request.member_id
        if not request.group_id:
            refusal = ErrorCode.INVALID_GROUP_ID
        elif not self._allows_session(request.session_timeout_ms):
            refusal = ErrorCode.INVALID_SESSION_TIMEOUT
        else:
            group = self._groups.get(request.group_id)
            if group is None and member_id:
                refusal = ErrorCode.UNKNOWN_MEMBER_ID
            else:
                group = group or Group(request.group_id)
                if not self._has_room_for(group, member_id):
                    self._turn_away(group, member_id, outcome)
                    refusal, member_id = ErrorCode.GROUP_MAX_SIZE_REACHED, replies.NO_MEMBER_ID
                else:
                    refusal = self._join(group, request, caller, outcome)
        if refusal:
            outcome.answer(caller.token, replies.not_joined(refusal, member_id))
        return outcome

    def _join(
        self, group: Group, request: messages.JoinGroupRequest, caller: Caller, outcome: Outcome
    ) -> ErrorCode:
        """Let somebody into a group that has room; returns why not, NONE if so."""
        member_id = request.member_id
        instance_id = request.group_instance_id
        protocols = tuple((protocol.name, protocol.metadata) for protocol in request.protocols)
        if not group.can_take(request.protocol_type, protocols):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if not member_id:
            prefix = caller.client.client_id if instance_id is None else instance_id
            new = _new_member(group, f"{prefix}-{caller.unique}", request, caller, protocols)
            self._join_as_new(group, new, request.protocol_type, caller, outcome)
            return ErrorCode.NONE
        if member_id in group.pending and instance_id is None:
            new = _new_member(group, member_id, request, caller, protocols)
            self._admit(group, new, request.protocol_type, caller.token, outcome)
            return ErrorCode.NONE
        objection = group.objection_to(member_id, instance_id)
        if not objection:
            self._join_again(group, group.members[member_id], request, caller, protocols, outcome)
        return objection

    def _allows_session(self, session_timeout_ms: int) -> bool:
        settings = self._rebalances.settings
        return (
            settings.group_min_session_timeout_ms
            <= session_timeout_ms
            <= settings.group_max_session_timeout_ms
        )

    def _has_room_for(self, group: Group, member_id: str) -> bool:
        """Say whether the group is small enough, or the member counted already.

        While the group rebalances those count who have joined so far: should the limit have been lowered,
        the last to come are turned away.
        """
        size_max = self._rebalances.settings.group_max_size
        if not member_id and len(group.pending) >= PENDING_MEMBERS_MAX:
            return False
        match group.state:
            case GroupState.EMPTY:
                return True
            case GroupState.PREPARING:
                return member_id in group.joining or len(group.joining) < size_max
            case _:
                return member_id in group.members or len(group.members) < size_max

    def _turn_away(self, group: Group, member_id: str, outcome: Outcome) -> None:
        self._forget_pending(group, member_id)
        if member_id in group.members:
            self._rebalances.dismiss(group, group.members[member_id], outcome)
        self._rebalances.complete_if_all_joined(group, outcome)

    def _join_as_new(
        self, group: Group, new: Member, protocol_type: str, caller: Caller, outcome: Outcome
    ) -> None:
        """Decide a join without a member id: static and here before, in two steps, or straight in."""
        self._groups.setdefault(group.group_id, group)
        old_id = group.static_ids.get(new.instance_id) if new.instance_id is not None else None
        if old_id is not None:
            self._join_in_place_of(group, group.members[old_id], new, caller, outcome)
        elif new.instance_id is None and caller.version >= FIRST_JOIN_VERSION_WITH_KNOWN_IDS:
            pending = PendingMember(group, new.member_id)
            group.pending[new.member_id] = pending
            self._rebalances.deadlines.set(pending, outcome.now.steady_ms + new.session_timeout_ms)
            outcome.answer(caller.token, replies.not_joined(ErrorCode.MEMBER_ID_REQUIRED, new.member_id))
        else:
            self._admit(group, new, protocol_type, caller.token, outcome)

    def _admit(
        self, group: Group, member: Member, protocol_type: str, token: Token, outcome: Outcome
    ) -> None:
        """Add a new member and have everybody join again."""
        self._forget_pending(group, member.member_id)
        if not group.members:
            group.protocol_type = protocol_type
        if group.first_rebalance is not None:
            group.first_rebalance.has_newcomers = True
        group.add(member)
        member.is_new = True
        self._rebalances.deadlines.set(member, outcome.now.steady_ms + NEW_MEMBER_JOIN_TIMEOUT_MS)
        group.joining[member.member_id] = token
        self._rebalances.begin_or_go_on(group, outcome)

    def _join_again(
        self,
        group: Group,
        member: Member,
        request: messages.JoinGroupRequest,
        caller: Caller,
        protocols: Protocols,
        outcome: Outcome,
    ) -> None:
        """Decide a join of a member.

        If it changes nothing, the member merely missed the answer to the last one and gets it again. In a
        stable group a leader's join always counts: it may have seen that topics changed.
        """
        changes_nothing = protocols == member.protocols and (
            group.state is GroupState.COMPLETING
            or (group.state is GroupState.STABLE and member.member_id != group.leader_id)
        )
        if changes_nothing:
            outcome.answer(caller.token, replies.joined(group, member.member_id))
            return
        group.change_protocols(member, protocols)
        member.session_timeout_ms = request.session_timeout_ms
        member.rebalance_timeout_ms = _rebalance_timeout_ms(request, caller.version)
        earlier = group.joining.pop(member.member_id, None)
        if earlier is not None:
            # It has most likely lost the connection it asked on. If not, it may ask a third time.
            again = replies.not_joined(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            outcome.answer(earlier, again)
        group.joining[member.member_id] = caller.token
        self._rebalances.begin_or_go_on(group, outcome)

    def _forget_pending(self, group: Group, member_id: str) -> bool:
        pending = group.pending.pop(member_id, None)
        if pending is None:
            return False
        self._rebalances.deadlines.clear(pending)
        return True

    def end_pending(self, pending: PendingMember, outcome: Outcome) -> None:
        """Give up on somebody who did not come back with the id that it got."""
        if self._forget_pending(pending.group, pending.member_id):
            self._rebalances.complete_if_all_joined(pending.group, outcome)
            self._forget_if_vacant(pending.group.group_id)

    def _forget_if_vacant(self, group_id: str) -> None:
        """Drop a group that somebody only began to join: the log knows nothing of it."""
        group = self._groups.get(group_id)
        if (
            group is not None
            and group.stored is None
            and group.state is GroupState.EMPTY
            and not group.pending
            and not self._offsets.has_any(group_id)
        ):
            del self._groups[group_id]

    # Static members

    def _join_in_place_of(
        self, group: Group, old: Member, new: Member, caller: Caller, outcome: Outcome
    ) -> None:
        """Decide a join of a static member that is here already, under its former member id."""
        if group.state is GroupState.STABLE:
            elected = group.elected_protocol(instead_of=old.member_id, protocols=new.protocols)
            if elected == group.protocol_name:
                self._stage(group, old, new, caller, outcome)
                return
        self._fence(group, old, outcome)
        group.replace(old.member_id, new)
        self._rebalances.deadlines.clear(old)
        self._rebalances.hear_from(new, outcome.now)
        group.joining[new.member_id] = caller.token
        # Also where the leader is about to assign: it would do so to the old member id.
        self._rebalances.begin_or_go_on(group, outcome)

    def _stage(self, group: Group, old: Member, new: Member, caller: Caller, outcome: Outcome) -> None:
        """Let the new incarnation have the old one's place and assignment, as soon as the log says so."""
        is_leader = group.leader_id == old.member_id
        group.staged = new
        self._rebalances.hear_from(new, outcome.now)
        members = [
            (new if member is old else member).stored(group.protocol_name, member.assignment)
            for member in group.members.values()
        ]
        leader_id = new.member_id if is_leader else group.leader_id
        outcome.group = group
        outcome.records.append(
            GroupMetadata(group.group_id, group.as_stored(outcome.now.wall_ms, members, leader_id))
        )
        reply = replies.joined(group, new.member_id)
        if is_leader and caller.version >= FIRST_JOIN_VERSION_THAT_SKIPS_ASSIGNMENT:
            # It leads again and wants to know whom, but nobody waits for an assignment (KIP-814). An older
            # version cannot say that: there the leader is named by its former id, which makes it follow.
            reply.leader = new.member_id
            reply.skip_assignment = True
            reply.members = [
                messages.JoinGroupResponseMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    metadata=member.subscription,
                )
                for member in members
            ]
        outcome.answer(caller.token, reply)

    def _fence(self, group: Group, old: Member, outcome: Outcome) -> None:
        """Refuse what a static member's old incarnation waits for."""
        token = group.joining.pop(old.member_id, None)
        if token is not None:
            outcome.answer(token, replies.not_joined(ErrorCode.FENCED_INSTANCE_ID, old.member_id))
        if old.member_id in group.syncing:
            self._rebalances.refuse_sync(group, old.member_id, ErrorCode.FENCED_INSTANCE_ID, outcome)

    # Sync

    def sync(self, request: messages.SyncGroupRequest, token: Token, now: Moment) -> Outcome:
        """Give a member its assignment, now or when the leader has made it."""
        outcome = Outcome(now)
        group = self._groups.get(request.group_id)
        if group is None:
            unknown = ErrorCode.UNKNOWN_MEMBER_ID if request.group_id else ErrorCode.INVALID_GROUP_ID
            outcome.answer(token, replies.not_synced(unknown))
            return outcome
        objection = _objection_to_sync(group, request)
        if objection:
            outcome.answer(token, replies.not_synced(objection))
            return outcome
        member_id = request.member_id
        self._rebalances.note_synced(group, member_id)
        if group.state is GroupState.STABLE:
            self._rebalances.hear_from(group.members[member_id], now)
            outcome.answer(token, replies.synced(group, group.members[member_id].assignment))
            return outcome
        if member_id in group.syncing:
            self._rebalances.refuse_sync(group, member_id, ErrorCode.REBALANCE_IN_PROGRESS, outcome)
        group.syncing[member_id] = token
        if member_id == group.leader_id:
            assignments = {each.member_id: each.assignment for each in request.assignments}
            self._rebalances.assign(group, assignments, outcome)
        return outcome

    # Heartbeat

    def heartbeat(
        self, group_id: str, generation: int, member_id: str, instance_id: str | None, steady_ms: int
    ) -> ErrorCode:
        """Take a sign of life. Called more often than all else together: a few look-ups, nothing is made."""
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID if group_id else ErrorCode.INVALID_GROUP_ID
        member = group.members.get(member_id)
        if member is None or instance_id is not None:
            objection = group.objection_to(member_id, instance_id)
            if objection or member is None:
                return objection
        if generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        due_ms = steady_ms + member.session_timeout_ms
        if due_ms >= member.queued_ms:
            member.due_ms = due_ms
        else:
            self._rebalances.deadlines.set(member, due_ms)
        if group.state is GroupState.PREPARING:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    # Leave

    def leave(self, request: messages.LeaveGroupRequest, token: Token, now: Moment) -> Outcome:
        """Let members go: any by its id, a static one also by its name alone, as an administrator does."""
        outcome = Outcome(now)
        response = messages.LeaveGroupResponse()
        if not request.group_id:
            response.error_code = ErrorCode.INVALID_GROUP_ID
            outcome.answer(token, response)
            return outcome
        group = self._groups.get(request.group_id)
        error_codes = [
            ErrorCode.UNKNOWN_MEMBER_ID if group is None else self._let_go(group, leaving, outcome)
            for leaving in request.members
        ]
        response.members = [
            messages.MemberResponse(
                member_id=leaving.member_id,
                group_instance_id=leaving.group_instance_id,
                error_code=error_code,
            )
            for leaving, error_code in zip(request.members, error_codes, strict=True)
        ]
        outcome.answer(token, response)
        if group is not None and group.state is not GroupState.EMPTY and ErrorCode.NONE in error_codes:
            self._rebalances.begin_or_go_on(group, outcome)
        self._forget_if_vacant(request.group_id)
        return outcome

    def _let_go(self, group: Group, leaving: messages.MemberIdentity, outcome: Outcome) -> ErrorCode:
        member_id, instance_id = leaving.member_id, leaving.group_instance_id
        if self._forget_pending(group, member_id):
            return ErrorCode.NONE
        if not member_id and instance_id is not None:
            member_id = group.static_ids.get(instance_id, replies.NO_MEMBER_ID)
        objection = group.objection_to(member_id, instance_id)
        if not objection:
            self._rebalances.dismiss(group, group.members[member_id], outcome)
        return objection


def _new_member(
    group: Group,
    member_id: str,
    request: messages.JoinGroupRequest,
    caller: Caller,
    protocols: Protocols,
) -> Member:
    return Member(
        group,
        member_id,
        request.group_instance_id,
        caller.client,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=_rebalance_timeout_ms(request, caller.version),
        protocols=protocols,
    )


def _rebalance_timeout_ms(request: messages.JoinGroupRequest, version: int) -> int:
    """Give the time a member asks for to join again; version 0 had only one time-out for everything."""
    return request.session_timeout_ms if version == 0 else request.rebalance_timeout_ms


def _objection_to_sync(group: Group, request: messages.SyncGroupRequest) -> ErrorCode:
    objection = group.objection_to(request.member_id, request.group_instance_id)
    if objection:
        return objection
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    # Version 5 names what the member took part in (KIP-559), the older ones do not.
    if request.protocol_type not in (None, group.protocol_type):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name not in (None, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE
