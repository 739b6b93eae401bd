"""The sparse time index of a segment: from a timestamp to the offset to start looking at.

    <base offset>.timeindex: entries of 12 bytes, big-endian, in rising order
       0  timestamp         int64   the largest timestamp in the segment up to ...
       8  relative offset   int32   ... the batch with this last offset, less the segment's base offset

Written together with the offset index where the largest timestamp has grown. The last entry of a sealed
segment is the largest timestamp of all of it, which retention by time goes by. Kafka's format.
"""

from __future__ import annotations

from struct import Struct

from riverlog.log.disk import Disk
from riverlog.log.entry_file import EntryFile
from riverlog.types import NO_TIMESTAMP

ENTRY_BYTES = 12

_ENTRY = Struct(">qi")
_TIMESTAMP = Struct(">q")
_OFFSET = Struct(">8xi")


class TimeIndex(EntryFile):
    """How timestamps rise along one segment."""

    __slots__ = ("_last_timestamp", "base_offset")

    def __init__(self, disk: Disk, path: str, base_offset: int, *, is_new: bool = False) -> None:
        super().__init__(disk, path, ENTRY_BYTES, is_new=is_new)
        self.base_offset = base_offset
        self._last_timestamp: int | None = int(NO_TIMESTAMP) if is_new else None

    def append_if_larger(self, timestamp: int, offset: int) -> None:
        """Note that `timestamp` is the largest one up to the batch ending with `offset`, if that is news."""
        last = self._last_timestamp
        if last is None:
            last = self.last_time()[0]
        if timestamp > last:
            self.add(_ENTRY.pack(timestamp, offset - self.base_offset))
            self._last_timestamp = timestamp

    def last_time(self) -> tuple[int, int]:
        """Give the largest timestamp noted and its offset; (-1, base offset) if there is none."""
        last = self.last()
        if last is None:
            timestamp, relative = int(NO_TIMESTAMP), 0
        else:
            timestamp, relative = _ENTRY.unpack(last)
        self._last_timestamp = timestamp
        return timestamp, relative + self.base_offset

    def offset_before(self, timestamp: int) -> int:
        """Give an offset that every record with at least `timestamp` comes after, or is in the batch of.

        entries (1000 up to 30) (2000 up to 70) | 1000 -> base | 1001 -> 30 | 2000 -> 30 | 2001 -> 70
        """
        count = self.count_at_most(_TIMESTAMP, timestamp - 1)
        if not count:
            return self.base_offset
        _timestamp, relative = _ENTRY.unpack(self.entry(count - 1))
        return self.base_offset + int(relative)

    def clear(self) -> None:
        """Forget all entries."""
        super().clear()
        self._last_timestamp = None

    def truncate_to(self, offset: int) -> None:
        """Forget what was noted for batches that hold `offset` or more."""
        self.keep_first(self.count_at_most(_OFFSET, offset - self.base_offset - 1))
        self._last_timestamp = None

    def is_sound(self, end_offset: int) -> bool:
        """Say whether timestamps and offsets rise, the latter below `end_offset`, as in an undamaged file."""
        offset_max = end_offset - self.base_offset - 1
        previous_timestamp, previous_offset = int(NO_TIMESTAMP), 0
        for timestamp, offset in _ENTRY.iter_unpack(self.entries(0, len(self))):
            if timestamp <= previous_timestamp or not previous_offset <= offset <= offset_max:
                return False
            previous_timestamp, previous_offset = timestamp, offset
        return True
