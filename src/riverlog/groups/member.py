"""A member of a group: who it is, what it can do, what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from riverlog.groups.deadlines import Deadline
from riverlog.protocol import messages
from riverlog.shards import Token as Token

if TYPE_CHECKING:
    from riverlog.groups.group import Group

Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""Names of ways to assign, the preferred one first, each with the member's subscription in its terms."""


class Client(NamedTuple):
    """Where a request came from."""

    client_id: str
    host: str


class Member(Deadline):
    """A member of one group. Its deadline is the end of its session."""

    __slots__ = (
        "assignment",
        "client",
        "group",
        "instance_id",
        "is_new",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        group: Group,
        member_id: str,
        instance_id: str | None,
        client: Client,
        *,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        super().__init__()
        self.group = group
        self.member_id = member_id
        self.instance_id = instance_id
        """The name under which a static member comes back after a restart (KIP-345)."""
        self.client = client
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        """What the leader gave it in the last stored generation. Changed by replay alone."""
        self.is_new = False
        """It never had an answer to a join, so it cannot send heartbeats."""

    def __repr__(self) -> str:
        return f"Member({self.member_id!r} of {self.group.group_id!r})"

    def subscription(self, protocol_name: str | None) -> bytes:
        """Give its subscription in the terms of one protocol; empty if it has none."""
        for name, subscription in self.protocols:
            if name == protocol_name:
                return subscription
        return b""

    def stored(self, protocol_name: str | None, assignment: bytes) -> messages.MemberMetadata:
        """Give the form in which it is stored, with a new assignment."""
        return messages.MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            client_id=self.client.client_id,
            client_host=self.client.host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.subscription(protocol_name),
            assignment=assignment,
        )


class PendingMember(Deadline):
    """Somebody who got a member id and has not come back with it (KIP-394), and by when it has to."""

    __slots__ = ("group", "member_id")

    def __init__(self, group: Group, member_id: str) -> None:
        super().__init__()
        self.group = group
        self.member_id = member_id
