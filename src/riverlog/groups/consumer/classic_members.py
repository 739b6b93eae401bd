"""Members that speak the classic protocol in a group whose assignment the broker decides (KIP-848).

Half of a group's members may be restarted with the new protocol while the others run on. Those others
join, sync and send heartbeats as ever, and find a group whose leader is somebody else: the broker.

    heartbeat   27, join again, when the member is to take a step: give up partitions, or get some
    join        the step; the generation is the member's epoch, at once, without waiting for anybody
    sync        what it has in that epoch

A member that does not join, or sync, within its rebalance time-out is taken out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.errors import RemoteProtocolError, RequestRefused
from riverlog.groups import replies
from riverlog.groups.consumer.changes import Changes, Draft
from riverlog.groups.consumer.embedded import ReadSubscription, read_subscription
from riverlog.groups.consumer.member import NO_PATTERN, ClassicSide, MemberState, Subscription
from riverlog.groups.consumer.migration import DISABLED, Migration
from riverlog.groups.consumer.timers import Wait
from riverlog.groups.outcome import Outcome
from riverlog.groups.subscription import CONSUMER_PROTOCOL_TYPE
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.groups.consumer.group import ConsumerGroup
    from riverlog.groups.consumer.heartbeats import Heartbeats
    from riverlog.groups.consumer.reconciliation import Owned
    from riverlog.groups.consumer.timers import MemberTimers
    from riverlog.groups.member import Token
    from riverlog.groups.membership import Caller
    from riverlog.groups.surroundings import Surroundings
    from riverlog.shards import Moment

FIRST_JOIN_VERSION_WITH_KNOWN_IDS = 4


class ClassicMembers:
    """Decides the classic protocol's requests about such groups. All of them have members."""

    def __init__(
        self,
        changes: Changes,
        heartbeats: Heartbeats,
        migration: Migration,
        timers: MemberTimers,
        surroundings: Surroundings,
    ) -> None:
        self._changes = changes
        self._heartbeats = heartbeats
        self._migration = migration
        self._timers = timers
        self._surroundings = surroundings

    # Join

    def join(
        self, group: ConsumerGroup, request: messages.JoinGroupRequest, caller: Caller, now: Moment
    ) -> Outcome:
        """Let somebody in, or take a member's next step."""
        outcome = Outcome(now)
        try:
            response = self._join(Draft(group, outcome), request, caller)
        except RequestRefused as refused:
            if outcome.records:
                outcome.records.clear()
                self._heartbeats.see_to_sessions(group.group_id, now)
            member_id = request.member_id
            if refused.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED:
                member_id = replies.NO_MEMBER_ID
            response = replies.not_joined(refused.error_code, member_id)
        outcome.answer(caller.token, response)
        return outcome

    def _join(
        self, draft: Draft, request: messages.JoinGroupRequest, caller: Caller
    ) -> messages.JoinGroupResponse:
        group_id, instance_id = request.group_id, request.group_instance_id
        member_id = request.member_id or caller.unique
        protocols = tuple((protocol.name, protocol.metadata) for protocol in request.protocols)
        told = self._check(draft.group, request)
        is_known = bool(request.member_id)
        if not is_known and instance_id is None and caller.version >= FIRST_JOIN_VERSION_WITH_KNOWN_IDS:
            return replies.not_joined(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        may_downgrade = self._admit(draft, member_id, instance_id, is_known=is_known)
        former = draft.group.members.get(member_id) or Subscription()
        member = Subscription(
            instance_id=former.instance_id if instance_id is None else instance_id,
            rack_id=told.rack_id or former.rack_id,
            client=caller.client,
            topics=told.topics,
            pattern=NO_PATTERN,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            assignor=former.assignor,
            classic=ClassicSide(request.session_timeout_ms, protocols),
        )
        has_resubscribed = self._changes.resubscribe(draft, member_id, member)
        owned = self._by_id(told)
        steady_ms = draft.now.steady_ms
        if may_downgrade and self._migration.can_downgrade(draft.group):
            is_stale = draft.group.assignment_epoch < draft.group.epoch
            standing = draft.group.standing(member_id)
            if not is_stale:
                standing = self._changes.reconcile(draft, member_id, owned, has_resubscribed=has_resubscribed)
            self._migration.downgrade(draft, is_stale=is_stale)
        else:
            self._changes.retarget(draft)
            standing = self._changes.reconcile(draft, member_id, owned, has_resubscribed=has_resubscribed)
            self._timers.stop(Wait.JOIN, group_id, member_id)
            self._timers.stop(Wait.REVOCATION, group_id, member_id)
            self._timers.hear_from(group_id, member_id, steady_ms + request.session_timeout_ms)
            self._timers.give_time(Wait.SYNC, group_id, member_id, steady_ms + request.rebalance_timeout_ms)
        return messages.JoinGroupResponse(
            generation_id=standing.epoch,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=protocols[0][0],
            member_id=member_id,
        )

    def _check(self, group: ConsumerGroup, request: messages.JoinGroupRequest) -> ReadSubscription:
        """See to it that this may become a member, or is one; gives what it reads."""
        settings, consumer = self._surroundings.settings, self._surroundings.consumer
        if not (
            settings.group_min_session_timeout_ms
            <= request.session_timeout_ms
            <= settings.group_max_session_timeout_ms
        ):
            raise RequestRefused(ErrorCode.INVALID_SESSION_TIMEOUT)
        if consumer.group_consumer_migration_policy == DISABLED:
            raise RequestRefused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        is_full = len(group.members) >= consumer.group_consumer_max_size
        if is_full and request.member_id not in group.members:
            raise RequestRefused(ErrorCode.GROUP_MAX_SIZE_REACHED)
        names = [protocol.name for protocol in request.protocols]
        if not names or not group.supports_classic(request.protocol_type, names):
            raise RequestRefused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        try:
            return read_subscription(request.protocols[0].metadata)
        except RemoteProtocolError as error:
            raise RequestRefused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(error)) from error

    def _admit(self, draft: Draft, member_id: str, instance_id: str | None, *, is_known: bool) -> bool:
        """Find a static member's place; say whether that may be the last step to the classic protocol."""
        if instance_id is None:
            return False
        group = draft.group
        old_id = group.static_ids.get(instance_id)
        if is_known:
            objection = group.objection_to(member_id, instance_id)
            if objection:
                raise RequestRefused(objection)
            return group.members[member_id].classic is None
        if old_id is None:
            return False
        was_classic = group.members[old_id].classic is not None
        self._changes.take_place_of(draft, old_id, member_id)
        return not was_classic

    def _by_id(self, told: ReadSubscription) -> Owned:
        known = self._surroundings.topics.topics
        return {known[name].topic_id: each for name, each in told.owned.items() if name in known}

    # Sync

    def sync(
        self, group: ConsumerGroup, request: messages.SyncGroupRequest, token: Token, now: Moment
    ) -> Outcome:
        """Tell a member what it has."""
        outcome = Outcome(now)
        outcome.answer(token, self._synced(group, request, now))
        return outcome

    def _synced(
        self, group: ConsumerGroup, request: messages.SyncGroupRequest, now: Moment
    ) -> messages.SyncGroupResponse:
        member_id = request.member_id
        classic, objection = self._speaker(group, request.generation_id, member_id, request.group_instance_id)
        if classic is None:
            return replies.not_synced(objection)
        name, metadata = classic.protocols[0]
        if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE) or request.protocol_name not in (
            None,
            name,
        ):
            return replies.not_synced(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        standing = group.standing(member_id)
        if group.assignment_epoch > standing.epoch and standing.state is not MemberState.UNREVOKED:
            self._expect_join(group, member_id, now)
            return replies.not_synced(ErrorCode.REBALANCE_IN_PROGRESS)
        self._timers.stop(Wait.SYNC, group.group_id, member_id)
        self._timers.hear_from(group.group_id, member_id, now.steady_ms + classic.session_timeout_ms)
        partitions = {topic_id: frozenset(epochs) for topic_id, epochs in standing.assigned.items()}
        return messages.SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=self._migration.write_assignment(metadata, partitions),
        )

    # Heartbeat

    def heartbeat(
        self, group: ConsumerGroup, generation: int, member_id: str, instance_id: str | None, now: Moment
    ) -> ErrorCode:
        """Take a sign of life; the answer says whether the member has to join again."""
        classic, objection = self._speaker(group, generation, member_id, instance_id)
        if classic is None:
            return objection
        self._timers.hear_from(group.group_id, member_id, now.steady_ms + classic.session_timeout_ms)
        standing = group.standing(member_id)
        if (
            standing.epoch < group.assignment_epoch
            or standing.state is MemberState.UNREVOKED
            or (standing.state is MemberState.UNRELEASED and not group.waits_for_others(member_id))
            or self._is_left_to_classic(group, now)
        ):
            self._expect_join(group, member_id, now)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def _is_left_to_classic(self, group: ConsumerGroup, now: Moment) -> bool:
        """Say whether something is to be worked out and nobody's heartbeat will have it done but a join."""
        return group.classic_count == len(group.members) and (
            group.is_refresh_due or self._changes.can_retarget(group, now)
        )

    # Leave

    def leave(
        self, group: ConsumerGroup, request: messages.LeaveGroupRequest, token: Token, now: Moment
    ) -> Outcome:
        """Let members go, of either protocol: administrators remove them this way."""
        outcome = Outcome(now)
        response = messages.LeaveGroupResponse()
        leaving: dict[str, None] = {}
        for each in request.members:
            member_id, instance_id = each.member_id, each.group_instance_id
            if instance_id is not None and not member_id:
                member_id = group.static_ids.get(instance_id, replies.NO_MEMBER_ID)
            error_code = group.objection_to(member_id, instance_id)
            if not error_code:
                leaving[member_id] = None
            response.members.append(
                messages.MemberResponse(
                    member_id=each.member_id, group_instance_id=instance_id, error_code=error_code
                )
            )
        if leaving:
            self._heartbeats.remove(Draft(group, outcome), list(leaving))
        outcome.answer(token, response)
        return outcome

    # Members

    def _speaker(
        self, group: ConsumerGroup, generation: int, member_id: str, instance_id: str | None
    ) -> tuple[ClassicSide | None, ErrorCode]:
        """Find the classic side of a member that may speak; or say why there is none."""
        objection = group.objection_to(member_id, instance_id)
        if objection:
            return None, objection
        classic = group.members[member_id].classic
        if classic is None:
            return None, ErrorCode.UNKNOWN_MEMBER_ID
        if generation != group.standing(member_id).epoch:
            return None, ErrorCode.ILLEGAL_GENERATION
        return classic, ErrorCode.NONE

    def _expect_join(self, group: ConsumerGroup, member_id: str, now: Moment) -> None:
        if not self._timers.is_waiting(Wait.JOIN, group.group_id, member_id):
            due_ms = now.steady_ms + group.members[member_id].rebalance_timeout_ms
            self._timers.give_time(Wait.JOIN, group.group_id, member_id, due_ms)
