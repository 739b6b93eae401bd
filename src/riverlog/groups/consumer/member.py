"""A member of a group whose assignment the broker decides: what it told of itself, and what it has.

Both are values, replaced as a whole by the record that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from riverlog.groups.member import Client, Protocols

NO_EPOCH = -1
JOINING_EPOCH = 0
"""The epoch of a member that joins, in its first request."""
LEAVING_EPOCH = -1
"""The epoch by which a member says that it leaves."""
AWAY_EPOCH = -2
"""The epoch of a static member that left for a while: its partitions wait for it."""
NO_TIMEOUT = -1
NO_PATTERN = ""

Held: TypeAlias = Mapping[bytes, Mapping[int, int]]
"""Topic id to partition to the group's epoch in which the member got it. Never changed once made."""

NOTHING_HELD: Held = MappingProxyType({})


class MemberState(IntEnum):
    """How far a member is on its way to what it is meant to have; the numbers are those that are stored."""

    STABLE = 0
    """It is where it can be in its epoch."""
    UNREVOKED = 1
    """It has been told to give up partitions, and has not said that it did."""
    UNRELEASED = 2
    """It waits for partitions that others have not given up."""
    UNKNOWN = 127
    """A newer version stored something else; the member has to begin anew."""


class ClassicSide(NamedTuple):
    """What a member that speaks the classic protocol told of itself in its terms."""

    session_timeout_ms: int
    protocols: Protocols


class Subscription(NamedTuple):
    """What a member told of itself."""

    instance_id: str | None = None
    rack_id: str | None = None
    client: Client = Client("", "")
    topics: frozenset[str] = frozenset()
    pattern: str = NO_PATTERN
    """A regular expression: topics whose whole name it matches are read as well."""
    rebalance_timeout_ms: int = NO_TIMEOUT
    """How long it may take to give up partitions."""
    assignor: str | None = None
    classic: ClassicSide | None = None
    """Only of a member that speaks the classic protocol, so that the group serves both while it migrates."""


class Standing(NamedTuple):
    """Where a member stands: its epoch, and which partitions are its own.

    No partition is in `assigned` or `revoking` of two members: what is another's is waited for.
    """

    epoch: int = JOINING_EPOCH
    previous_epoch: int = NO_EPOCH
    """The epoch before, in which its last request may have been lost."""
    state: MemberState = MemberState.STABLE
    assigned: Held = NOTHING_HELD
    revoking: Held = NOTHING_HELD
    """What it has to give up, and may still be working on."""

    def is_at(self, assignment_epoch: int) -> bool:
        """Say whether it has all that it was meant to have in this epoch."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def epoch_of(self, topic_id: bytes, partition: int) -> int | None:
        """Give the epoch in which it got a partition that it may still be working on; None if it has none."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        return self.revoking.get(topic_id, {}).get(partition) if epoch is None else epoch


NEWCOMER = Standing()
