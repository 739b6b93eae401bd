"""One cleaning of one partition, described so that another process can do it: a line of JSON.

The description is made on the event loop, where the partition lives, and names what the files do not tell:
the limits, the producers' last batches, and aborted transactions whose markers lie behind the end.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

from riverlog.errors import StorageError
from riverlog.log.transaction_index import AbortedTransaction

if TYPE_CHECKING:
    from riverlog.protocol.batches import BatchHeader


class LastBatch(NamedTuple):
    """A producer's last batch in the partition: what must stay for its place to be told after a restart."""

    producer_id: int
    epoch: int
    last_offset: int
    """-1: the epoch began with a marker, and nothing was written in it yet."""

    def is_in(self, header: BatchHeader) -> bool:
        """Say whether it is this batch."""
        if self.last_offset >= 0:
            return header.last_offset == self.last_offset
        return header.is_control and header.producer_epoch == self.epoch


@dataclass(frozen=True, slots=True)
class Job:
    """What to clean, and how."""

    directory: str
    segments: tuple[tuple[int, int], ...]
    """Base offset and size of each, from the first one up to `end`."""
    first_dirty: int
    end: int
    """Where the segments end."""
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    map_bytes: int
    """How much memory keys may take."""
    map_load_factor: float
    io_bytes: int
    """How much is read at once."""
    bytes_per_second: float
    last_batches: tuple[LastBatch, ...] = ()
    aborted_behind: tuple[AbortedTransaction, ...] = ()
    """Aborted transactions that began before `end` and were decided behind it."""

    def encode(self) -> bytes:
        """Write it as one line."""
        return json.dumps(asdict(self), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> Job:
        """Read a line."""
        fields = json.loads(line)
        for name, make in (
            ("segments", tuple),
            ("last_batches", lambda each: LastBatch(*each)),
            ("aborted_behind", lambda each: AbortedTransaction(*each)),
        ):
            fields[name] = tuple(make(each) for each in fields[name])
        return cls(**fields)


class Replacement(NamedTuple):
    """A segment that is ready to take the place of others: its files are on the disk, named `.cleaned`."""

    replaced: tuple[int, ...]
    """The base offsets of those, in their order; its own is the first of them."""
    size: int


class Outcome(NamedTuple):
    """What a cleaning did."""

    end: int
    """Below it the log is clean now."""
    read_bytes: int
    written_bytes: int
    read_records: int
    """Those that were looked at."""
    kept_records: int
    keys: int
    map_memory_bytes: int
    map_utilization: float


class CleaningAborted(StorageError):
    """The cleaning was called off: what it was about is not there any more."""
