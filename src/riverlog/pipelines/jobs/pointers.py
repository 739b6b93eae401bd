"""Which version of an output its readers follow, and how they pass from one to the next: pure.

An output with a readable name is a chain of legs, each a span of one version's topic. Only the last has no
end:

    clicks.v1   [0 ........ 120)                      leg 0
    clicks.v2          [95 ............. 310)         leg 1: 0..94 repeats what leg 0 said up to there
    clicks.v1                      [180 ...           leg 2: back again

What lies below the start of a leg was made, by that version, of the same input as the legs before: a reader
who comes from them passes over it. So at a flip nobody misses a result, and nobody gets one twice. A reader
who begins now takes the last leg's version from its own beginning, which is the whole history in that
version's words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

Offsets = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Leg:
    """A span of one version's topic; `end` is None while the version is the current one."""

    version: int
    start: Offsets
    end: Offsets | None = None


@dataclass(frozen=True, slots=True)
class Pointer:
    """The legs of an output, oldest first; the last one is current."""

    output: str
    app: str
    query: str
    legs: tuple[Leg, ...]
    updated_ms: int = 0

    @property
    def version(self) -> int:
        """The version that readers follow now."""
        return self.legs[-1].version

    @property
    def topic(self) -> str:
        """The topic in which new results appear."""
        return topic_of(self.output, self.version)

    def flipped(self, version: int, *, end: Offsets, start: Offsets, now_ms: int) -> Pointer:
        """End the current leg at `end`, and go on with `version` at `start`."""
        ended = replace(self.legs[-1], end=dict(end))
        legs = (*self.legs[:-1], ended, Leg(version, dict(start)))
        return replace(self, legs=legs, updated_ms=now_ms)

    def to_json(self) -> dict[str, Any]:
        """Give it as what JSON can hold."""
        legs = [
            {"version": leg.version, "start": _texts(leg.start), "end": leg.end and _texts(leg.end)}
            for leg in self.legs
        ]
        return {
            "output": self.output,
            "app": self.app,
            "query": self.query,
            "version": self.version,
            "topic": self.topic,
            "legs": legs,
            "updated_ms": self.updated_ms,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Pointer:
        """Read what `to_json` gave."""
        legs = tuple(
            Leg(
                int(leg["version"]),
                _numbers(leg["start"]),
                None if leg["end"] is None else _numbers(leg["end"]),
            )
            for leg in value["legs"]
        )
        if not legs:
            raise ValueError("a pointer without legs")
        return Pointer(value["output"], value["app"], value["query"], legs, int(value["updated_ms"]))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reader stands: the leg, and the next offset of each partition (0 where none is named)."""

    leg: int
    offsets: Offsets

    def to_json(self) -> dict[str, Any]:
        """Give it as what JSON can hold."""
        return {"leg": self.leg, "offsets": _texts(self.offsets)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Place:
        """Read what `to_json` gave."""
        return Place(int(value["leg"]), _numbers(value["offsets"]))


def topic_of(output: str, version: int) -> str:
    """Name the topic of one version of an output."""
    return f"{output}.v{version}"


def first(pointer: Pointer) -> Place:
    """Where a reader begins who wants all: the current version from its own beginning."""
    return Place(len(pointer.legs) - 1, {})


def spans(pointer: Pointer, place: Place, partitions: int) -> dict[int, tuple[int, int | None]]:
    """Give for each partition what is to be read of the leg where a reader stands: from, and to.

    The last leg has no end. A partition that came to the topic later is read from its start.
    """
    leg = pointer.legs[place.leg]
    return {
        index: (place.offsets.get(index, 0), None if leg.end is None else leg.end.get(index, 0))
        for index in range(partitions)
    }


def next_place(pointer: Pointer, place: Place) -> Place:
    """Where a reader goes on who has read a leg to its end."""
    assert place.leg + 1 < len(pointer.legs), "the last leg has no end"
    return Place(place.leg + 1, dict(pointer.legs[place.leg + 1].start))


def _texts(offsets: Offsets) -> dict[str, int]:
    return {str(index): offset for index, offset in sorted(offsets.items())}


def _numbers(offsets: Mapping[str, Any]) -> dict[int, int]:
    return {int(index): int(offset) for index, offset in offsets.items()}
