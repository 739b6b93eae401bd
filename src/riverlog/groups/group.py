"""One group of the classic protocol: its members, its generation, and how far a rebalance has come.

              somebody joins                all have joined             the leader has assigned
    EMPTY ──────────────────▶ PREPARING ──────────────────▶ COMPLETING ───────────────────▶ STABLE
      ▲                          ▲  │                           │                              │
      │      nobody joined       │  │                           │    somebody joins, leaves    │
      └──────────────────────────┼──┘                           │    or falls silent           │
                                 └──────────────────────────────┴──────────────────────────────┘

Two layers
- `stored`: the last record about the group. With the committed offsets this is all that a restart finds.
- everything else: who is here right now and what they wait for. It follows from `stored` when the group is
  loaded, and runs ahead of it during a rebalance, which ends in the next record or is forgotten in a crash.

The entry into STABLE, and with it every assignment, comes from `replay` alone: no member ever gets an
assignment that is not in the log.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from riverlog.groups.deadlines import NEVER, Deadline
from riverlog.groups.member import Client, Member, PendingMember, Protocols, Token
from riverlog.groups.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from riverlog.groups.vote import elected
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

GENERATION_MAX = 2**31 - 1


class GroupState(StrEnum):
    """How far a group's rebalance has come, under the names that Kafka's tools print."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


class PhaseEnd(Deadline):
    """When the present phase of a rebalance ends, whoever is missing by then."""

    __slots__ = ("group",)

    def __init__(self, group: Group) -> None:
        super().__init__()
        self.group = group


class FirstRebalance:
    """The wait for more members before an empty group's first assignment; each that comes prolongs it."""

    __slots__ = ("delay_ms", "has_newcomers", "left_ms")

    def __init__(self, delay_ms: int, left_ms: int) -> None:
        self.delay_ms = delay_ms
        """How long the present wait is."""
        self.left_ms = left_ms
        """How much longer it may be made after that, in all."""
        self.has_newcomers = False
        """Somebody has come since the present wait began."""


class Group:
    """A group's state. Changed by the machine's parts, and by `replay` where it says so."""

    __slots__ = (
        "_support",
        "first_rebalance",
        "generation",
        "group_id",
        "joining",
        "leader_id",
        "members",
        "pending",
        "phase_end",
        "protocol_name",
        "protocol_type",
        "staged",
        "state",
        "static_ids",
        "stored",
        "syncing",
        "unsynced",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.stored: messages.GroupMetadataValue | None = None
        """The last record about this group, replaced by `replay` alone, never changed."""
        self.state = GroupState.EMPTY
        self.generation = 0
        self.protocol_type: str | None = None
        """Who the members are, such as "consumer". None: the group only ever committed offsets."""
        self.protocol_name: str | None = None
        """How the members of this generation assign; elected when all have joined."""
        self.leader_id: str | None = None
        """Who assigns. A member, if there is any."""
        self.members: dict[str, Member] = {}
        self.static_ids: dict[str, str] = {}
        """Instance id to member id of the static members."""
        self.pending: dict[str, PendingMember] = {}
        """None of them is a member."""
        self.joining: dict[str, Token] = {}
        """By member id: who waits for the next generation. Only in PREPARING."""
        self.syncing: dict[str, Token] = {}
        """By member id: who waits for the assignment. Only in COMPLETING."""
        self.unsynced: set[str] = set()
        """Members of the new generation that have not asked for their assignment."""
        self.phase_end = PhaseEnd(self)
        self.first_rebalance: FirstRebalance | None = None
        """Only in PREPARING, and only if the group was empty before."""
        self.staged: Member | None = None
        """A static member's new incarnation, which replaces the old one once the log has taken it."""
        self._support: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"Group({self.group_id!r}, {self.state}, generation {self.generation}, {len(self.members)})"

    # Questions

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long members may take to join again: as long as the slowest of them asks for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def have_all_joined(self) -> bool:
        """Everybody who is a member, or is about to be, waits for the next generation."""
        return not self.pending and len(self.joining) == len(self.members)

    def is_owed_an_answer(self, member: Member) -> bool:
        """Say whether the member has asked something: until it is answered, its silence means nothing."""
        return member.member_id in self.joining or member.member_id in self.syncing

    def can_take(self, protocol_type: str, protocols: Protocols) -> bool:
        """Say whether a member of this type has a protocol in common with all members."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(protocols)
        return protocol_type == self.protocol_type and any(
            self._support[name] == len(self.members) for name, _ in protocols
        )

    def objection_to(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Say why this is not a member that may speak: fenced, or unknown. NONE if it is one."""
        if instance_id is not None:
            known_id = self.static_ids.get(instance_id)
            if known_id is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def is_subscribed_to(self, topic: str) -> bool:
        """Say whether a member reads the topic. If a consumer's subscription cannot be read: it may."""
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return False
        for member in self.members.values():
            topics = subscribed_topics(member.subscription(self.protocol_name))
            if topics is None or topic in topics:
                return True
        return False

    def elected_protocol(self, *, instead_of: str | None = None, protocols: Protocols = ()) -> str | None:
        """Hold the vote, with other protocols for the member whose id is `instead_of`."""
        return elected(
            [
                protocols if member.member_id == instead_of else member.protocols
                for member in self.members.values()
            ]
        )

    # Changes

    def add(self, member: Member) -> None:
        """Take in a member. The first one of a group leads it and decides what kind of group it is."""
        assert member.group is self
        assert member.member_id not in self.members
        self.pending.pop(member.member_id, None)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self._support.update({name for name, _ in member.protocols})

    def remove(self, member_id: str) -> Member:
        """Take out a member, whose questions were answered; if it led the group, the next one does."""
        assert member_id not in self.joining
        assert member_id not in self.syncing
        member = self.members.pop(member_id)
        self.unsynced.discard(member_id)
        if member.instance_id is not None and self.static_ids.get(member.instance_id) == member_id:
            del self.static_ids[member.instance_id]
        self._withdraw_support(member)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        return member

    def replace(self, old_id: str, member: Member) -> Member:
        """Put a static member's new incarnation in the old one's place, leadership included."""
        was_leader = self.leader_id == old_id
        old = self.remove(old_id)
        self.add(member)
        if was_leader:
            self.leader_id = member.member_id
        return old

    def change_protocols(self, member: Member, protocols: Protocols) -> None:
        """Let a member take part in other protocols from now on."""
        self._withdraw_support(member)
        member.protocols = protocols
        self._support.update({name for name, _ in protocols})

    def elect_joined_leader(self) -> bool:
        """See to it that the leader is one of those who joined; False if nobody did."""
        if self.leader_id not in self.joining:
            self.leader_id = next((id_ for id_ in self.members if id_ in self.joining), self.leader_id)
        return self.leader_id in self.joining

    def begin_generation(self) -> None:
        """Go on to the next generation: of those who are members now, or without any."""
        self.generation = self.generation + 1 if self.generation < GENERATION_MAX else 0
        self.first_rebalance = None
        self.protocol_name = self.elected_protocol()
        self.unsynced = set(self.members)
        self.state = GroupState.COMPLETING if self.members else GroupState.EMPTY

    def _withdraw_support(self, member: Member) -> None:
        self._support.subtract({name for name, _ in member.protocols})
        self._support += Counter()  # drops what nobody supports any more

    # What is stored

    def as_stored(
        self, wall_ms: int, members: list[messages.MemberMetadata], leader_id: str | None
    ) -> messages.GroupMetadataValue:
        """Give this generation in the form in which it is stored."""
        return messages.GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol_name,
            leader=leader_id,
            current_state_timestamp=wall_ms,
            members=members,
        )

    def replay(self, value: messages.GroupMetadataValue) -> None:
        """Become what the record says: STABLE with its members and their assignments, or EMPTY.

        Members that are here already stay, with what they wait for. The record may bring a staged member
        in. All others it names are made from it, and whoever it does not name is gone.
        """
        self.stored = value
        self.generation = value.generation
        self.protocol_type = value.protocol_type or None
        self.protocol_name = value.protocol
        self.first_rebalance = None
        for gone in self.members.keys() - {stored.member_id for stored in value.members}:
            self.remove(gone).due_ms = NEVER
        for stored in value.members:
            member = self.members.get(stored.member_id)
            if member is None:
                member = self._incoming(stored)
                self.add(member)
            member.assignment = stored.assignment
        self.staged = None
        self.leader_id = value.leader if value.leader in self.members else next(iter(self.members), None)
        self.state = GroupState.STABLE if self.members else GroupState.EMPTY

    def _incoming(self, stored: messages.MemberMetadata) -> Member:
        if self.staged is not None and self.staged.member_id == stored.member_id:
            return self.staged
        return Member(
            self,
            stored.member_id,
            stored.group_instance_id,
            Client(stored.client_id, stored.client_host),
            session_timeout_ms=stored.session_timeout,
            # Very old records do not have it.
            rebalance_timeout_ms=(
                stored.session_timeout if stored.rebalance_timeout < 0 else stored.rebalance_timeout
            ),
            protocols=((self.protocol_name or "", stored.subscription),),
            assignment=stored.assignment,
        )
