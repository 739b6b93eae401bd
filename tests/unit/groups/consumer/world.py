"""A machine with topics, to try groups on whose assignment the broker decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from riverlog.config import ConsumerGroupSettings
from riverlog.groups import Client
from riverlog.groups.consumer.embedded import NEWEST_VERSION
from riverlog.groups.consumer.group import ConsumerGroup
from riverlog.groups.consumer.member import MemberState
from riverlog.groups.machine import GroupMachine
from riverlog.groups.membership import Caller
from riverlog.groups.outcome import Outcome
from riverlog.groups.surroundings import Surroundings
from riverlog.protocol import codec, messages
from tests.unit.groups.world import STATIC_PREFIX, World

JOINS, LEAVES, GOES_AWAY = 0, -1, -2
SESSION_MS = 45_000
INTERVAL_MS = 1000
REVOCATION_MS = 60_000


class FakeTopic(NamedTuple):
    name: str
    topic_id: bytes
    partitions: tuple[None, ...]


class FakeTopics:
    """The topics of a cluster; a topic that is created again has another id."""

    def __init__(self, **counts: int) -> None:
        self.topics: dict[str, FakeTopic] = {}
        self.topics_by_id: dict[bytes, FakeTopic] = {}
        self._number = 0
        for name, count in counts.items():
            self.create(name, count)

    def create(self, name: str, count: int) -> None:
        self._number += 1
        self._put(FakeTopic(name, self._number.to_bytes(16), (None,) * count))

    def grow(self, name: str, count: int) -> None:
        self._put(self.topics[name]._replace(partitions=(None,) * count))

    def delete(self, name: str) -> None:
        del self.topics_by_id[self.topics.pop(name).topic_id]

    def _put(self, topic: FakeTopic) -> None:
        self.topics[topic.name] = self.topics_by_id[topic.topic_id] = topic


class ConsumerWorld(World):
    """Members are called by name, "static-a/1" as in `World`; topics by name too."""

    def __init__(
        self,
        topics: FakeTopics | None = None,
        *,
        consumer: Mapping[str, Any] | None = None,
        overrides: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.topics = topics or FakeTopics(t=4)
        self._surroundings = Surroundings(
            self.settings,
            ConsumerGroupSettings(**(consumer or {})),
            self.topics,
            lambda _group_id: overrides or {},
        )
        self.machine = GroupMachine(self._surroundings)
        self.epochs: dict[str, int] = {}
        """What each member was told last."""
        self.owned: dict[str, dict[str, set[int]]] = {}
        """What each member was told to have."""

    def reloaded_machine(self) -> GroupMachine:
        """What replaying the log from scratch gives."""
        machine = GroupMachine(self._surroundings)
        for place, record in enumerate(self.log):
            machine.replay(record, place, self.producers[place])
        return machine

    def restart(self) -> None:
        """Go on with what the log says."""
        self.machine = self.reloaded_machine()
        for outcome in self.machine.loaded(self.now):
            self.carry_out(outcome)

    def topics_changed(self, *names: str, are_new: bool = False) -> None:
        self.machine.topics_changed(names, are_new=are_new)

    # Heartbeats

    def beat(
        self,
        name: str,
        epoch: int | None = None,
        *,
        group: str = "g",
        version: int = 1,
        topics: str | None = None,
        pattern: str | None = None,
        owned: Mapping[str, Iterable[int]] | None = None,
        **fields: Any,
    ) -> messages.ConsumerGroupHeartbeatResponse:
        """Send a heartbeat, in the member's epoch; topics are named by single letters."""
        if owned is not None:
            fields["topic_partitions"] = [
                messages.ConsumerGroupHeartbeatRequestTopicPartitions(
                    topic_id=self.topics.topics[topic].topic_id, partitions=list(partitions)
                )
                for topic, partitions in owned.items()
                if partitions and topic in self.topics.topics
            ]
        request = messages.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=name,
            member_epoch=self.epochs.get(name, 0) if epoch is None else epoch,
            instance_id=name.partition("/")[0] if name.startswith(STATIC_PREFIX) else None,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=pattern,
            **fields,
        )
        token = self._token(f"beat {name}")
        caller = Caller(version, Client("client", "/127.0.0.1"), token, f"made-{token}")
        self.carry_out(self.machine.heartbeats.beat(request, caller, self.now))
        answer: messages.ConsumerGroupHeartbeatResponse = self.answers[token]
        if not answer.error_code:
            member = answer.member_id or name
            self.epochs[member] = answer.member_epoch
            if answer.assignment is not None:
                self.owned[member] = {
                    self.topics.topics_by_id[each.topic_id].name: set(each.partitions)
                    for each in answer.assignment.topic_partitions
                    if each.topic_id in self.topics.topics_by_id
                }
        return answer

    def enter(
        self, name: str, topics: str | None = "t", *, pattern: str | None = None, **how: Any
    ) -> messages.ConsumerGroupHeartbeatResponse:
        """Join, as a consumer does."""
        how = {"rebalance_timeout_ms": REVOCATION_MS, "owned": {}, **how}
        return self.beat(name, JOINS, topics=topics, pattern=pattern, **how)

    def report(self, name: str, **how: Any) -> messages.ConsumerGroupHeartbeatResponse:
        """Say what the member works on, which is what it was told to."""
        return self.beat(name, owned=self.owned.get(name, {}), **how)

    def go_round(self, *names: str) -> None:
        """Let members report until all have what they are meant to have."""
        self.advance(INTERVAL_MS)
        for _ in range(4):
            for name in names:
                assert not self.report(name).error_code
        assert self.consumer_group().state in ("Stable", "Empty")

    def gather(self, *names: str, topics: str = "t") -> None:
        """Let members join and settle."""
        for name in names:
            assert not self.enter(name, topics).error_code
        self.go_round(*names)

    # The classic protocol, which finds its way by itself

    def classic_join(
        self,
        name: str,
        topics: str = "t",
        *,
        owned: Mapping[str, Iterable[int]] | None = None,
        version: int = 3,
        protocol: str = "range",
    ) -> str:
        """Join by JoinGroup; gives the token."""
        return self.routed(
            f"join {name}",
            lambda token: self.machine.join(
                messages.JoinGroupRequest(
                    group_id="g",
                    session_timeout_ms=10_000,
                    rebalance_timeout_ms=REVOCATION_MS,
                    member_id=self.ids.get(name, ""),
                    group_instance_id=self._instance_id(name),
                    protocol_type="consumer",
                    protocols=[
                        messages.JoinGroupRequestProtocol(name=protocol, metadata=subscription(topics, owned))
                    ],
                ),
                Caller(version, Client("old", "/127.0.0.1"), token, name),
                self.now,
            ),
        )

    def classic_sync(
        self, name: str, generation: int, assignments: Mapping[str, bytes] | None = None
    ) -> messages.SyncGroupResponse:
        token = self.routed(
            f"sync {name}",
            lambda token: self.machine.sync(
                messages.SyncGroupRequest(
                    group_id="g",
                    generation_id=generation,
                    member_id=self.ids[name],
                    group_instance_id=self._instance_id(name),
                    assignments=[
                        messages.SyncGroupRequestAssignment(member_id=self.ids[each], assignment=assignment)
                        for each, assignment in (assignments or {}).items()
                    ],
                ),
                token,
                self.now,
            ),
        )
        answer: messages.SyncGroupResponse = self.answers[token]
        return answer

    def classic_heartbeat(self, name: str, generation: int) -> int:
        return self.machine.heartbeat("g", generation, self.ids[name], self._instance_id(name), self.now)

    def classic_leave(self, *names: str) -> list[int]:
        token = self.routed(
            f"leave {names}",
            lambda token: self.machine.leave(
                messages.LeaveGroupRequest(
                    group_id="g",
                    members=[
                        messages.MemberIdentity(
                            member_id=self.ids.get(name, name), group_instance_id=self._instance_id(name)
                        )
                        for name in names
                    ],
                ),
                token,
                self.now,
            ),
        )
        return [each.error_code for each in self.answers[token].members]

    def classic_settle(self, name: str, topics: str = "t", **assigned: Iterable[int]) -> int:
        """Let a lone member of the classic protocol assign itself partitions; gives the generation."""
        token = self.classic_join(name, topics)
        self.advance(0)
        answer = self.answers[token]
        self.ids[name] = answer.member_id
        self.classic_sync(name, answer.generation_id, {name: assignment(**assigned)})
        return int(answer.generation_id)

    def routed(self, what: str, ask: Any) -> str:
        token = self._token(what)
        outcome: Outcome = ask(token)
        self.carry_out(outcome)
        return token

    # Questions

    def consumer_group(self, group: str = "g") -> ConsumerGroup:
        return self.machine.consumer_groups[group]

    def has(self, name: str) -> dict[str, set[int]]:
        """What a member has, as it is stored."""
        return self._by_name(self.consumer_group().standing(name).assigned)

    def gives_up(self, name: str) -> dict[str, set[int]]:
        return self._by_name(self.consumer_group().standing(name).revoking)

    def state(self, name: str) -> MemberState:
        return self.consumer_group().standing(name).state

    def _by_name(self, held: Mapping[bytes, Iterable[int]]) -> dict[str, set[int]]:
        return {self.topics.topics_by_id[topic_id].name: set(each) for topic_id, each in held.items()}


def subscription(topics: str, owned: Mapping[str, Iterable[int]] | None = None) -> bytes:
    """What a consumer of the classic protocol says of itself."""
    message = messages.ConsumerProtocolSubscription(
        topics=list(topics),
        owned_partitions=[
            messages.ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=list(partitions))
            for topic, partitions in (owned or {}).items()
        ],
    )
    return NEWEST_VERSION.to_bytes(2) + codec.encode(message, NEWEST_VERSION)


def assignment(**assigned: Iterable[int]) -> bytes:
    """What the leader of a group of the classic protocol assigns."""
    message = messages.ConsumerProtocolAssignment(
        assigned_partitions=[
            messages.ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=list(partitions))
            for topic, partitions in assigned.items()
        ]
    )
    return NEWEST_VERSION.to_bytes(2) + codec.encode(message, NEWEST_VERSION)


def read_assignment(data: bytes) -> dict[str, set[int]]:
    message = codec.decode("ConsumerProtocolAssignment", int.from_bytes(data[:2]), data, 2)
    return {each.topic: set(each.partitions) for each in message.assigned_partitions}
