"""500 consumers join one group whose assignments the broker makes (KIP-848): how long until all have theirs.

A member says in its first heartbeat what it subscribes to, and is told its partitions in the answers; when
they change, it says at once what it now has, so that the broker may give on what it gave up. All join at
once; the clock runs until all have the same epoch and each its part of the topic.

Between two heartbeats without news a member here waits a tenth of a second. Consumers wait 5 s by default;
with that, most of what is measured would be waiting.
"""

import heapq
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
from bench.rows.group_join import HEARTBEAT_SECONDS, HEARTBEAT_SECONDS_MIN, HEARTBEATS_PER_SECOND

TOPIC = "consumer-group-join"
MEMBERS = 500
PARTITIONS = 1000
PAUSE_SECONDS = 0.1
JOIN_SECONDS_MAX = 90.0
HEARTBEAT_VERSION = 1


class Run(NamedTuple):
    """What a turn took."""

    join: Usage
    join_heartbeats: int
    heartbeat: Usage
    heartbeats: int


class Members:
    """The members of the group, and what each was told."""

    def __init__(self, crowd: Crowd, group: str, count: int) -> None:
        self._crowd = crowd
        self._group = group
        self._ids = [f"{group}-{index:04}" for index in range(count)]
        self._epochs = [0] * count
        self._owned: list[wire_groups.Owned] = [{} for _ in range(count)]

    def join(self, partitions: int) -> int:
        """Join and go on until the partitions are shared out evenly; return how many heartbeats it took."""
        share = partitions // len(self._ids)
        for member, member_id in enumerate(self._ids):
            request = wire_groups.consumer_group_heartbeat_request(
                self._group, member_id, 0, topics=[TOPIC], owned={}
            )
            self._crowd.send(member, request)
        deadline = time.monotonic() + JOIN_SECONDS_MAX
        due: list[tuple[float, int]] = []
        heartbeats = 0
        while not self._is_shared_out(share):
            now = time.monotonic()
            if now > deadline:
                raise Unanswered(f"not all have their partitions after {JOIN_SECONDS_MAX:.0f} s")
            while due and due[0][0] <= now:
                self._send(heapq.heappop(due)[1], owned=None)
            for member, frame in self._crowd.answers(max(0.0, due[0][0] - now) if due else 1.0):
                heartbeats += 1
                if self._take(member, frame):
                    self._send(member, owned=self._owned[member])
                else:
                    heapq.heappush(due, (time.monotonic() + PAUSE_SECONDS, member))
        while len(due) < len(self._ids):  # answers that are still to come say nothing new
            for member, frame in self._crowd.answers():
                self._take(member, frame)
                due.append((0.0, member))
        self._check(partitions)
        return heartbeats

    def heartbeat(self, rate: int, seconds: float) -> int:
        """Send heartbeats without news on schedule; return how many were answered."""
        requests = [
            wire_groups.consumer_group_heartbeat_request(self._group, member_id, epoch)
            for member_id, epoch in zip(self._ids, self._epochs, strict=True)
        ]
        count = 0
        for frame in self._crowd.paced(requests, rate, seconds):
            if error := wire_groups.read_beat(frame).error_code:
                raise Refused(f"ConsumerGroupHeartbeat answered error {error}")
            count += 1
        return count

    def leave(self, client: Client) -> None:
        """Have all leave, and the group forgotten."""
        for member_id in self._ids:
            frame = client.call(
                wire_groups.consumer_group_heartbeat_request(
                    self._group, member_id, wire_groups.LEAVING_EPOCH
                )
            )
            if error := wire_groups.read_beat(frame).error_code:
                raise Refused(f"ConsumerGroupHeartbeat answered error {error} to a member that leaves")
        errors = wire_groups.read_group_errors(client.call(wire_groups.delete_groups_request([self._group])))
        if any(errors.values()):
            raise Refused(f"DeleteGroups answered {errors}")

    def _send(self, member: int, owned: wire_groups.Owned | None) -> None:
        request = wire_groups.consumer_group_heartbeat_request(
            self._group, self._ids[member], self._epochs[member], owned=owned
        )
        self._crowd.send(member, request)

    def _take(self, member: int, frame: bytes) -> bool:
        """Take an answer; return whether it changes what the member has."""
        beat = wire_groups.read_beat(frame)
        if beat.error_code != wire.NO_ERROR:
            raise Refused(f"ConsumerGroupHeartbeat answered error {beat.error_code}")
        self._epochs[member] = beat.epoch
        if beat.assigned is None or beat.assigned == self._owned[member]:
            return False
        self._owned[member] = beat.assigned
        return True

    def _is_shared_out(self, share: int) -> bool:
        return len(set(self._epochs)) == 1 and all(
            sum(map(len, owned.values())) == share for owned in self._owned
        )

    def _check(self, partitions: int) -> None:
        held = sorted(index for owned in self._owned for indexes in owned.values() for index in indexes)
        if held != list(range(partitions)):
            raise Refused("the partitions are not shared out: one has two owners, or none")


def converse(port: int, pid: int, group: str, seconds: float) -> Run:
    """Load: all members, from their first heartbeat to their leaving."""
    with Client(port) as client, gather(port, MEMBERS) as crowd:
        client.wait_for_coordinator(group)
        members = Members(crowd, group, MEMBERS)
        with Meter(pid) as join:
            join_heartbeats = members.join(PARTITIONS)
        with Meter(pid) as heartbeat:
            heartbeats = members.heartbeat(HEARTBEATS_PER_SECOND, seconds)
        members.leave(client)
    return Run(join.usage, join_heartbeats, heartbeat.usage, heartbeats)


def measure(broker: Broker, scale: float) -> Sample:
    """Let a new group be joined by all members."""
    with Client(broker.port) as client:
        client.require(wire_groups.CONSUMER_GROUP_HEARTBEAT, HEARTBEAT_VERSION, "ConsumerGroupHeartbeat")
        if TOPIC not in client.metadata(None).topics:
            client.create_topics({TOPIC: PARTITIONS})
    group = f"{TOPIC}-{time.monotonic_ns()}"
    seconds = max(HEARTBEAT_SECONDS * scale, HEARTBEAT_SECONDS_MIN)
    run = in_own_process(converse, broker.port, broker.pid, group, seconds)
    return {
        "join": run.join.seconds,
        "join_cpu": run.join.broker_cpu,
        "join_heartbeats": run.join_heartbeats,
        "client_cpu": run.join.client_cpu,
        "heartbeat_cpu": run.heartbeat.broker_cpu / run.heartbeats * 1e6,
        "memory": memory(broker.pid).now_mb,
    }


ROW = Row(
    name="consumer-group-join",
    title="500 members join a group that the broker assigns, 1,000 partitions",
    figures=(
        Figure("join", "join", "s", at_most(1.0), digits=3),
        Figure("join_cpu", "join, broker CPU", "s", at_most(1.0)),
        Figure("join_heartbeats", "join, heartbeats of all members", "", digits=0),
        Figure("client_cpu", "join, client CPU", "s"),
        Figure(
            "heartbeat_cpu",
            f"heartbeats at {HEARTBEATS_PER_SECOND:,}/s, broker CPU",
            "µs each",
            at_most(0.5),
            digits=0,
        ),
        Figure("memory", "memory after", "MB", at_most(1.0), digits=0),
    ),
    measure=measure,
    systems=(System.PEER, System.SUBJECT, System.SUBJECT_FSYNC),
)
