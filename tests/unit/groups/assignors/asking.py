"""Members and topics by short names, for assignors."""

from __future__ import annotations

from collections.abc import Mapping

from riverlog.groups.assignors import Assignor, MemberSpec, Partitions

Readable = dict[str, dict[str, set[int]]]
"""Member to topic to partitions."""


def reads(topics: str, instance_id: str | None = None, **assigned: set[int]) -> MemberSpec:
    """A member that reads topics of one letter each, and has some of their partitions."""
    return MemberSpec(
        frozenset(each.encode() for each in topics),
        {topic.encode(): frozenset(partitions) for topic, partitions in assigned.items()},
        instance_id,
    )


def assigned(assignor: Assignor, members: Mapping[str, MemberSpec], **counts: int) -> Readable:
    """Ask an assignor; say the answer in short names."""
    return readable(assignor(members, {topic.encode(): count for topic, count in counts.items()}))


def readable(assignment: Mapping[str, Partitions]) -> Readable:
    return {
        member: {topic.decode(): set(partitions) for topic, partitions in topics.items()}
        for member, topics in assignment.items()
    }


def sizes(assignment: Readable) -> dict[str, int]:
    """How many partitions each member has."""
    return {member: sum(map(len, topics.values())) for member, topics in assignment.items()}


def moved(before: Readable, after: Readable) -> int:
    """How many partitions have another owner than before, of those that had one that is still there."""

    def owners(assignment: Readable) -> dict[tuple[str, int], str]:
        return {
            (topic, partition): member
            for member, topics in assignment.items()
            for topic, partitions in topics.items()
            for partition in partitions
        }

    former = owners(before)
    return sum(former.get(place, member) != member for place, member in owners(after).items())
