"""How far a query may read at present: pure.

Spark stops a query in the middle of a batch. To have one rest at the end of a batch, with all that its
input leads to put out, its sources are told to give nothing further; Spark then finishes what it has begun,
and waits. And to have one come to an exact position, its sources are told where to end.

    {}                                    as far as there is
    {"hold": true}                        no further than what was planned
    {"until": {"clicks": {"clicks": {"0": 120}}}}      the source `clicks`, up to offset 120; others as before
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverlog.pipelines.jobs.checkpoint import Position
from riverlog.pipelines.source.offsets import Offsets
from riverlog.types import TopicPartition

HOLD: Mapping[str, Any] = {"hold": True}


def until(position: Position) -> dict[str, Any]:
    """Make the limits of a query that is to come to this position."""
    return {
        "until": {
            name: {
                topic: {str(index): offset for index, offset in parts.items()}
                for topic, parts in topics.items()
            }
            for name, topics in position.items()
        }
    }


def ends_of(limits: Mapping[str, Any], source: str) -> dict[TopicPartition, int] | None:
    """Where a source is to end; None where it has no end."""
    topics = limits.get("until", {}).get(source)
    if topics is None:
        return None
    return {
        TopicPartition(topic, int(index)): int(offset)
        for topic, parts in topics.items()
        for index, offset in parts.items()
    }


def is_held(limits: Mapping[str, Any]) -> bool:
    """Say whether nothing new is to be planned."""
    return bool(limits.get("hold"))


def limited(start: Offsets, end: Offsets, until: Mapping[TopicPartition, int]) -> Offsets:
    """Bring the end of a batch back to where reading is to end, and never before its start.

    A partition that is new and has nothing below that end is left out: it is found again later.
    """
    ends, begins = {}, {}
    for place, offset in end.ends.items():
        begin = end.begins.get(place, start.ends.get(place, 0))
        stop = min(offset, max(begin, until.get(place, 0)))
        if place in start.ends or stop > begin or place in until:
            ends[place] = stop
            if place in end.begins:
                begins[place] = end.begins[place]
    kept = Offsets(ends, begins)
    return start if ends == dict(start.ends) else kept
