"""What an assignor is told about a group, and what it answers.

Topics go by id, so that one which was deleted and created again is another one. A topic that members
read and that does not exist is left out by whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

Partitions: TypeAlias = Mapping[bytes, frozenset[int]]
"""Topic id to partitions; no topic without partitions. Never changed once made."""

NOTHING: Partitions = MappingProxyType({})


class MemberSpec(NamedTuple):
    """One member, as assignors see it."""

    topics: frozenset[bytes]
    """What it reads, of the topics that exist."""
    assigned: Partitions = NOTHING
    """What it was meant to have so far."""
    instance_id: str | None = None


Assignor: TypeAlias = Callable[[Mapping[str, MemberSpec], Mapping[bytes, int]], dict[str, Partitions]]
"""Takes the members, and how many partitions each topic has; gives each member's partitions."""


def frozen(assignment: Mapping[bytes, Iterable[int]]) -> Partitions:
    """Make an assignment that is not changed any more."""
    return {topic_id: frozenset(partitions) for topic_id, partitions in assignment.items() if partitions}
