"""What Spark's checkpoint of a query says about how far it has come: its text files, read without Spark.

    offsets/7    planned: batch 7 reads up to here          v2, settings, then `NAME:OFFSET` per source
    commits/7    done: batch 7 is finished                  the watermark for the next batch
    state/0/_metadata/metadata                              operator 0: what it is, in how many partitions

A query rests at a batch boundary when what is planned is done, and no batch is due that would only move the
watermark: its output then holds all that follows from its input up to that position, and nothing of what
comes after.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riverlog.pipelines.source.offsets import BEGINS

Position = Mapping[str, Mapping[str, Mapping[int, int]]]
"""For each named source, for each topic, for each partition the next offset."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What a file of `offsets` says."""

    watermark_ms: int
    offsets: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a query has come; batches are -1 before the first."""

    planned: int
    done: int
    offsets: Mapping[str, Any]
    watermark_ms: int
    next_watermark_ms: int

    @property
    def is_between_batches(self) -> bool:
        """Nothing planned is left undone."""
        return self.planned == self.done

    def is_settled(self, *, moves_with_watermark: bool) -> bool:
        """Say whether its output holds all that follows from its input; see the rules above."""
        is_due = moves_with_watermark and self.watermark_ms != self.next_watermark_ms
        return self.is_between_batches and not is_due


@dataclass(frozen=True, slots=True)
class StateOperator:
    """An operator with state, as the checkpoint names it."""

    number: int
    name: str
    partitions: int


def progress(checkpoint: Path) -> Progress:
    """Read how far the query of a checkpoint has come; all of it is there even while the query runs."""
    done = _newest(checkpoint / "commits")
    planned = max(_newest(checkpoint / "offsets"), done)
    if done < 0:
        return Progress(planned, -1, {}, 0, 0)
    plan = planned_from(_read(checkpoint / "offsets" / str(done)))
    return Progress(
        planned,
        done,
        plan.offsets,
        plan.watermark_ms,
        watermark_from(_read(checkpoint / "commits" / str(done))),
    )


def planned_from(text: str) -> Planned:
    """Read a file of `offsets`: with names of sources (v2), or by their order (v1): 0, 1, 2 ..."""
    version, settings, *lines = text.splitlines()
    offsets = {}
    for number, line in enumerate(lines):
        name, written = line.split(":", 1) if version == "v2" else (str(number), line)
        if written != "-":
            offsets[name] = _json(written)
    return Planned(int(json.loads(settings).get("batchWatermarkMs", 0)), offsets)


def watermark_from(text: str) -> int:
    """Read a file of `commits`: the watermark in milliseconds that the next batch goes by."""
    written = text.partition("\n")[2]
    return int(json.loads(written).get("nextBatchWatermarkMs", 0)) if written.strip() else 0


def position_of(offsets: Mapping[str, Any]) -> Position:
    """Take the positions in topics out of the offsets; sources that are no topics are left out."""
    found = {}
    for name, value in offsets.items():
        if isinstance(value, dict):
            parts = {topic: _numbered(each) for topic, each in value.items() if topic != BEGINS}
            if parts and any(each is not None for each in parts.values()):
                found[name] = {topic: each for topic, each in parts.items() if each is not None}
    return found


def _numbered(parts: Any) -> dict[int, int] | None:
    """Offsets by partition, or None for anything else that a source may keep."""
    if not isinstance(parts, dict) or not all(str(index).isdigit() for index in parts):
        return None
    return {int(index): int(offset) for index, offset in parts.items()}


def is_at_or_after(position: Position, other: Position) -> bool:
    """Say whether a position has reached another, in each partition of the sources that both have."""
    return all(
        position[name].get(topic, {}).get(index, 0) >= offset
        for name, topics in other.items()
        if name in position
        for topic, parts in topics.items()
        for index, offset in parts.items()
    )


def state_operators(checkpoint: Path) -> list[StateOperator]:
    """List the operators for which the checkpoint holds state, in Spark's order."""
    found = []
    for metadata in checkpoint.glob("state/*/_metadata"):
        written = _newest_metadata(metadata)
        if written is not None:
            value = json.loads(_read(written).partition("\n")[2])
            info, stores = value["operatorInfo"], value["stateStoreInfo"]
            found.append(
                StateOperator(int(info["operatorId"]), info["operatorName"], int(stores[0]["numPartitions"]))
            )
    return sorted(found, key=lambda each: each.number)


def _newest_metadata(directory: Path) -> Path | None:
    single = directory / "metadata"
    if single.is_file():
        return single
    by_batch = directory / "v2"
    newest = _newest(by_batch)
    return by_batch / str(newest) if newest >= 0 else None


def _newest(directory: Path) -> int:
    """The highest batch in a directory of files named by batch."""
    try:
        return max((int(each.name) for each in directory.iterdir() if each.name.isdigit()), default=-1)
    except FileNotFoundError:
        return -1


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
