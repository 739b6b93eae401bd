"""Which offsets a query reads: where it begins, how far a batch goes, and what was lost on the way. Pure.

    start   {clicks-0: 100, clicks-1: 40}            where the batch before ended, as the checkpoint has it
    bounds  clicks-0 [0..900)  clicks-1 [0..50)      what the log holds now
            clicks-2 [7..9)                          a partition that is new
                   |
                   v                                 at most 100 offsets
    end     {clicks-0: 189, clicks-1: 50, clicks-2: 8}   begins {clicks-2: 7}

Rules
- What a batch reads is told by (start, end) alone, so that a batch that is run again reads the same. An end
  therefore also tells where those partitions begin that its start knows nothing of: all those of a first
  batch, whose start Spark asks for anew if it is repeated, and new ones.
- In JSON an offset is `{"clicks": {"0": 189}}`, as Spark's Kafka source writes it; begins lie beside the
  topics under a name that no topic can have.
- Offsets are counted, not records: markers of transactions and what compaction removed have offsets too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from riverlog.types import TopicPartition

BEGINS = "(begins)"
"""The name under which JSON tells where partitions begin."""


class Bounds(NamedTuple):
    """What a partition holds for this reader: offsets in [earliest, latest)."""

    earliest: int
    latest: int


class Range(NamedTuple):
    """Offsets of one partition to read, in [start, end)."""

    place: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


class Loss(NamedTuple):
    """Offsets that were to be read and are not there, and what became of them."""

    place: TopicPartition
    text: str
    may_pass: bool = False
    """Whether a broker that has just become the leader may still come to it."""


@dataclass(frozen=True, slots=True)
class Offsets:
    """How far each partition was read, and where those begin that no earlier offsets tell of."""

    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    begins: Mapping[TopicPartition, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Give it as Spark keeps it: the same offsets give the same text."""
        document: dict[str, Any] = _by_topic(self.ends)
        if self.begins:
            document[BEGINS] = _by_topic(self.begins)
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Offsets:
        """Read what `to_json` gave, or what Spark's Kafka source has written."""
        topics = {topic: offsets for topic, offsets in document.items() if topic != BEGINS}
        return cls(_by_place(topics), _by_place(document.get(BEGINS, {})))


def ranges(start: Offsets, end: Offsets) -> list[Range]:
    """List what lies between two offsets, by topic and partition."""
    if start == end:
        return []
    found = []
    for place, until in sorted(end.ends.items()):
        begin = end.begins.get(place, start.ends.get(place, 0))
        if begin < until:
            found.append(Range(place, begin, until))
    return found


def lost(start: Mapping[TopicPartition, int], bounds: Mapping[TopicPartition, Bounds]) -> list[Loss]:
    """List what cannot be read any more of what comes after `start`."""
    losses = []
    for place, offset in sorted(start.items()):
        found = bounds.get(place)
        if found is None:
            losses.append(Loss(place, f"{place} is gone, which was read up to offset {offset}"))
        elif offset < found.earliest:
            text = f"{place}: the records from offset {offset} up to {found.earliest} were deleted"
            losses.append(Loss(place, f"{text} before they were read"))
        elif offset > found.latest:
            text = f"{place}: the log ends before offset {found.latest}, though it was read up to {offset}"
            losses.append(Loss(place, f"{text}: it was cut off, or deleted and made anew", may_pass=True))
    return losses


def bounded(
    bounds: Mapping[TopicPartition, Bounds],
    start: Mapping[TopicPartition, int],
    target: Mapping[TopicPartition, int] | None,
) -> dict[TopicPartition, Bounds]:
    """Leave out what came after `target`, where a query ends with what there was as it began."""
    if target is None:
        return dict(bounds)
    kept = {}
    for place, found in bounds.items():
        if place in target or place in start:
            end = max(target.get(place, 0), start.get(place, 0))
            kept[place] = Bounds(found.earliest, min(found.latest, end))
    return kept


def following(
    start: Offsets, bounds: Mapping[TopicPartition, Bounds], limit: int | None, *, is_first: bool
) -> Offsets:
    """Decide where the batch after `start` ends: at what there is, or after `limit` offsets in all.

    Partitions that are gone are left out, what was deleted is passed over. Where nothing is new it gives
    `start` itself, but for a first batch, whose end also tells where it began.
    """
    bases = {
        place: min(max(start.ends.get(place, 0), found.earliest), found.latest)
        for place, found in bounds.items()
    }
    backlog = {place: found.latest - bases[place] for place, found in bounds.items()}
    granted = backlog if limit is None else shares(backlog, limit)
    ends = {place: base + granted[place] for place, base in bases.items()}
    if ends == start.ends and not is_first:
        return start
    known = {} if is_first else start.ends
    return Offsets(ends, {place: start.ends.get(place, bases[place]) for place in ends if place not in known})


def shares(backlog: Mapping[TopicPartition, int], limit: int) -> dict[TopicPartition, int]:
    """Split a limit over partitions in proportion to what each has; exactly, and one for each if it suffices.

    In proportion, so that partitions which are read from long ago come to the present together: a watermark
    goes by the furthest, and would make late what the others still hold.
    """
    total = sum(backlog.values())
    if total <= limit:
        return dict(backlog)
    filled = sorted(place for place, size in backlog.items() if size)
    least = 1 if limit >= len(filled) else 0
    spare, rest = limit - least * len(filled), total - least * len(filled)
    granted = dict.fromkeys(backlog, 0)
    remainders = {}
    for place in filled:
        whole, remainders[place] = divmod(spare * (backlog[place] - least), rest)
        granted[place] = least + whole
    left = limit - sum(granted.values())
    # The largest remainders, and of equal ones those with most to read.
    by_claim = sorted(filled, key=lambda place: (-remainders[place], -backlog[place], place))
    for place in by_claim[:left]:
        granted[place] += 1
    return granted


def lag(end: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    """Count the offsets that each partition has beyond what was read."""
    return {place: max(0, offset - end.ends.get(place, 0)) for place, offset in sorted(latest.ends.items())}


def _by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, Any]:
    document: dict[str, dict[str, int]] = {}
    for place, offset in sorted(offsets.items()):
        document.setdefault(place.topic, {})[str(place.partition)] = offset
    return document


def _by_place(document: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, offsets in document.items()
        for partition, offset in offsets.items()
    }


def topics_of(places: Iterable[TopicPartition]) -> list[str]:
    """Name the topics of these partitions, each once."""
    return sorted({place.topic for place in places})
