"""The assignor "uniform": no member has two partitions more than another, as far as subscriptions allow.

It is sticky: starting from what each member was meant to have, as few partitions move as will do. Where
all read the same topics, which is nearly always so, one pass finds the best answer; see `unevenly` for
the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

from riverlog.groups.assignors.spec import MemberSpec, Partitions, frozen
from riverlog.groups.assignors.unevenly import assign_unevenly


def assign_uniformly(
    members: Mapping[str, MemberSpec], partition_counts: Mapping[bytes, int]
) -> dict[str, Partitions]:
    """Spread the partitions evenly over the members."""
    if len({spec.topics for spec in members.values()}) > 1:
        return assign_unevenly(members, partition_counts)
    return _assign_evenly(members, partition_counts)


def _assign_evenly(
    members: Mapping[str, MemberSpec], partition_counts: Mapping[bytes, int]
) -> dict[str, Partitions]:
    """Spread the partitions over members that all read the same topics.

    Each gets `share`, and the first `left_over` of those who can keep one more by that keep it: first the
    members that have so many, so that nothing moves on their account, then the others in their order.
    """
    if not members:
        return {}
    topics = next(iter(members.values())).topics
    free = {topic_id: dict.fromkeys(range(partition_counts[topic_id])) for topic_id in topics}
    kept: dict[str, dict[bytes, list[int]]] = {}
    counts: dict[str, int] = {}
    for member_id, spec in members.items():
        mine = kept[member_id] = {}
        for topic_id, partitions in spec.assigned.items():
            if topic_id in free:
                still_free = free[topic_id]
                mine[topic_id] = [each for each in sorted(partitions) if each in still_free]
                for each in mine[topic_id]:
                    del still_free[each]
        counts[member_id] = sum(map(len, mine.values()))
    share, left_over = divmod(sum(partition_counts[topic_id] for topic_id in topics), len(members))
    quotas = dict.fromkeys(members, share)
    for member_id in sorted(members, key=lambda member_id: counts[member_id] <= share)[:left_over]:
        quotas[member_id] += 1
    for member_id, mine in kept.items():
        _give_up(mine, counts[member_id] - quotas[member_id], free)
    to_give = ((topic_id, each) for topic_id, partitions in free.items() for each in partitions)
    for member_id, mine in kept.items():
        for _ in range(quotas[member_id] - counts[member_id]):
            topic_id, partition = next(to_give)
            mine.setdefault(topic_id, []).append(partition)
    return {
        member_id: spec.assigned if _is_unchanged(mine, spec.assigned) else frozen(mine)
        for (member_id, spec), mine in zip(members.items(), kept.values(), strict=True)
    }


def _give_up(mine: dict[bytes, list[int]], count: int, free: dict[bytes, dict[int, None]]) -> None:
    """Take `count` partitions away from a member, of the topic of which it has most each time."""
    for _ in range(count):
        topic_id = max(mine, key=lambda topic_id: len(mine[topic_id]))
        free[topic_id][mine[topic_id].pop()] = None


def _is_unchanged(mine: Mapping[bytes, list[int]], assigned: Partitions) -> bool:
    return mine.keys() == assigned.keys() and all(
        len(partitions) == len(assigned[topic_id]) and assigned[topic_id].issuperset(partitions)
        for topic_id, partitions in mine.items()
    )
