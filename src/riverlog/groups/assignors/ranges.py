"""The assignor "range": each member gets neighbouring partitions, and the same ones of every topic.

    topic of 7 partitions, members ann bob carl      ann 0-2    bob 3-4    carl 5-6

So whoever joins two topics of the same size by key finds both sides of a key with one member. Members
stand in an order that restarts do not change: static ones by their instance ids, then the others by
their member ids. What each had before does not count.
"""

from __future__ import annotations

from collections.abc import Mapping

from riverlog.groups.assignors.spec import MemberSpec, Partitions


def assign_ranges(
    members: Mapping[str, MemberSpec], partition_counts: Mapping[bytes, int]
) -> dict[str, Partitions]:
    """Cut each topic into one range for each of its readers."""
    in_order = sorted(members.items(), key=_place)
    assignments: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in members}
    readers: dict[bytes, list[str]] = {}
    for member_id, spec in in_order:
        for topic_id in spec.topics:
            readers.setdefault(topic_id, []).append(member_id)
    for topic_id, member_ids in readers.items():
        share, left_over = divmod(partition_counts[topic_id], len(member_ids))
        start = 0
        for index, member_id in enumerate(member_ids):
            end = start + share + (index < left_over)
            if start == end:
                break
            assignments[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return dict(assignments)


def _place(member: tuple[str, MemberSpec]) -> tuple[bool, str]:
    member_id, spec = member
    return (spec.instance_id is None, spec.instance_id or member_id)
