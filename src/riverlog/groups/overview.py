"""What those who watch groups from outside may know of them: metrics, the look at lag.

Groups of every kind are told of alike, so that a new kind needs no change there.
"""

from __future__ import annotations

from typing import NamedTuple


class GroupOverview(NamedTuple):
    """A group as it stands now."""

    group_id: str
    kind: str
    """classic, consumer ..."""
    state: str
    """Under the name that Kafka's tools print."""
    member_ids: tuple[str, ...]


class CommittedPlace(NamedTuple):
    """Where a group goes on in one partition."""

    group_id: str
    topic: str
    partition: int
    offset: int
