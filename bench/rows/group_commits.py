"""1,000 groups that commit offsets: how many commits a second, and what one costs the broker.

Each request commits one offset for one group from outside of its membership, as consumers with partitions of
their own choice do; what members' commits are checked for beyond that is two comparisons. The requests are
prebuilt, one per group, and all connections go round them. Each commit is a record of its own in the offsets
topic, and so many the topic must have gained.

Kafka serves one request of a connection at a time, and every consumer has a connection of its own: so the
load comes over a few connections with many in flight each, and over many with one in flight.
"""

import time
from typing import NamedTuple

from bench import wire, wire_groups
from bench.broker import Broker
from bench.connection import Client, ResponseShape, connect, pump
from bench.errors import Refused, check_count
from bench.isolation import in_own_process
from bench.process import Meter, Usage, memory
from bench.row import Figure, Row, Sample, System, at_least, at_most

TOPIC = "group-commits"
OFFSETS_TOPIC = "__consumer_offsets"
OFFSETS_PARTITIONS = 50
GROUPS = [f"group-commits-{index:03}" for index in range(1000)]
SECONDS = 4.0


class Spread(NamedTuple):
    """How the load is spread."""

    connections: int
    in_flight: int


SPREADS = {"few": Spread(8, 16), "many": Spread(200, 1)}


class Section(NamedTuple):
    """A measured section and the commits answered in it."""

    commits: int
    usage: Usage


def commit_once(client: Client, request: bytes) -> ResponseShape:
    """Commit for one group and measure the response."""
    frame = client.call(request)
    committed = wire_groups.read_committed(frame)
    if committed.error_code != wire.NO_ERROR:
        raise Refused(f"OffsetCommit answered error {committed.error_code}")
    return ResponseShape(4 + len(frame), 4 + committed.error_position)


def requests_for(offset: int) -> list[bytes]:
    """Build a commit of the offset for each group."""
    return [wire_groups.offset_commit_request(group, TOPIC, 0, offset) for group in GROUPS]


def commit(port: int, pid: int, spread: Spread, offset: int, seconds: float) -> Section:
    """Load: commit for so many seconds."""
    requests = requests_for(offset)
    with Client(port) as client:
        shape = commit_once(client, requests[0])
    lanes = [connect(port) for _ in range(spread.connections)]
    with Meter(pid) as meter:
        count = pump(lanes, requests, shape, spread.in_flight, 1 << 40, seconds)
    for lane in lanes:
        lane.close()
    return Section(count, meter.usage)


def prepare(client: Client) -> None:
    """Create the topic and each group, once per broker."""
    if TOPIC in client.metadata(None).topics:
        return
    client.create_topics({TOPIC: 1})
    for group, request in zip(GROUPS, requests_for(0), strict=True):
        client.wait_for_coordinator(group)
        commit_once(client, request)


def measure(broker: Broker, scale: float) -> Sample:
    """Commit over few connections, then over many."""
    sample = {}
    with Client(broker.port) as client:
        prepare(client)
        for name, spread in SPREADS.items():
            before = client.end_offset(OFFSETS_TOPIC, OFFSETS_PARTITIONS)
            offset = time.monotonic_ns()
            section = in_own_process(commit, broker.port, broker.pid, spread, offset, SECONDS * scale)
            check_count(section.commits + 1, client.end_offset(OFFSETS_TOPIC, OFFSETS_PARTITIONS) - before)
            check_committed(client, offset)
            sample[name] = section.commits / section.usage.seconds / 1000
            sample[f"{name}_cpu"] = section.usage.broker_cpu / section.commits * 1e6
            sample[f"{name}_client_cpu"] = section.usage.client_cpu / section.commits * 1e6
    sample["memory"] = memory(broker.pid).now_mb
    return sample


def check_committed(client: Client, offset: int) -> None:
    """Raise Refused unless the groups that the first connection began with hold the offset."""
    for group in GROUPS[:2]:
        request = wire_groups.offset_fetch_request(group, TOPIC, 0)
        held = wire_groups.read_committed_offset(client.call(request))
        if held != offset:
            raise Refused(f"{group} committed {offset}, and holds {held}")


TITLES = {"few": "8 connections x 16 in flight", "many": "200 connections, one in flight each"}

ROW = Row(
    name="group-commits",
    title="offset commits of 1,000 groups",
    figures=(
        *(
            figure
            for name, title in TITLES.items()
            for figure in (
                Figure(name, title, "k/s", at_least(1.0), digits=1),
                Figure(f"{name}_cpu", f"{title}, broker CPU", "µs per commit", at_most(1.0), digits=0),
                Figure(f"{name}_client_cpu", f"{title}, client CPU", "µs per commit", digits=0),
            )
        ),
        Figure("memory", "memory after", "MB", at_most(1.0), digits=0),
    ),
    measure=measure,
    systems=(System.PEER, System.SUBJECT, System.SUBJECT_FSYNC),
)
