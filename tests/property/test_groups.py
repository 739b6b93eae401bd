"""Groups under everything that can happen to them: joins, crashes, silence, lost answers, late messages,
a log that refuses, a broker that restarts. Named claims hold at every step, and in the end, once the
members that are left behave, the group is stable with all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from riverlog.groups import Client as Origin
from riverlog.groups import Commit, OffsetToCommit
from riverlog.groups.deadlines import NEVER
from riverlog.groups.group import Group, GroupState
from riverlog.groups.membership import Caller
from riverlog.groups.outcome import Outcome
from riverlog.groups.records import GroupMetadata
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.groups.world import World

GROUP = "g"
SESSION_MS = 10_000
REBALANCE_MS = 30_000
CONVERGENCE_MS = 20 * 60_000
"""How long the group may take to be stable again. Those who never come back time out first, some twice."""

Request = Callable[[World, str], Outcome]
"""Asks the machine something; takes the token. Kept, so that it can arrive a second time, much later."""


class Assignments:
    """What leaders said. Each assignment can be told from every other."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.said: dict[bytes, tuple[str, int, str]] = {}
        """Assignment to who said it, in which generation, for which member."""

    def make(self, leader: str, generation: int, members: list[str]) -> dict[str, bytes]:
        number = next(self._numbers)
        made = {member: f"{number}/{member}".encode() for member in members}
        self.said.update({made[member]: (leader, generation, member) for member in members})
        return made


class Member:
    """A client that follows the protocol, when it is asked to act."""

    def __init__(self, name: str, *, is_static: bool, version: int, likes: list[str]) -> None:
        self.name = name
        self.instance_id = f"static-{name}" if is_static else None
        self.version = version
        self.protocols = [messages.JoinGroupRequestProtocol(name=each, metadata=b"all") for each in likes]
        self.member_id = ""
        self.generation = -1
        self.token: str | None = None
        self.must_sync = False
        self.is_settled = False
        self.members: list[str] = []
        self.is_leader = False

    def __repr__(self) -> str:
        return f"Member({self.name}, {self.member_id!r}, {self.generation})"

    def crash(self) -> None:
        """Come back as a new process: a static member under its name, others as strangers."""
        self.member_id = ""
        self.be_out()

    def be_out(self) -> None:
        self.generation = -1
        self.token = None
        self.must_sync = self.is_settled = self.is_leader = False

    def join(self, unique: str) -> Request:
        request = messages.JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=self.protocols,
        )
        version = self.version
        return lambda world, token: world.machine.membership.join(
            request, Caller(version, Origin("c", "/h"), token, f"{unique}-{token}"), world.now
        )

    def sync(self, assignments: dict[str, bytes]) -> Request:
        request = messages.SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=[
                messages.SyncGroupRequestAssignment(member_id=member, assignment=assignment)
                for member, assignment in assignments.items()
            ],
        )
        return lambda world, token: world.machine.membership.sync(request, token, world.now)

    def leave(self) -> Request:
        leaving = messages.MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        request = messages.LeaveGroupRequest(group_id=GROUP, members=[leaving])
        return lambda world, token: world.machine.membership.leave(request, token, world.now)

    def commit(self, offset: int) -> Request:
        wanted = [OffsetToCommit("t", bytes(16), 0, offset, -1, "")]
        commit = Commit(9, GROUP, self.generation, self.member_id, self.instance_id, wanted)
        return lambda world, token: world.machine.commits.commit(commit, token, world.now)

    def hear(self, error_code: int) -> None:
        """React to an error as clients do."""
        match error_code:
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.FENCED_INSTANCE_ID | ErrorCode.GROUP_ID_NOT_FOUND:
                self.crash()
            case _:
                self.be_out()


class Groups(RuleBasedStateMachine):
    """One group, some members, and whatever happens to them."""

    members = Bundle("members")
    late = Bundle("late")

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.assignments = Assignments()
        self.alive: list[Member] = []
        self.numbers = count()

    @initialize(delay_ms=st.sampled_from([0, 3000]))
    def start(self, delay_ms: int) -> None:
        self.world = World(group_initial_rebalance_delay_ms=delay_ms, group_min_session_timeout_ms=SESSION_MS)

    # What happens

    @rule(
        target=members,
        is_static=st.booleans(),
        version=st.sampled_from([3, 9]),
        likes=st.sampled_from([["range"], ["range", "sticky"], ["sticky", "range"]]),
    )
    def somebody_comes(self, is_static: bool, version: int, likes: list[str]) -> Any:
        if len(self.alive) == 4:
            return multiple()
        member = Member(f"m{next(self.numbers)}", is_static=is_static, version=version, likes=likes)
        self.alive.append(member)
        return member

    @rule(target=late, member=members, log_fails=st.booleans())
    def a_member_goes_on(self, member: Member, log_fails: bool) -> Any:
        """The member does what comes next for it: looks at an answer, joins, syncs or sends a heartbeat."""
        self.world.refusal = ErrorCode.KAFKA_STORAGE_ERROR if log_fails else ErrorCode.NONE
        request = self.go_on(member)
        self.world.refusal = ErrorCode.NONE
        return multiple() if request is None else request

    @rule(member=members)
    def all_members_go_on(self, member: Member) -> None:
        for each in self.alive:
            self.go_on(each)

    @rule(request=consumes(late))
    def a_late_message_arrives(self, request: Request) -> None:
        """Nobody waits for its answer any more."""
        self.ask(request)

    @rule(member=members)
    def an_answer_is_lost(self, member: Member) -> None:
        member.be_out()

    @rule(member=members)
    def a_member_crashes(self, member: Member) -> None:
        member.crash()

    @rule(member=consumes(members))
    def a_member_is_gone_for_good(self, member: Member) -> None:
        self.alive.remove(member)

    @rule(target=late, member=members)
    def a_member_leaves(self, member: Member) -> Request:
        request = member.leave()
        self.ask(request)
        member.crash()
        return request

    @rule(target=late, member=members, offset=st.integers(0, 9))
    def a_member_commits(self, member: Member, offset: int) -> Request:
        request = member.commit(offset)
        (error_code,) = self.ask(request).error_codes
        if member.generation >= 0 and not error_code:
            group = self.world.group()
            assert member.generation == group.generation
            assert group.state is not GroupState.COMPLETING
        return request

    @rule(ms=st.sampled_from([0, 1, 500, SESSION_MS - 1, SESSION_MS, REBALANCE_MS, 6 * 60_000]))
    def time_passes(self, ms: int) -> None:
        self.world.advance(ms)

    @rule()
    def the_broker_restarts(self) -> None:
        self.world = self.world.reloaded()
        for member in self.alive:
            member.token = None
            member.must_sync = member.is_settled = False

    @rule()
    def old_offsets_are_looked_for(self) -> None:
        self.world.expire_offsets()

    # How

    def ask(self, request: Request) -> Any:
        token = f"{next(self.numbers)}"
        self.world.carry_out(request(self.world, token))
        return self.world.answers.get(token)

    def send(self, member: Member, request: Request) -> None:
        member.token = f"{next(self.numbers)}"
        self.world.carry_out(request(self.world, member.token))

    def go_on(self, member: Member) -> Request | None:
        """Do the next thing; gives the request that it sent, if it was one that can be late."""
        if member.token is not None:
            self.look_for_answer(member)
            return None
        if member.generation < 0:
            request = member.join(member.name)
            self.send(member, request)
            return request
        if member.must_sync:
            assigned = self.assignments.make(member.member_id, member.generation, member.members)
            request = member.sync(assigned if member.is_leader else {})
            self.send(member, request)
            return request
        self.send_heartbeat(member)
        return None

    def look_for_answer(self, member: Member) -> None:
        assert member.token is not None
        answer = self.world.answers.get(member.token)
        if answer is None:
            return
        member.token = None
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            member.member_id = answer.member_id
        elif answer.error_code:
            member.hear(answer.error_code)
        elif isinstance(answer, messages.JoinGroupResponse):
            self.take_generation(member, answer)
        else:
            self.take_assignment(member, answer)

    def take_generation(self, member: Member, answer: messages.JoinGroupResponse) -> None:
        member.member_id = answer.member_id
        member.generation = answer.generation_id
        member.is_leader = answer.leader == answer.member_id and not answer.skip_assignment
        member.members = [each.member_id for each in answer.members]
        member.must_sync = True

    def take_assignment(self, member: Member, answer: messages.SyncGroupResponse) -> None:
        """Claim: what a member is assigned is what the leader of its generation said, for it."""
        member.must_sync = False
        member.is_settled = True
        if answer.assignment:
            _, generation, meant_for = self.assignments.said[answer.assignment]
            assert generation == member.generation
            if member.instance_id is None:
                assert meant_for == member.member_id
            else:
                assert meant_for.startswith(member.instance_id)

    def send_heartbeat(self, member: Member) -> None:
        """Claim: nobody is told that all is well unless it is in the present generation."""
        world = self.world
        error_code = world.machine.membership.heartbeat(
            GROUP, member.generation, member.member_id, member.instance_id, world.steady_ms
        )
        if error_code:
            member.hear(error_code)
            return
        group = world.group()
        assert member.generation == group.generation
        assert member.member_id in group.members
        assert group.state in (GroupState.STABLE, GroupState.COMPLETING)

    # Claims that hold at every step

    @property
    def group(self) -> Group | None:
        return self.world.machine.groups.get(GROUP)

    @invariant()
    def what_is_stable_is_stored(self) -> None:
        group = self.group
        if group is not None and group.state is GroupState.STABLE:
            assert group.stored is not None
            assert group.stored.generation == group.generation
            assert {each.member_id: each.assignment for each in group.stored.members} == {
                member.member_id: member.assignment for member in group.members.values()
            }

    @invariant()
    def every_stored_assignment_is_one_that_the_leader_of_its_generation_made(self) -> None:
        for record in self.world.log[-1:]:
            if isinstance(record, GroupMetadata) and record.value is not None:
                for member in record.value.members:
                    if member.assignment:
                        _, generation, _ = self.assignments.said[member.assignment]
                        assert generation == record.value.generation

    @invariant()
    def a_restart_would_find_the_same(self) -> None:
        again = self.world.reloaded()
        stored = {group_id: value for group_id, value in self.world.stored().items() if value is not None}
        assert {key: value for key, value in again.stored().items() if value is not None} == stored
        assert again.machine.offsets == self.world.machine.offsets

    @invariant()
    def the_group_s_books_agree(self) -> None:
        group = self.group
        if group is None:
            return
        members = set(group.members)
        assert (group.state is GroupState.EMPTY) <= (not members)
        assert group.leader_id in members if members else group.leader_id is None
        assert not group.pending.keys() & members
        assert group.joining.keys() <= members
        assert group.syncing.keys() <= members
        assert not group.joining or group.state is GroupState.PREPARING
        assert not group.syncing or group.state is GroupState.COMPLETING
        assert group.unsynced <= members
        assert {
            member.instance_id: member.member_id
            for member in group.members.values()
            if member.instance_id is not None
        } == group.static_ids

    @invariant()
    def nobody_is_waited_for_forever(self) -> None:
        group = self.group
        if group is None:
            return
        for member in group.members.values():
            assert member.due_ms != NEVER or group.is_owed_an_answer(member)
        if group.state in (GroupState.PREPARING, GroupState.COMPLETING):
            assert group.phase_end.due_ms != NEVER
        assert all(pending.due_ms != NEVER for pending in group.pending.values())

    # The claim that holds in the end

    def teardown(self) -> None:
        """Once the members behave, the group becomes stable with all of them, and nobody else."""
        ends_ms = self.world.steady_ms + CONVERGENCE_MS
        while not self.has_settled():
            assert self.world.steady_ms < ends_ms, (self.group, self.alive)
            for member in self.alive:
                self.go_on(member)
            self.world.advance(500)

    def has_settled(self) -> bool:
        group = self.group
        if not self.alive:
            return group is None or group.state is GroupState.EMPTY
        return (
            group is not None
            and group.state is GroupState.STABLE
            and set(group.members) == {member.member_id for member in self.alive}
            and all(member.is_settled and member.generation == group.generation for member in self.alive)
        )


TestGroups = Groups.TestCase
TestGroups.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
