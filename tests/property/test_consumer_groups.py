"""Groups that the broker assigns for, under everything that can happen to them: members of both protocols
that join, crash, fall silent or repeat themselves, lost answers, topics that come, grow and go, groups that
pass from one protocol to the other, a log that refuses or is compacted, a broker that restarts.

Named claims hold at every step; and in the end, once those that are left behave, the group is stable, all of
its partitions are owned, and each member works on what is its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from riverlog.groups import Client
from riverlog.groups.consumer.embedded import read_subscription
from riverlog.groups.consumer.group import ConsumerGroup
from riverlog.groups.consumer.records import GroupEpoch
from riverlog.groups.machine import GroupMachine
from riverlog.groups.membership import Caller
from riverlog.groups.records import encode
from riverlog.protocol import codec, messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.groups.consumer.world import (
    GOES_AWAY,
    INTERVAL_MS,
    LEAVES,
    REVOCATION_MS,
    SESSION_MS,
    ConsumerWorld,
    FakeTopics,
    subscription,
)

GROUP = "g"
CLASSIC_SESSION_MS = 10_000
CONVERGENCE_MS = 30 * 60_000
TOPICS = ("t", "u", "v")

OUT = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)
"""What tells a member that it is none any more."""

Works = set[tuple[bytes, int]]
"""Topic id and partition."""


class Consumer:
    """A client of the consumer protocol that follows it, when it is asked to act."""

    is_classic = False

    def __init__(self, name: str, *, is_static: bool, topics: str, pattern: str) -> None:
        self.name = name
        self.instance_id = f"static-{name}" if is_static else None
        self.topics = topics
        self.pattern = pattern
        self.incarnation = 0
        self.epoch = 0
        self.works_on: Works = set()
        self.told: Works | None = None
        """What it was told and has not come to yet."""
        self.is_changed = False

    def __repr__(self) -> str:
        return f"Consumer({self.member_id}, epoch {self.epoch})"

    @property
    def member_id(self) -> str:
        return f"{self.name}-{self.incarnation}"

    def crash(self) -> None:
        """Come back as a new process."""
        self.incarnation += 1
        self.be_out()

    def be_out(self) -> None:
        self.epoch = 0
        self.works_on, self.told = set(), None

    def request(self, epoch: int | None = None) -> messages.ConsumerGroupHeartbeatRequest:
        request = messages.ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=self.epoch if epoch is None else epoch,
            instance_id=self.instance_id,
        )
        if request.member_epoch >= 0:
            owned: dict[bytes, list[int]] = {}
            for topic_id, partition in sorted(self.works_on):
                owned.setdefault(topic_id, []).append(partition)
            request.topic_partitions = [
                messages.ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=topic_id, partitions=each)
                for topic_id, each in owned.items()
            ]
        if request.member_epoch == 0 or self.is_changed:
            request.rebalance_timeout_ms = REVOCATION_MS
            request.subscribed_topic_names = list(self.topics)
            request.subscribed_topic_regex = self.pattern
        return request

    def hear(self, answer: messages.ConsumerGroupHeartbeatResponse) -> None:
        """Take an answer, as clients do."""
        if answer.error_code == ErrorCode.FENCED_INSTANCE_ID:
            self.crash()
        elif answer.error_code in OUT:
            self.be_out()
        elif not answer.error_code:
            self.is_changed = False
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.told = {
                    (each.topic_id, partition)
                    for each in answer.assignment.topic_partitions
                    for partition in each.partitions
                }

    def come_to_it(self) -> None:
        """Give up what is not its own any more, and begin with what is new."""
        if self.told is not None:
            self.works_on, self.told = self.told, None


class OldConsumer:
    """A client of the classic protocol, which gives up what it has to while it goes on with the rest."""

    is_classic = True

    def __init__(self, name: str, *, is_static: bool, topics: str) -> None:
        self.name = name
        self.instance_id = f"static-{name}" if is_static else None
        self.topics = topics
        self.member_id = ""
        self.generation = -1
        self.token: str | None = None
        self.must_sync = False
        self.members: list[messages.JoinGroupResponseMember] = []
        self.works_on: Works = set()

    def __repr__(self) -> str:
        return f"OldConsumer({self.name}, {self.member_id!r}, {self.generation})"

    def crash(self) -> None:
        self.member_id = ""
        self.be_out()

    def be_out(self) -> None:
        self.works_on = set()
        self.join_again()

    def join_again(self) -> None:
        self.generation, self.token, self.must_sync = -1, None, False

    def hear_error(self, error_code: int) -> None:
        if error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.crash()
        elif error_code == ErrorCode.ILLEGAL_GENERATION:
            self.be_out()
        else:
            self.join_again()


Anybody = Consumer | OldConsumer


class ConsumerGroups(RuleBasedStateMachine):
    """One group, some members, and whatever happens to them."""

    members = Bundle("members")
    late = Bundle("late")

    def __init__(self) -> None:
        super().__init__()
        self.world = ConsumerWorld(FakeTopics(t=3, u=2))
        self.alive: list[Anybody] = []
        self.numbers = count()
        self.checked = 0
        """How much of the log was there at the last look at epochs."""
        self.epochs = (0, 0)
        """The group's, and its assignment's."""
        self.member_epochs: dict[str, int] = {}

    @initialize(policy=st.sampled_from(["bidirectional", "bidirectional", "upgrade"]))
    def start(self, policy: str) -> None:
        self.world = ConsumerWorld(FakeTopics(t=3, u=2), consumer={"group_consumer_migration_policy": policy})

    # What happens

    @rule(
        target=members,
        is_static=st.booleans(),
        topics=st.sampled_from(["t", "tu", "u", "tv"]),
        pattern=st.sampled_from(["", "", "[uv]"]),
    )
    def somebody_comes(self, is_static: bool, topics: str, pattern: str) -> Any:
        if len(self.alive) == 4:
            return multiple()
        member = Consumer(f"m{next(self.numbers)}", is_static=is_static, topics=topics, pattern=pattern)
        self.alive.append(member)
        return member

    @rule(target=members, is_static=st.booleans(), topics=st.sampled_from(["t", "tu"]))
    def somebody_comes_who_speaks_the_classic_protocol(self, is_static: bool, topics: str) -> Any:
        if len(self.alive) == 4:
            return multiple()
        member = OldConsumer(f"o{next(self.numbers)}", is_static=is_static, topics=topics)
        self.alive.append(member)
        return member

    @rule(target=late, member=members, log_fails=st.booleans(), is_lost=st.booleans())
    def a_member_goes_on(self, member: Anybody, log_fails: bool, is_lost: bool) -> Any:
        """The member does what comes next for it; its answer may be lost."""
        self.world.refusal = ErrorCode.KAFKA_STORAGE_ERROR if log_fails else ErrorCode.NONE
        request = self.go_on(member, is_lost=is_lost)
        self.world.refusal = ErrorCode.NONE
        return multiple() if request is None else request

    @rule(member=members)
    def all_members_go_on(self, member: Anybody) -> None:
        for each in self.alive:
            self.go_on(each)

    @rule(request=consumes(late))
    def a_late_message_arrives(self, request: messages.ConsumerGroupHeartbeatRequest) -> None:
        """Nobody waits for its answer any more."""
        self.ask(request)

    @rule(member=members)
    def a_member_crashes(self, member: Anybody) -> None:
        member.crash()

    @rule(member=members)
    def a_member_begins_anew_under_its_id(self, member: Anybody) -> None:
        member.be_out()

    @rule(member=consumes(members))
    def a_member_is_gone_for_good(self, member: Anybody) -> None:
        self.alive.remove(member)

    @rule(target=late, member=members, for_a_while=st.booleans())
    def a_member_leaves(self, member: Anybody, for_a_while: bool) -> Any:
        if isinstance(member, OldConsumer):
            leaving = messages.MemberIdentity(
                member_id=member.member_id, group_instance_id=member.instance_id
            )
            leave = messages.LeaveGroupRequest(group_id=GROUP, members=[leaving])
            self.world.routed("leave", lambda token: self.world.machine.leave(leave, token, self.world.now))
            member.crash()
            return multiple()
        epoch = GOES_AWAY if for_a_while and member.instance_id is not None else LEAVES
        request = member.request(epoch)
        self.ask(request)
        member.crash()
        return request

    @rule(member=members, topics=st.sampled_from(["t", "u", "tuv"]), pattern=st.sampled_from(["", "[tv]"]))
    def a_member_reads_something_else(self, member: Anybody, topics: str, pattern: str) -> None:
        member.topics = topics
        if isinstance(member, Consumer):
            member.pattern, member.is_changed = pattern, True
        else:
            member.join_again()

    @rule(ms=st.sampled_from([0, 1, 500, INTERVAL_MS, CLASSIC_SESSION_MS, SESSION_MS, REVOCATION_MS]))
    def time_passes(self, ms: int) -> None:
        self.world.advance(ms)

    @rule(topic=st.sampled_from(TOPICS))
    def a_topic_comes_or_grows(self, topic: str) -> None:
        topics = self.world.topics
        is_new = topic not in topics.topics
        if is_new:
            topics.create(topic, 2)
        elif len(topics.topics[topic].partitions) < 6:
            topics.grow(topic, len(topics.topics[topic].partitions) + 1)
        self.world.topics_changed(topic, are_new=is_new)

    @rule(topic=st.sampled_from(TOPICS))
    def a_topic_goes(self, topic: str) -> None:
        if topic in self.world.topics.topics:
            self.world.topics.delete(topic)
            self.world.topics_changed(topic, are_new=True)

    @rule(is_compacted=st.booleans())
    def the_broker_restarts(self, is_compacted: bool) -> None:
        world = self.world
        if is_compacted:
            world.machine = self.from_compacted_log()
            for outcome in world.machine.loaded(world.now):
                world.carry_out(outcome)
        else:
            world.restart()
        for member in self.alive:
            if isinstance(member, OldConsumer) and member.token is not None:
                member.join_again()

    # How

    def ask(self, request: messages.ConsumerGroupHeartbeatRequest) -> messages.ConsumerGroupHeartbeatResponse:
        world = self.world
        token = f"beat {next(self.numbers)}"
        caller = Caller(1, Client("c", "/h"), token, "")
        world.carry_out(world.machine.heartbeats.beat(request, caller, world.now))
        answer: messages.ConsumerGroupHeartbeatResponse = world.answers[token]
        return answer

    def go_on(self, member: Anybody, *, is_lost: bool = False) -> Any:
        if isinstance(member, OldConsumer):
            self.go_on_in_classic(member)
            return None
        member.come_to_it()
        request = member.request()
        if request.member_epoch == 0:
            member.works_on = set()
        answer = self.ask(request)
        if not is_lost:
            member.hear(answer)
        elif not member.epoch:
            member.crash()  # it cannot know whether it is a member
        # A join that is repeated later would say that the member has given up all that it works on.
        return request if request.member_epoch > 0 else None

    def go_on_in_classic(self, member: OldConsumer) -> None:
        world = self.world
        if member.token is not None:
            self.look_for_answer(member)
        elif member.generation < 0:
            member.token = f"join {next(self.numbers)}"
            join = self.join_request(member)
            caller = Caller(3, Client("c", "/h"), member.token, f"{member.name}-{next(self.numbers)}")
            world.carry_out(world.machine.join(join, caller, world.now))
            self.look_for_answer(member)
        elif member.must_sync:
            member.token = f"sync {next(self.numbers)}"
            sync = self.sync_request(member)
            world.carry_out(world.machine.sync(sync, member.token, world.now))
            self.look_for_answer(member)
        else:
            error_code = world.machine.heartbeat(
                GROUP, member.generation, member.member_id, member.instance_id, world.now
            )
            if error_code:
                member.hear_error(error_code)

    def join_request(self, member: OldConsumer) -> messages.JoinGroupRequest:
        owned: dict[str, list[int]] = {}
        for topic_id, partition in member.works_on:
            if topic_id in self.world.topics.topics_by_id:
                owned.setdefault(self.world.topics.topics_by_id[topic_id].name, []).append(partition)
        metadata = subscription(member.topics, owned)
        return messages.JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=CLASSIC_SESSION_MS,
            rebalance_timeout_ms=REVOCATION_MS,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            protocol_type="consumer",
            protocols=[messages.JoinGroupRequestProtocol(name="cooperative", metadata=metadata)],
        )

    def sync_request(self, member: OldConsumer) -> messages.SyncGroupRequest:
        return messages.SyncGroupRequest(
            group_id=GROUP,
            generation_id=member.generation,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            assignments=[
                messages.SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in self.assign(member.members).items()
            ],
        )

    def assign(self, members: list[messages.JoinGroupResponseMember]) -> dict[str, bytes]:
        """Assign as a cooperative leader does: what another member has is left out until it gave that up."""
        told = {each.member_id: read_subscription(each.metadata) for each in members}
        owners = {
            (topic, partition): member_id
            for member_id, subscribed in told.items()
            for topic, partitions in subscribed.owned.items()
            for partition in partitions
        }
        assigned: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in told}
        for topic in self.world.topics.topics.values():
            readers = sorted(member_id for member_id, each in told.items() if topic.name in each.topics)
            for partition in range(len(topic.partitions) if readers else 0):
                reader = readers[partition % len(readers)]
                if owners.get((topic.name, partition), reader) == reader:
                    assigned[reader].setdefault(topic.name, []).append(partition)
        return {member_id: self.written(each) for member_id, each in assigned.items()}

    @staticmethod
    def written(assigned: Mapping[str, Iterable[int]]) -> bytes:
        message = messages.ConsumerProtocolAssignment(
            assigned_partitions=[
                messages.ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=list(partitions))
                for topic, partitions in assigned.items()
            ]
        )
        return b"\0\3" + codec.encode(message, 3)

    def look_for_answer(self, member: OldConsumer) -> None:
        answer = self.world.answers.get(member.token or "")
        if answer is None:
            return
        member.token = None
        if answer.error_code:
            member.hear_error(answer.error_code)
        elif isinstance(answer, messages.JoinGroupResponse):
            member.member_id = answer.member_id
            member.generation = answer.generation_id
            member.members = answer.members
            member.must_sync = True
        else:
            self.take_assignment(member, answer)

    def take_assignment(self, member: OldConsumer, answer: messages.SyncGroupResponse) -> None:
        member.must_sync = False
        topics = self.world.topics.topics
        mine: Works = set()
        if answer.assignment:
            read = codec.decode("ConsumerProtocolAssignment", 3, answer.assignment, 2)
            mine = {
                (topics[each.topic].topic_id, partition)
                for each in read.assigned_partitions
                if each.topic in topics
                for partition in each.partitions
            }
        gave_up = member.works_on - mine
        member.works_on = mine
        if gave_up:
            member.join_again()

    def from_compacted_log(self) -> GroupMachine:
        """What the last record of each key gives."""
        world = self.world
        last = {encode(record)[0]: place for place, record in enumerate(world.log)}
        machine = GroupMachine(world._surroundings)
        for place, record in enumerate(world.log):
            if last[encode(record)[0]] == place and record.value is not None:
                machine.replay(record, place, world.producers[place])
        return machine

    # Claims that hold at every step

    @property
    def group(self) -> ConsumerGroup | None:
        return self.world.machine.consumer_groups.get(GROUP)

    @invariant()
    def no_partition_is_two_members_own(self) -> None:
        group = self.group
        if group is None:
            return
        own = [
            (topic_id, partition)
            for standing in group.standings.values()
            for held in (standing.assigned, standing.revoking)
            for topic_id, partitions in held.items()
            for partition in partitions
        ]
        assert len(own) == len(set(own))

    @invariant()
    def no_partition_is_worked_on_by_two(self) -> None:
        """Whoever was taken out may not know yet, and is not counted."""
        groups = self.world.machine
        ids = {
            *(groups.consumer_groups[GROUP].members if GROUP in groups.consumer_groups else ()),
            *(groups.groups[GROUP].members if GROUP in groups.groups else ()),
        }
        worked_on = [each for member in self.alive if member.member_id in ids for each in member.works_on]
        assert len(worked_on) == len(set(worked_on))

    @invariant()
    def epochs_only_grow(self) -> None:
        group = self.group
        fresh, self.checked = self.world.log[self.checked :], len(self.world.log)
        if group is None or any(isinstance(each, GroupEpoch) and each.value is None for each in fresh):
            self.epochs, self.member_epochs = (0, 0), {}  # it began anew, or is no group of this kind
        if group is None:
            return
        assert group.assignment_epoch <= group.epoch
        assert self.epochs <= (group.epoch, group.assignment_epoch)
        self.epochs = (group.epoch, group.assignment_epoch)
        for member_id, standing in group.standings.items():
            assert standing.epoch <= group.assignment_epoch
            if standing.epoch > 0:
                assert self.member_epochs.get(member_id, 0) <= standing.epoch
                self.member_epochs[member_id] = standing.epoch

    @invariant()
    def a_restart_would_find_the_same(self) -> None:
        for again in (self.world.reloaded_machine(), self.from_compacted_log()):
            assert again.consumer_groups == self.world.machine.consumer_groups
            for group_id, group in again.consumer_groups.items():
                there = self.world.machine.consumer_groups[group_id]
                for counted in ("assignors", "classic_count", "_support", "_by_name", "_pattern_users"):
                    assert getattr(group, counted) == getattr(there, counted)
            stored = {group_id: group.stored for group_id, group in again.groups.items() if group.stored}
            assert stored == {
                group_id: group.stored
                for group_id, group in self.world.machine.groups.items()
                if group.stored
            }

    @invariant()
    def a_group_is_of_one_protocol(self) -> None:
        assert not self.world.machine.groups.keys() & self.world.machine.consumer_groups.keys()

    @invariant()
    def nobody_is_waited_for_forever(self) -> None:
        group = self.group
        if group is not None:
            timers = self.world.machine.heartbeats._timers
            assert all(timers.has_session(GROUP, member_id) for member_id in group.members)

    @invariant()
    def what_is_stable_is_complete(self) -> None:
        """No partition is orphaned, of those topics that the group knows of."""
        group = self.group
        if group is not None and group.state == "Stable" and not group.is_refresh_due:
            self.check_complete(group)

    def check_complete(self, group: ConsumerGroup) -> None:
        known = self.world.topics.topics
        expected = {
            (known[name].topic_id, partition)
            for name in group.all_topics()
            if name in known
            for partition in range(len(known[name].partitions))
        }
        owned = {(topic_id, each) for topic_id, owners in group.owners.items() for each in owners}
        assert owned == expected

    # The claim that holds in the end

    def teardown(self) -> None:
        ends_ms = self.world.steady_ms + CONVERGENCE_MS
        while not self.has_settled():
            assert self.world.steady_ms < ends_ms, (self.world.machine.consumer_groups, self.alive)
            for member in self.alive:
                self.go_on(member)
            self.world.advance(500)

    def has_settled(self) -> bool:
        machine = self.world.machine
        ids = {member.member_id for member in self.alive}
        if not ids:
            return not any(
                group.members
                for groups in (machine.groups, machine.consumer_groups)
                for group in groups.values()
            )
        classic = machine.groups.get(GROUP)
        if classic is not None:
            return (
                classic.state == "Stable"
                and set(classic.members) == ids
                and all(isinstance(member, OldConsumer) and member.generation > 0 for member in self.alive)
            )
        group = self.group
        if group is None or group.state != "Stable" or set(group.members) != ids or group.is_refresh_due:
            return False
        self.check_complete(group)
        return all(
            member.works_on
            == {
                (topic_id, each)
                for topic_id, epochs in group.standing(member.member_id).assigned.items()
                for each in epochs
            }
            for member in self.alive
        )


TestConsumerGroups = ConsumerGroups.TestCase
TestConsumerGroups.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
