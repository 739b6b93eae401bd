"""What members of groups are given time for, and what is due when they take longer.

    SESSION      to be heard of again
    REVOCATION   to give up partitions that they were told to give up
    JOIN, SYNC   to do so, for those who speak the classic protocol and were told to

Nothing of this is stored: after a restart all of it begins anew.
"""

from __future__ import annotations

from enum import Enum, auto

from riverlog.groups.consumer.member import NO_EPOCH
from riverlog.groups.deadlines import Deadline, Deadlines


class Wait(Enum):
    """What a member is given time for."""

    SESSION = auto()
    REVOCATION = auto()
    JOIN = auto()
    SYNC = auto()


class MemberDeadline(Deadline):
    """When a member has taken too long."""

    __slots__ = ("epoch", "group_id", "member_id", "wait")

    def __init__(self, group_id: str, member_id: str, wait: Wait) -> None:
        super().__init__()
        self.group_id = group_id
        self.member_id = member_id
        self.wait = wait
        self.epoch = NO_EPOCH
        """The member's epoch when the time began to run; for REVOCATION only."""


class MemberTimers:
    """The deadlines of all members. One that fires for somebody who is gone means nothing."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._sessions: dict[tuple[str, str], MemberDeadline] = {}
        self._others: dict[tuple[str, str, Wait], MemberDeadline] = {}

    def hear_from(self, group_id: str, member_id: str, due_ms: int) -> None:
        """Begin a member's session anew. Called more often than all else together."""
        session = self._sessions.get((group_id, member_id))
        if session is None:
            session = self._sessions[group_id, member_id] = MemberDeadline(group_id, member_id, Wait.SESSION)
        if due_ms >= session.queued_ms:
            session.due_ms = due_ms
        else:
            self._deadlines.set(session, due_ms)

    def has_session(self, group_id: str, member_id: str) -> bool:
        """Say whether a member's session runs."""
        return (group_id, member_id) in self._sessions

    def give_time(
        self, wait: Wait, group_id: str, member_id: str, due_ms: int, epoch: int = NO_EPOCH
    ) -> None:
        """Let a member have until `due_ms`, whatever it had before."""
        deadline = self._others.get((group_id, member_id, wait))
        if deadline is None:
            deadline = self._others[group_id, member_id, wait] = MemberDeadline(group_id, member_id, wait)
        deadline.epoch = epoch
        self._deadlines.set(deadline, due_ms)

    def is_waiting(self, wait: Wait, group_id: str, member_id: str) -> bool:
        """Say whether a member's time for this runs."""
        return (group_id, member_id, wait) in self._others

    def stop(self, wait: Wait, group_id: str, member_id: str) -> None:
        """The member did it."""
        deadline = self._others.pop((group_id, member_id, wait), None)
        if deadline is not None:
            self._deadlines.clear(deadline)

    def forget(self, group_id: str, member_id: str) -> None:
        """The member is gone."""
        session = self._sessions.pop((group_id, member_id), None)
        if session is not None:
            self._deadlines.clear(session)
        for wait in (Wait.REVOCATION, Wait.JOIN, Wait.SYNC):
            self.stop(wait, group_id, member_id)

    def take(self, deadline: MemberDeadline) -> None:
        """One has fired: it is over."""
        if deadline.wait is Wait.SESSION:
            self._sessions.pop((deadline.group_id, deadline.member_id), None)
        else:
            self._others.pop((deadline.group_id, deadline.member_id, deadline.wait), None)
