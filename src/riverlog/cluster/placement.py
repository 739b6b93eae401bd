"""On which brokers a new topic's replicas go.

Goals, in this order: no broker holds two replicas of one partition; a partition's replicas are in as
many racks as possible; replicas, and among them the preferred leaders, are spread evenly; followers of
one broker's partitions are spread over all others, so that its failure burdens many a little.

Each partition takes the broker that leads least, then those that hold least; of these rather one that
leads much already, since the others are about to take more as leaders, and rather one that follows this
leader seldom. What is still equal goes round from a start that the caller varies, so that many small
topics do not all begin at the first broker.

    3 brokers, 2 replicas, start 0:   p0 [1,2]   p1 [3,1]   p2 [2,3]

Pure: the caller brings the randomness as `start`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

Replicas = tuple[int, ...]


def place(
    racks: Mapping[int, str | None], *, partitions: int, replication_factor: int, start: int
) -> list[Replicas]:
    """Assign replicas for `partitions` new partitions; the first of each is its preferred leader.

    `racks` names every broker's rack. The caller has checked that there are enough brokers.
    """
    assert 0 < replication_factor <= len(racks)
    brokers = sorted(racks)
    held = dict.fromkeys(brokers, 0)
    led = dict.fromkeys(brokers, 0)
    followed: Counter[tuple[int, int]] = Counter()
    rack_count = len({_rack_of(racks, broker) for broker in brokers})
    placed = []
    for index in range(partitions):
        turn = start + index + index // len(brokers)
        order = {broker: (position - turn) % len(brokers) for position, broker in enumerate(brokers)}
        leader = min(brokers, key=lambda broker: (led[broker], held[broker], order[broker]))
        chosen = [leader]
        while len(chosen) < replication_factor:
            candidates = _candidates(racks, brokers, chosen, rack_count)
            follower = min(
                candidates,
                key=lambda broker: (held[broker], -led[broker], followed[leader, broker], order[broker]),
            )
            chosen.append(follower)
            followed[leader, follower] += 1
        led[leader] += 1
        for broker in chosen:
            held[broker] += 1
        placed.append(tuple(chosen))
    return placed


def _candidates(
    racks: Mapping[int, str | None], brokers: Sequence[int], chosen: Collection[int], rack_count: int
) -> list[int]:
    """Brokers that may take the next replica: of a rack not used yet, while there is one."""
    free = [broker for broker in brokers if broker not in chosen]
    used = {_rack_of(racks, broker) for broker in chosen}
    if len(used) < rack_count:
        return [broker for broker in free if _rack_of(racks, broker) not in used]
    return free


def _rack_of(racks: Mapping[int, str | None], broker: int) -> tuple[str, int]:
    """Brokers that name no rack are each taken as a rack of their own."""
    rack = racks[broker]
    return (rack, -1) if rack is not None else ("", broker)


def assignment_error(
    assignment: Sequence[int], *, brokers: Collection[int], replication_factor: int | None = None
) -> str | None:
    """Say why the replicas somebody asked for cannot be a partition's, or None.

    `replication_factor` is that of the topic's other partitions; None where there is none yet.
    """
    if not assignment:
        return "an assignment names no broker"
    for broker in assignment:
        if broker not in brokers:
            return f"an assignment names broker {broker}, which is not registered"
    if len(set(assignment)) < len(assignment):
        return f"an assignment names a broker twice: {list(assignment)}"
    if replication_factor is not None and len(assignment) != replication_factor:
        return f"an assignment has {len(assignment)} replicas, other partitions have {replication_factor}"
    return None
