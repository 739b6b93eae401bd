"""The one request by which members of a group with server-side assignment do everything (KIP-848).

    epoch 0     to join, or to join again after having been fenced: with all about itself, and no partitions
    epoch > 0   to be alive; to say what it works on; to change what it reads. What is left out is as it was
    epoch -1    to leave          epoch -2   a static member's: to leave for a while

The answer tells the member its epoch, and its partitions where they have changed. It begins to use what
is new there at once, gives up what is missing, and says so in a heartbeat; nobody is ever stopped.

A member whose epoch is not the group's (after a pause, after somebody took its place) is fenced: error 110.
The epoch before is accepted too, while the answer that told the present one may have been lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from riverlog.errors import RequestRefused
from riverlog.groups.consumer.changes import Changes, Draft
from riverlog.groups.consumer.member import (
    AWAY_EPOCH,
    JOINING_EPOCH,
    LEAVING_EPOCH,
    MemberState,
    Standing,
    Subscription,
)
from riverlog.groups.consumer.patterns import compile_pattern
from riverlog.groups.consumer.requests import (
    Request,
    check,
    has_only,
    is_full,
    owned,
    told,
    updated,
)
from riverlog.groups.consumer.timers import MemberDeadline, Wait
from riverlog.groups.outcome import Outcome
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from riverlog.groups.consumer.group import ConsumerGroup
    from riverlog.groups.consumer.migration import Migration
    from riverlog.groups.consumer.timers import MemberTimers
    from riverlog.groups.membership import Caller
    from riverlog.groups.surroundings import Surroundings
    from riverlog.shards import Moment

MATCHED_AT_A_TIME = 100
"""How many topics are tried before others get a turn."""

Response: TypeAlias = "messages.ConsumerGroupHeartbeatResponse"


class Heartbeats:
    """Decides the heartbeats of members, and what becomes of those who send none."""

    def __init__(
        self,
        groups: dict[str, ConsumerGroup],
        changes: Changes,
        migration: Migration,
        timers: MemberTimers,
        surroundings: Surroundings,
    ) -> None:
        self._groups = groups
        self._changes = changes
        self._migration = migration
        self._timers = timers
        self._surroundings = surroundings

    def beat(self, request: Request, caller: Caller, now: Moment) -> Outcome:
        """Take a heartbeat."""
        outcome = Outcome(now)
        try:
            check(request, caller.version, self._surroundings.consumer.group_consumer_assignors)
            if request.member_epoch in (LEAVING_EPOCH, AWAY_EPOCH):
                response = self._leave(request, outcome)
            else:
                response = self._stay(request, caller, outcome)
        except RequestRefused as refused:
            self._undo(request.group_id, outcome)
            response = messages.ConsumerGroupHeartbeatResponse(
                error_code=refused.error_code, error_message=refused.message
            )
        outcome.answer(caller.token, response)
        return outcome

    def _undo(self, group_id: str, outcome: Outcome) -> None:
        """Nothing of what was decided is to be."""
        if outcome.records:
            outcome.records.clear()
            self.see_to_sessions(group_id, outcome.now)

    # Staying

    def _stay(self, request: Request, caller: Caller, outcome: Outcome) -> Response:
        """Decide a heartbeat of somebody who is a member, or wants to be."""
        draft = self._open(request, outcome)
        group_id = request.group_id
        member_id = request.member_id or caller.unique
        self._admit(draft, request, member_id)
        former = draft.group.members.get(member_id) or Subscription()
        before = draft.group.standing(member_id)
        has_resubscribed = False
        member = updated(former, request, caller.client)
        if (
            member != former
            or draft.group.is_refresh_due
            or draft.group.patterns
            or (member_id not in draft.group.members)
        ):
            has_resubscribed = self._changes.resubscribe(draft, member_id, member)
        self._changes.retarget(draft)
        works_on = owned(request)
        standing = self._changes.reconcile(draft, member_id, works_on, has_resubscribed=has_resubscribed)
        if former.classic is not None:
            self._timers.stop(Wait.JOIN, group_id, member_id)
            self._timers.stop(Wait.SYNC, group_id, member_id)
        self._migration.release(draft)
        self._watch(group_id, member_id, before, standing, member.rebalance_timeout_ms, outcome.now)
        config = self._surroundings.config_of(group_id)
        steady_ms = outcome.now.steady_ms
        self._timers.hear_from(group_id, member_id, steady_ms + config.session_timeout_ms)
        response = messages.ConsumerGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=standing.epoch,
            heartbeat_interval_ms=config.heartbeat_interval_ms,
        )
        if (
            request.member_epoch == JOINING_EPOCH
            or is_full(request)
            or (standing is not before and standing.assigned != before.assigned)
        ):
            response.assignment = told(standing.assigned)
        return response

    def _open(self, request: Request, outcome: Outcome) -> Draft:
        """Find the group, or begin one."""
        group = self._groups.get(request.group_id)
        if group is not None:
            return Draft(group, outcome)
        if request.member_epoch != JOINING_EPOCH:
            raise self._migration.not_found(request.group_id)
        return self._migration.begin(request.group_id, outcome)

    def _admit(self, draft: Draft, request: Request, member_id: str) -> None:
        """See to it that whoever asks is a member, or may become one."""
        group = draft.group
        size_max = self._surroundings.consumer.group_consumer_max_size
        if len(group.members) >= size_max and request.member_id not in group.members:
            raise RequestRefused(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"the group has {size_max} members, and takes no more",
            )
        is_joining = request.member_epoch == JOINING_EPOCH
        if request.instance_id is not None and is_joining:
            old_id = group.static_ids.get(request.instance_id)
            if old_id is not None:
                if group.members[old_id].classic is None and group.standing(old_id).epoch != AWAY_EPOCH:
                    raise RequestRefused(
                        ErrorCode.UNRELEASED_INSTANCE_ID,
                        f"{request.instance_id} is still the instance id of member {old_id}",
                    )
                self._changes.take_place_of(draft, old_id, member_id)
            return
        if not is_joining:
            _object(group, member_id, request.instance_id)
        if member_id in group.members:
            _check_epoch(group.standing(member_id), request)

    def _watch(
        self,
        group_id: str,
        member_id: str,
        before: Standing,
        standing: Standing,
        rebalance_timeout_ms: int,
        now: Moment,
    ) -> None:
        """Give a member time to give up partitions; it began when it was told to."""
        if standing == before:
            return
        if standing.state is MemberState.UNREVOKED:
            due_ms = now.steady_ms + rebalance_timeout_ms
            self._timers.give_time(Wait.REVOCATION, group_id, member_id, due_ms, standing.epoch)
        else:
            self._timers.stop(Wait.REVOCATION, group_id, member_id)

    # Leaving

    def _leave(self, request: Request, outcome: Outcome) -> Response:
        group = self._groups.get(request.group_id)
        if group is None:
            raise self._migration.not_found(request.group_id)
        member_id = request.member_id
        if request.instance_id is not None and not member_id:
            member_id = group.static_ids.get(request.instance_id, "")
        _object(group, member_id, request.instance_id)
        draft = Draft(group, outcome)
        if request.member_epoch == AWAY_EPOCH:
            self._changes.send_away(draft, member_id)
        else:
            self.remove(draft, [member_id])
        return messages.ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=request.member_epoch)

    def remove(self, draft: Draft, member_ids: list[str]) -> None:
        """Take members out; what is left may be a group of the classic protocol."""
        if self._migration.can_downgrade(draft.group, without=member_ids):
            self._migration.downgrade(draft, without=member_ids)
        else:
            self._changes.remove(draft, member_ids)

    # Silence

    def end_wait(self, deadline: MemberDeadline, outcome: Outcome) -> None:
        """Take out a member that took too long."""
        self._timers.take(deadline)
        group = self._groups.get(deadline.group_id)
        if group is None or deadline.member_id not in group.members:
            return
        if deadline.wait is Wait.REVOCATION and group.standing(deadline.member_id).epoch != deadline.epoch:
            return
        self.remove(Draft(group, outcome), [deadline.member_id])

    def see_to_sessions(self, group_id: str, now: Moment) -> None:
        """Let all members of a group have a session, as after it was loaded or something went wrong."""
        group = self._groups.get(group_id)
        if group is None:
            return
        due_ms = now.steady_ms + self._surroundings.config_of(group_id).session_timeout_ms
        group.is_refresh_due = True
        for member_id, member in group.members.items():
            if not self._timers.has_session(group_id, member_id):
                self._timers.hear_from(group_id, member_id, due_ms)
                standing = group.standing(member_id)
                if standing.state is MemberState.UNREVOKED:
                    by_ms = now.steady_ms + member.rebalance_timeout_ms
                    self._timers.give_time(Wait.REVOCATION, group_id, member_id, by_ms, standing.epoch)

    # Regular expressions that take longer

    def match_in_steps(self, group_id: str) -> Iterator[dict[str, frozenset[str]] | None]:
        """Try a group's expressions on all topics, with steps of bounded length; gives what matches last."""
        group = self._groups.get(group_id)
        found: dict[str, frozenset[str]] = {}
        for pattern in () if group is None else tuple(group.patterns):
            matches = compile_pattern(pattern).matches
            topics = []
            for number, topic in enumerate(tuple(self._surroundings.topics.topics)):
                if matches(topic):
                    topics.append(topic)
                if number % MATCHED_AT_A_TIME == 0:
                    yield None
            found[pattern] = frozenset(topics)
        yield found

    def note_matches(self, group_id: str, found: dict[str, frozenset[str]], now: Moment) -> Outcome:
        """Take in what expressions match, of those that are still used."""
        outcome = Outcome(now)
        group = self._groups.get(group_id)
        if group is not None:
            draft = Draft(group, outcome)
            used = {pattern: topics for pattern, topics in found.items() if pattern in group.patterns}
            if self._changes.note_matches(draft, used):
                self._changes.bump(draft, must=True)
        return outcome


def _object(group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    objection = group.objection_to(member_id, instance_id)
    if objection == ErrorCode.FENCED_INSTANCE_ID:
        raise RequestRefused(
            objection,
            f"{instance_id} is the instance id of another member now: {group.static_ids[instance_id or '']}",
        )
    if objection:
        who = f"a member {member_id}" if instance_id is None else f"an instance id {instance_id}"
        raise RequestRefused(objection, f"group {group.group_id} does not have {who}")


def _check_epoch(standing: Standing, request: Request) -> None:
    """Fence a member whose epoch is neither the present one nor the one whose answer it may have missed."""
    epoch = request.member_epoch
    if epoch in (JOINING_EPOCH, standing.epoch):
        return
    if epoch < standing.epoch and epoch == standing.previous_epoch and has_only(request, standing.assigned):
        return
    raise RequestRefused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"the member is in epoch {standing.epoch}, not {epoch}: it has to give up all and join again",
    )
