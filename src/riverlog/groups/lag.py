"""How far a group is behind in a partition, and whether retention is about to overtake it. Pure.

    [ deleted ][ read and kept ][ not read ......................]
             start          committed                     high watermark
                 ├── headroom ──┤├──────────── lag ──────────────┤

A slow group holds nobody up: producers go on, retention deletes what is due, others read on. All it can
lose is its own place, and its operator should be told before. What is in danger is the segment that holds
the committed offset, since it goes as a whole; how long it stays is retention's to say (`Outlook`).

    risk    NONE ──▶ AT_RISK ──▶ LOST ──▶ NONE, once the group has caught up or begun anew
    told             once        once

The lag counts offsets up to the high watermark, whatever the group's isolation level: records of open
transactions and gaps that compaction left count as well.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from datetime import UTC, datetime
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from riverlog.log.retention import STAYS, Outlook

Pair: TypeAlias = tuple[str, str, int]
"""Group, topic, partition."""

CALM_FACTOR = 1.5
"""An alarm is over once so many times the share that raised it is left: who hovers there is told of once."""


class Risk(IntEnum):
    """What threatens the records that a group has not read."""

    NONE = 0
    AT_RISK = 1
    """They will be deleted before long."""
    LOST = 2
    """Some are deleted."""


class Lag(NamedTuple):
    """How a group stands in one partition."""

    committed: int
    log_start: int
    high_watermark: int
    outlook: Outlook = STAYS
    """Of the segment that holds the committed offset."""

    @property
    def offsets(self) -> int:
        """How many offsets it has not read; those that are deleted count too."""
        return max(0, self.high_watermark - self.committed)

    @property
    def lost_offsets(self) -> int:
        """How many were deleted before it read them."""
        return max(0, self.log_start - self.committed)

    @property
    def headroom(self) -> int:
        """How many offsets before it are still there."""
        return max(0, self.committed - self.log_start)

    def risk(self, alarm_share: float) -> Risk:
        """Judge; at risk is what has no more than `alarm_share` of its time or room left. 0: nothing is."""
        if self.lost_offsets:
            return Risk.LOST
        if self.offsets and self.outlook.left_share <= alarm_share and alarm_share > 0:
            return Risk.AT_RISK
        return Risk.NONE


class LagAlarms:
    """Which pairs of group and partition were told of, so that each is told once."""

    def __init__(self) -> None:
        self._raised: dict[Pair, Risk] = {}

    def __iter__(self) -> Iterator[Pair]:
        return iter(list(self._raised))

    def note(self, pair: Pair, lag: Lag, alarm_share: float) -> Risk:
        """Take in how a pair stands now; give what is to be told of it, NONE if that is nothing new."""
        risk = lag.risk(alarm_share)
        told = self._raised.get(pair, Risk.NONE)
        if risk is Risk.NONE:
            if told and lag.outlook.left_share < alarm_share * CALM_FACTOR:
                self._raised[pair] = Risk.AT_RISK
            else:
                self._raised.pop(pair, None)
            return Risk.NONE
        self._raised[pair] = risk
        return risk if risk > told else Risk.NONE

    def keep_only(self, pairs: Container[Pair]) -> None:
        """Forget pairs that are no more: the group, its commit or the topic is gone."""
        for pair in self:
            if pair not in pairs:
                del self._raised[pair]


def warning(pair: Pair, lag: Lag, risk: Risk, now_ms: int, bytes_per_second: float) -> str:
    """Say what an operator must know of a risk, in one line."""
    group, topic, partition = pair
    if risk is Risk.LOST:
        return (
            f"group {group!r} has lost {lag.lost_offsets:,} offsets of {topic}-{partition}: they were deleted"
            f" before it read them (committed {lag.committed}, start {lag.log_start},"
            f" end {lag.high_watermark}, lag {lag.offsets:,})"
        )
    return (
        f"group {group!r} is about to lose records of {topic}-{partition}: it is {lag.offsets:,} offsets"
        f" behind (committed {lag.committed}, end {lag.high_watermark}), and what it has to read next is"
        f" deleted {_when(lag.outlook, now_ms, bytes_per_second)}"
    )


def _when(outlook: Outlook, now_ms: int, bytes_per_second: float) -> str:
    """Say when the first limit ends it; how soon a size is reached depends on how fast is written."""
    ends: list[tuple[float, str]] = []
    if outlook.left_ms is not None:
        ends.append((outlook.left_ms / 1000, "retention.ms"))
    if outlook.left_bytes is not None and (bytes_per_second > 0 or outlook.left_bytes <= 0):
        ends.append((outlook.left_bytes / (bytes_per_second or 1.0), "retention.bytes"))
    after_bytes = (
        "" if outlook.left_bytes is None else f"once {max(0, outlook.left_bytes):,} more bytes are written"
    )
    if not ends:
        return f"{after_bytes} (retention.bytes)"
    seconds, limit = min(ends)
    if seconds <= 0:
        return f"now ({limit})"
    at = datetime.fromtimestamp(now_ms / 1000 + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if limit == "retention.bytes":
        return f"{after_bytes}, in about {_duration(seconds)} at the present rate, at {at} ({limit})"
    also = f", or {after_bytes}" if after_bytes else ""
    return f"in {_duration(seconds)}, at {at} ({limit}){also}"


def _duration(seconds: float) -> str:
    """Say a length of time in the unit that suits it."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
