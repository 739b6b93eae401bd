"""500 consumers that join groups: how long until all have their assignment, and what a heartbeat costs.

Each member is a raw connection with the classic protocol's conversation; one thread drives them all:

    join ──▶ "here is your id" ──▶ join with it ──▶ who else is in ──▶ sync ──▶ assignment

`group.initial.rebalance.delay.ms`, for which an empty group waits for more members (3 s by default, and again
while they come), is 0 for every broker here: it is a pause, and one measures as long as the other. Instead a
first member holds each group. It joins alone beforehand; when it is told of the others, as its next heartbeat
would, it joins again, and so the clock runs from the first of the others' joins until all of the group have
been given their part of one and the same generation. The others send all at once.

Then all join again with other subscriptions, as after a change of topics. Then they send heartbeats on a
schedule, as many as some thousand consumers would: what a broker with many consumers never gets rid of.
"""

import time
from typing import NamedTuple

from bench import wire, wire_groups
from bench.broker import Broker
from bench.connection import Client
from bench.crowd import Crowd, gather
from bench.errors import Refused, Unanswered
from bench.isolation import in_own_process
from bench.process import Meter, Usage, memory
from bench.row import Figure, Row, Sample, System, at_most

MEMBERS = 500
GROUPS = {"one": 1, "fifty": 50}
HEARTBEATS_PER_SECOND = 2000
HEARTBEAT_SECONDS = 2.0
REBALANCE_SECONDS_MAX = 60.0
HEARTBEAT_SECONDS_MIN = 1.0
ASSIGNMENT_BYTES = 60


class Run(NamedTuple):
    """What a turn with one number of groups took."""

    join: Usage
    rejoin: Usage
    heartbeat: Usage
    heartbeats: int


class Members:
    """All members of all groups; those of a group stand next to each other, its first one first."""

    def __init__(self, crowd: Crowd, groups: list[str], group_size: int) -> None:
        self.crowd = crowd
        self.group_size = group_size
        self.groups = [group for group in groups for _ in range(group_size)]
        self.ids = [""] * len(self.groups)
        self.generations = [0] * len(self.groups)

    def found(self) -> None:
        """Have the first member of each group join alone."""
        self._rebalance(self._first_ones(), [], ["first"], 1)

    def join(self) -> None:
        """Have all others join, and the first members join again once these are there."""
        first = self._first_ones()
        others = sorted(set(range(len(self.groups))) - set(first))
        self._rebalance(others, first, ["first"], self.group_size)

    def rejoin(self) -> None:
        """Have all join again, with something new to say."""
        self._rebalance(list(range(len(self.groups))), [], ["first", "second"], self.group_size)

    def leave(self, client: Client) -> None:
        """Have all leave, group by group, and the groups forgotten."""
        for first in self._first_ones():
            request = wire_groups.leave_group_request(
                self.groups[first], self.ids[first : first + self.group_size]
            )
            if error := wire_groups.read_error(client.call(request)):
                raise Refused(f"LeaveGroup answered error {error}")
        groups = sorted(set(self.groups))
        errors = wire_groups.read_group_errors(client.call(wire_groups.delete_groups_request(groups)))
        if any(errors.values()):
            raise Refused(f"DeleteGroups answered {errors}")

    def heartbeat(self, rate: int, seconds: float) -> int:
        """Send heartbeats, one member after the other, on schedule; return how many were answered."""
        requests = [
            wire_groups.heartbeat_request(*member)
            for member in zip(self.groups, self.generations, self.ids, strict=True)
        ]
        count = 0
        for frame in self.crowd.paced(requests, rate, seconds):
            if error := wire_groups.read_error(frame):
                raise Refused(f"Heartbeat answered error {error}")
            count += 1
        return count

    def _first_ones(self) -> list[int]:
        return list(range(0, len(self.groups), self.group_size))

    def _rebalance(self, joining: list[int], held_back: list[int], topics: list[str], size: int) -> None:
        """Converse until all have their assignment in a generation of so many members.

        Those held back join when everybody else of their group has joined under an id of its own.
        """
        metadata = wire_groups.subscription(topics)
        unidentified = dict.fromkeys(held_back, size - 1)
        waiting = {*joining, *held_back}
        syncing: set[int] = set()
        for member in joining:
            self._send_join(member, metadata)
        deadline = time.monotonic() + REBALANCE_SECONDS_MAX
        while waiting:
            if time.monotonic() > deadline:
                raise Unanswered(f"{len(waiting)} members wait after {REBALANCE_SECONDS_MAX:.0f} s")
            for member, frame in self.crowd.answers():
                if member in syncing:
                    self._take_assignment(member, frame)
                    syncing.remove(member)
                    waiting.remove(member)
                    continue
                joined = wire_groups.read_joined(frame)
                if joined.error_code == wire_groups.MEMBER_ID_REQUIRED:
                    self.ids[member] = joined.member_id
                    self._send_join(member, metadata)
                    first = member - member % self.group_size
                    if first in unidentified:
                        unidentified[first] -= 1
                        if not unidentified[first]:
                            self._send_join(first, metadata)
                else:
                    self._sync(member, joined, size)
                    syncing.add(member)

    def _send_join(self, member: int, metadata: bytes) -> None:
        request = wire_groups.join_group_request(self.groups[member], self.ids[member], metadata)
        self.crowd.send(member, request)

    def _sync(self, member: int, joined: wire_groups.Joined, size: int) -> None:
        """Ask for the assignment; the leader makes everybody's: the member's own id, so that it can tell."""
        if joined.error_code != wire.NO_ERROR or joined.member_id != self.ids[member]:
            raise Refused(f"JoinGroup answered {joined}")
        self.generations[member] = joined.generation
        assignments = [(each, each.encode().ljust(ASSIGNMENT_BYTES)) for each in joined.members]
        if joined.leader == joined.member_id and len(assignments) != size:
            raise Refused(f"a generation of {len(assignments)} members, not {size}")
        request = wire_groups.sync_group_request(
            self.groups[member], joined.generation, joined.member_id, assignments
        )
        self.crowd.send(member, request)

    def _take_assignment(self, member: int, frame: bytes) -> None:
        synced = wire_groups.read_synced(frame)
        if synced.error_code != wire.NO_ERROR:
            raise Refused(f"SyncGroup answered error {synced.error_code}")
        if synced.assignment.rstrip() != self.ids[member].encode():
            raise Refused("SyncGroup answered with another member's assignment")

    def check_generations(self) -> None:
        """Raise Refused unless all members of a group are in the same generation."""
        for first in self._first_ones():
            found = set(self.generations[first : first + self.group_size])
            if len(found) != 1:
                raise Refused(f"one group, several generations: {found}")


def converse(port: int, pid: int, groups: list[str], group_size: int, seconds: float) -> Run:
    """Load: all members, from their first join to their leaving."""
    with Client(port) as client, gather(port, len(groups) * group_size) as crowd:
        for group in groups:
            client.wait_for_coordinator(group)
        members = Members(crowd, groups, group_size)
        members.found()
        with Meter(pid) as join:
            members.join()
        members.check_generations()
        with Meter(pid) as rejoin:
            members.rejoin()
        members.check_generations()
        with Meter(pid) as heartbeat:
            heartbeats = members.heartbeat(HEARTBEATS_PER_SECOND, seconds)
        members.leave(client)
    return Run(join.usage, rejoin.usage, heartbeat.usage, heartbeats)


def measure(broker: Broker, scale: float) -> Sample:
    """Let new groups be joined by all members: first one group, then many."""
    sample = {}
    turn = time.monotonic_ns()
    for name, group_count in GROUPS.items():
        groups = [f"group-join-{turn}-{index}" for index in range(group_count)]
        run = in_own_process(
            converse,
            broker.port,
            broker.pid,
            groups,
            MEMBERS // group_count,
            max(HEARTBEAT_SECONDS * scale, HEARTBEAT_SECONDS_MIN),
        )
        sample |= {
            f"{name}_join": run.join.seconds,
            f"{name}_join_cpu": run.join.broker_cpu,
            f"{name}_rejoin": run.rejoin.seconds,
            f"{name}_rejoin_cpu": run.rejoin.broker_cpu,
            f"{name}_heartbeat_cpu": run.heartbeat.broker_cpu / run.heartbeats * 1e6,
            f"{name}_client_cpu": run.join.client_cpu,
        }
    sample["memory"] = memory(broker.pid).now_mb
    return sample


TITLES = {"one": "one group", "fifty": "50 groups"}

ROW = Row(
    name="group-join",
    title="500 members join one group, or 50 groups",
    figures=(
        *(
            figure
            for name, title in TITLES.items()
            for figure in (
                Figure(f"{name}_join", f"{title}: join", "s", at_most(0.5), digits=3),
                Figure(f"{name}_join_cpu", f"{title}: join, broker CPU", "s", at_most(0.5)),
                Figure(f"{name}_rejoin", f"{title}: all join again", "s", at_most(0.5), digits=3),
                Figure(f"{name}_rejoin_cpu", f"{title}: all join again, broker CPU", "s", at_most(0.5)),
                Figure(
                    f"{name}_heartbeat_cpu",
                    f"{title}: heartbeats at {HEARTBEATS_PER_SECOND:,}/s, broker CPU",
                    "µs each",
                    at_most(0.5),
                    digits=0,
                ),
                Figure(f"{name}_client_cpu", f"{title}: join, client CPU", "s"),
            )
        ),
        Figure("memory", "memory after", "MB", at_most(1.0), digits=0),
    ),
    measure=measure,
    systems=(System.PEER, System.SUBJECT, System.SUBJECT_FSYNC),
    settings={"group.initial.rebalance.delay.ms": "0"},
)
