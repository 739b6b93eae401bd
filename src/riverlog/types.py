"""Names for quantities. Two numbers that must not be confused have two types.

Everything here is a plain `int`, `str` or tuple at run time: the distinction is for readers and
for the type checker. Convert between them only at a function that says so.
"""

from typing import NamedTuple, NewType

Offset = NewType("Offset", int)
"""A record's number in its partition's log: from 0, rising by one, never reused."""

FilePosition = NewType("FilePosition", int)
"""A byte position inside one segment file."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""How often a partition's leadership was decided; stored in each batch by the leader."""

ProducerId = NewType("ProducerId", int)
ProducerEpoch = NewType("ProducerEpoch", int)
Sequence = NewType("Sequence", int)
"""A producer's own numbering of its records in one partition; wraps from 2**31-1 to 0."""

Millis = NewType("Millis", int)
"""Milliseconds, since 1970 for a point in time, or as a duration where the name says so."""

BrokerId = NewType("BrokerId", int)

NO_OFFSET = Offset(-1)
NO_EPOCH = LeaderEpoch(-1)
NO_PRODUCER_ID = ProducerId(-1)
NO_TIMESTAMP = Millis(-1)


class TopicPartition(NamedTuple):
    """One partition of one topic, as `orders-3` names its directory."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
