"""A machine to try things on: its log is a list, its clock is moved by hand, answers are kept by token."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from riverlog.config import GroupSettings
from riverlog.groups import Client, Commit, OffsetToCommit, replies
from riverlog.groups.group import Group
from riverlog.groups.machine import GroupMachine
from riverlog.groups.membership import Caller
from riverlog.groups.outcome import Outcome
from riverlog.groups.records import GroupRecord
from riverlog.groups.surroundings import Surroundings
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import NO_PRODUCER, Moment, ProducerIdentity

WALL_MS = 1_700_000_000_000
STATIC_PREFIX = "static-"

TOPIC_ID = bytes(15) + b"\x01"


class World:
    """Everybody is called by a name; one that begins with "static-" up to a slash is a static member's.

    "static-a/1" and "static-a/2" are two incarnations of the static member "static-a".
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = GroupSettings(**{"group_initial_rebalance_delay_ms": 0, **settings})
        self.machine = GroupMachine(Surroundings(self.settings))
        self.log: list[GroupRecord] = []
        self.producers: dict[int, int] = {}
        """Place in the log to the producer whose transaction the record there is part of."""
        self.answers: dict[str, Any] = {}
        self.ids: dict[str, str] = {}
        self.refusal = ErrorCode.NONE
        """What the log answers to appends."""
        self.steady_ms = 0
        self._numbers = count()

    # What the shell does

    @property
    def now(self) -> Moment:
        return Moment(WALL_MS + self.steady_ms, self.steady_ms)

    def carry_out(self, outcome: Outcome) -> None:
        answers = list(outcome.answers)
        if outcome.records and self.refusal:
            answers = [
                answer._replace(message=replies.refused_by_log(answer.message, self.refusal))
                for answer in answers
            ]
            self.carry_out(self.machine.refused(outcome))
        else:
            for record in outcome.records:
                producer_id = NO_PRODUCER if outcome.producer is None else outcome.producer.producer_id
                self.machine.replay(record, len(self.log), producer_id)
                self.producers[len(self.log)] = producer_id
                self.log.append(record)
        for token, message in answers:
            assert isinstance(token, str)
            assert token not in self.answers, f"{token} is answered twice"
            self.answers[token] = message

    def advance(self, ms: int) -> None:
        """Let time pass, deadline by deadline."""
        end_ms = self.steady_ms + ms
        while self.machine.next_deadline_ms <= end_ms:
            self.steady_ms = max(self.steady_ms, self.machine.next_deadline_ms)
            for outcome in self.machine.pass_time(self.now):
                self.carry_out(outcome)
        self.steady_ms = end_ms

    def reloaded(self) -> World:
        """What a restart finds in the log."""
        other = World()
        other.settings = self.settings
        other.machine = GroupMachine(Surroundings(self.settings))
        other.steady_ms = self.steady_ms
        other.ids = dict(self.ids)
        for place, record in enumerate(self.log):
            producer_id = self.producers[place]
            other.machine.replay(record, place, producer_id)
            other.producers[place] = producer_id
            other.log.append(record)
        for outcome in other.machine.loaded(other.now):
            other.carry_out(outcome)
        return other

    # Requests. Each gives its token, under which the answer is kept once it is there.

    def join(
        self,
        name: str,
        *,
        group: str = "g",
        version: int = 3,
        protocols: Mapping[str, bytes] | None = None,
        protocol_type: str = "consumer",
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int = 60_000,
    ) -> str:
        """Join, with the member id from before if there was one. Before version 4 that takes one step."""
        instance_id = name.partition("/")[0] if name.startswith(STATIC_PREFIX) else None
        token = self._token(f"join {name}")
        request = messages.JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id=self.ids.get(name, ""),
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[
                messages.JoinGroupRequestProtocol(name=protocol, metadata=metadata)
                for protocol, metadata in (protocols or {"range": b"all"}).items()
            ],
        )
        self.ids.setdefault(name, f"{instance_id or 'client'}-{name}")
        caller = Caller(version, Client("client", "/127.0.0.1"), token, name)
        self.carry_out(self.machine.membership.join(request, caller, self.now))
        return token

    def sync(
        self,
        name: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        group: str = "g",
        generation: int | None = None,
        protocol: str | None = None,
    ) -> str:
        """Ask for one's assignment; the leader brings all of them, by name."""
        token = self._token(f"sync {name}")
        request = messages.SyncGroupRequest(
            group_id=group,
            generation_id=self.group(group).generation if generation is None else generation,
            member_id=self.ids.get(name, name),
            group_instance_id=self._instance_id(name),
            protocol_name=protocol,
            assignments=[
                messages.SyncGroupRequestAssignment(member_id=self.ids[each], assignment=assignment)
                for each, assignment in (assignments or {}).items()
            ],
        )
        self.carry_out(self.machine.membership.sync(request, token, self.now))
        return token

    def heartbeat(self, name: str, *, group: str = "g", generation: int | None = None) -> ErrorCode:
        there = self.machine.groups.get(group)
        if generation is None:
            generation = -1 if there is None else there.generation
        return self.machine.membership.heartbeat(
            group, generation, self.ids.get(name, name), self._instance_id(name), self.steady_ms
        )

    def leave(self, *names: str, group: str = "g") -> list[int]:
        """Leave; gives each one's error code."""
        token = self._token(f"leave {names}")
        request = messages.LeaveGroupRequest(
            group_id=group,
            members=[
                messages.MemberIdentity(
                    member_id=self.ids.get(name, name), group_instance_id=self._instance_id(name)
                )
                for name in names
            ],
        )
        self.carry_out(self.machine.membership.leave(request, token, self.now))
        return [member.error_code for member in self.answers[token].members]

    def commit(
        self,
        offset: int = 5,
        *,
        name: str = "",
        group: str = "g",
        topic: str = "t",
        topic_id: bytes = TOPIC_ID,
        partition: int = 0,
        generation: int | None = None,
        version: int = 9,
        metadata: str | None = "",
        retention_ms: int = -1,
        producer: ProducerIdentity | None = None,
    ) -> int:
        """Commit for one partition, as a member if a name is given; gives the error code."""
        if generation is None:
            generation = self.group(group).generation if name else -1
        token = self._token(f"commit {name}")
        commit = Commit(
            version,
            group,
            generation,
            self.ids.get(name, name),
            self._instance_id(name),
            [OffsetToCommit(topic, topic_id, partition, offset, 0, metadata)],
            retention_ms,
            producer,
        )
        self.carry_out(self.machine.commits.commit(commit, token, self.now))
        (error_code,) = self.answers[token].error_codes
        return int(error_code)

    def expire_offsets(self, group: str = "g") -> None:
        self.carry_out(self.machine.expire_offsets(group, self.now))

    # Questions

    def group(self, group: str = "g") -> Group:
        return self.machine.groups[group]

    def members(self, group: str = "g") -> list[str]:
        """The names of a group's members."""
        names = {self.ids[name]: name for name in self.ids}
        return [names[each] for each in self.group(group).members]

    def committed(self, group: str = "g") -> dict[tuple[str, int], int]:
        return {
            (topic, partition): value.offset
            for topic, partition, value in self.machine.offsets.of_group(group)
        }

    def error(self, token: str) -> int | None:
        """The error code of an answer; None if there is no answer yet."""
        return int(self.answers[token].error_code) if token in self.answers else None

    def stored(self) -> dict[str, messages.GroupMetadataValue | None]:
        return {group_id: group.stored for group_id, group in self.machine.groups.items()}

    # Scenes

    def settle(self, *names: str, group: str = "g", **how: Any) -> None:
        """Let these join and be assigned their own name each. The first one, of a new group, leads it."""
        tokens = [self.join(name, group=group, **how) for name in names]
        self.advance(0)
        assert [self.error(token) for token in tokens] == [0] * len(names)
        self.assign(*names, group=group)

    def assign(self, *names: str, group: str = "g") -> None:
        """Let these ask for their assignment, the leader last."""
        leader_id = self.group(group).leader_id
        leader = next(name for name in names if self.ids[name] == leader_id)
        followers = [name for name in names if name != leader]
        tokens = [self.sync(name, group=group) for name in followers]
        tokens.append(self.sync(leader, {name: name.encode() for name in names}, group=group))
        assert [self.answers[token].assignment for token in tokens] == [
            name.encode() for name in (*followers, leader)
        ]

    def _instance_id(self, name: str) -> str | None:
        return name.partition("/")[0] if name.startswith(STATIC_PREFIX) else None

    def _token(self, what: str) -> str:
        return f"{what} ({next(self._numbers)})"
