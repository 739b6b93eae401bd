"""The steps that decisions about a group are made of, whichever protocol a request speaks.

    resubscribe   a member tells something new of itself        record 5; 16; 3 if it reads something else
    retarget      the epoch has risen: who is to have what      7, 6
    reconcile     a member takes its next step towards that     8
    remove        members go                                    tombstones; 3

Each works on a draft and leaves the records of what it changed there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from riverlog.errors import RequestRefused
from riverlog.groups.consumer.member import AWAY_EPOCH, NO_PATTERN, NOTHING_HELD, Standing, Subscription
from riverlog.groups.consumer.patterns import compile_pattern
from riverlog.groups.consumer.reconciliation import Aim, Owned, next_standing
from riverlog.groups.consumer.records import (
    ConsumerRecord,
    Epoch,
    GroupEpoch,
    GroupMember,
    GroupPattern,
    GroupTopics,
    Matches,
    MemberStanding,
    MemberTarget,
)
from riverlog.groups.consumer.target import digest, new_targets, topic_ids_of
from riverlog.groups.consumer.timers import Wait
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.groups.consumer.group import ConsumerGroup
    from riverlog.groups.consumer.timers import MemberTimers
    from riverlog.groups.group import Group
    from riverlog.groups.outcome import Outcome
    from riverlog.groups.surroundings import Surroundings
    from riverlog.shards import Moment

MATCHING_AT_ONCE_MAX = 500_000
"""What trying expressions may cost within a decision, see `patterns`; what costs more is tried in steps."""
MATCHING_VERSION = 0
"""Kafka numbers the moments of its cluster here. To it ours lie before all others, so it tries again."""


class Draft:
    """A group while something is decided about it: copied as soon as there is something to change."""

    __slots__ = ("group", "is_copy", "origin", "outcome", "upgraded_from")

    def __init__(self, group: ConsumerGroup, outcome: Outcome, *, is_copy: bool = False) -> None:
        self.group = group
        """To look at. Emitting replaces it."""
        self.origin = group
        self.outcome = outcome
        self.is_copy = is_copy
        self.upgraded_from: Group | None = None
        """The group of the classic protocol that it was until now."""

    @property
    def now(self) -> Moment:
        """When it is decided."""
        return self.outcome.now

    def emit(self, *records: ConsumerRecord) -> None:
        """Decide on records, and see what they make of the group."""
        if not self.is_copy:
            self.group = self.group.draft()
            self.is_copy = True
        self.outcome.records += records
        for record in records:
            self.group.replay(record)

    def emit_last(self, record: ConsumerRecord) -> None:
        """Decide on a record whose effect nothing in this decision looks at any more."""
        self.outcome.records.append(record)


class Changes:
    """Takes the steps."""

    def __init__(self, timers: MemberTimers, surroundings: Surroundings) -> None:
        self._timers = timers
        self._surroundings = surroundings

    # A member and what it reads

    def take_place_of(self, draft: Draft, old_id: str, new_id: str) -> None:
        """Let a static member's new incarnation have the old one's place, with all that it had."""
        group = draft.group
        member, target = group.members[old_id], group.target(old_id)
        standing = group.standing(old_id)._replace(epoch=0, previous_epoch=0)
        self._timers.forget(group.group_id, old_id)
        draft.emit(
            *group.removal_of(old_id),
            GroupMember(group.group_id, new_id, member),
            MemberTarget(group.group_id, new_id, target),
            MemberStanding(group.group_id, new_id, standing),
        )

    def resubscribe(self, draft: Draft, member_id: str, member: Subscription) -> bool:
        """Take in what a member tells of itself; say whether it reads something else by that.

        A new expression is compiled before anything else: it may be none.
        """
        former = draft.group.members.get(member_id) or Subscription()
        if member.pattern not in (NO_PATTERN, former.pattern):
            compile_pattern(member.pattern)
        if member != former or member_id not in draft.group.members:
            draft.emit(GroupMember(draft.group.group_id, member_id, member))
        has_new_pattern = member.pattern != former.pattern
        if has_new_pattern:
            self._forget_unused(draft, former.pattern)
        has_matched = self._match(draft)
        has_resubscribed = has_new_pattern or member.topics != former.topics
        if has_resubscribed or has_matched or draft.group.is_refresh_due:
            self.bump(draft, must=has_resubscribed or has_matched)
            draft.origin.is_refresh_due = draft.group.is_refresh_due = False
        return has_resubscribed

    def bump(self, draft: Draft, *, must: bool) -> None:
        """Go on to the group's next epoch if it must be, or if its topics have changed."""
        group = draft.group
        topics_digest = digest(group.all_topics(), self._surroundings.topics)
        if must or topics_digest != group.stored_epoch.topics_digest:
            draft.emit(GroupEpoch(group.group_id, Epoch(group.epoch + 1, topics_digest)))
        if group.has_topics_record:
            draft.emit(GroupTopics(group.group_id, None))

    def _forget_unused(self, draft: Draft, pattern: str) -> None:
        group = draft.group
        if pattern not in group.patterns and pattern in group.matches:
            draft.emit(GroupPattern(group.group_id, pattern, None))

    # Regular expressions

    def _match(self, draft: Draft) -> bool:
        """Try the expressions that are due to be tried; say whether one matches something else now.

        Where that costs too much to be done in between, it is left to `match_in_steps`.
        """
        group = draft.group
        due = [pattern for pattern in group.patterns if self._is_due(group, pattern, draft.now)]
        if not due:
            return False
        topics = self._surroundings.topics.topics
        if sum(compile_pattern(pattern).cost(topics) for pattern in due) > MATCHING_AT_ONCE_MAX:
            draft.outcome.matching_of = group.group_id
            return False
        found = {}
        for pattern in due:
            matches = compile_pattern(pattern).matches
            found[pattern] = frozenset(topic for topic in topics if matches(topic))
        return self.note_matches(draft, found)

    def _is_due(self, group: ConsumerGroup, pattern: str, now: Moment) -> bool:
        matches = group.matches.get(pattern)
        if matches is None or group.is_refresh_due:
            return True
        interval_ms = self._surroundings.consumer.group_consumer_regex_refresh_interval_ms
        return now.wall_ms - matches.matched_ms > interval_ms

    def note_matches(self, draft: Draft, found: dict[str, frozenset[str]]) -> bool:
        """Record what expressions match; say whether one matches something else now."""
        has_changed = False
        for pattern, topics in found.items():
            former = draft.group.matches.get(pattern)
            has_changed = has_changed or former is None or former.topics != topics
            value = Matches(topics, MATCHING_VERSION, draft.now.wall_ms)
            draft.emit(GroupPattern(draft.group.group_id, pattern, value))
        return has_changed

    # Towards the assignment

    def retarget(self, draft: Draft) -> None:
        """Work out the targets of the group's epoch, unless that was done a moment ago."""
        group = draft.group
        if not self.can_retarget(group, draft.now):
            return
        assignor = max(group.assignors, key=group.assignors.__getitem__, default=None)
        available = self._surroundings.consumer.group_consumer_assignors
        if assignor not in available:
            assignor = available[0]
        draft.emit(*new_targets(group, self._surroundings.topics, assignor, draft.now.wall_ms))

    def can_retarget(self, group: ConsumerGroup, now: Moment) -> bool:
        """Say whether targets are to be worked out, and long enough after the last ones."""
        if group.assignment_epoch >= group.epoch:
            return False
        age_ms = now.wall_ms - group.target_epoch.decided_ms
        return not 0 <= age_ms < self._surroundings.config_of(group.group_id).assignment_interval_ms

    def reconcile(
        self, draft: Draft, member_id: str, owned: Owned | None, *, has_resubscribed: bool
    ) -> Standing:
        """Let a member take its next step; gives where it stands then."""
        group = draft.group
        standing = group.standing(member_id)
        if standing.is_at(group.assignment_epoch) and not has_resubscribed:
            return standing
        topic_ids = topic_ids_of(group.topics_of(group.members[member_id]), self._surroundings.topics)

        def is_free(topic_id: bytes, partition: int) -> bool:
            return group.is_free_for(member_id, topic_id, partition)

        aim = Aim(group.assignment_epoch, group.target(member_id), topic_ids, is_free)
        following = next_standing(standing, aim, owned, has_resubscribed=has_resubscribed)
        if following is None:
            raise RequestRefused(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "what this member has is not known: it must give up all partitions and join again",
            )
        if following != standing:
            draft.emit_last(MemberStanding(group.group_id, member_id, following))
        return following

    # Going

    def send_away(self, draft: Draft, member_id: str) -> None:
        """Let a static member leave for a while: what it has waits for it."""
        standing = draft.group.standing(member_id)
        assigned = {topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in standing.assigned.items()}
        away = standing._replace(epoch=AWAY_EPOCH, assigned=assigned, revoking=NOTHING_HELD)
        draft.emit_last(MemberStanding(draft.group.group_id, member_id, away))
        self._timers.stop(Wait.REVOCATION, draft.group.group_id, member_id)

    def remove(self, draft: Draft, member_ids: Iterable[str]) -> None:
        """Take members out."""
        for member_id in member_ids:
            pattern = draft.group.members[member_id].pattern
            draft.emit(*draft.group.removal_of(member_id))
            self._forget_unused(draft, pattern)
            self._timers.forget(draft.group.group_id, member_id)
        self.bump(draft, must=True)
