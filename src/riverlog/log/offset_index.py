"""The sparse offset index of a segment: from an offset to where in the `.log` file to start looking.

    <base offset>.index: entries of 8 bytes, big-endian, in rising order
       0  relative offset   int32   the last offset of a batch, less the segment's base offset
       4  position          int32   where that batch begins in the .log file

An entry is written for the first batch after every `index.interval.bytes` of log. Kafka's format.
"""

from __future__ import annotations

from struct import Struct

from riverlog.log.disk import Disk
from riverlog.log.entry_file import EntryFile

ENTRY_BYTES = 8
RELATIVE_OFFSET_MAX = 2**31 - 1

_ENTRY = Struct(">ii")
_OFFSET = Struct(">i")
_POSITION = Struct(">4xi")


class OffsetIndex(EntryFile):
    """Where batches lie in one segment."""

    __slots__ = ("base_offset",)

    def __init__(self, disk: Disk, path: str, base_offset: int, *, is_new: bool = False) -> None:
        super().__init__(disk, path, ENTRY_BYTES, is_new=is_new)
        self.base_offset = base_offset

    def append(self, last_offset: int, position: int) -> None:
        """Note that the batch ending with `last_offset` begins at `position`."""
        self.add(_ENTRY.pack(last_offset - self.base_offset, position))

    def position_for(self, offset: int) -> int:
        """Give a position at or before the batch that holds `offset`, the nearest one known.

        entries (30 at 4000) (70 at 9000) | offset 30 -> 4000 | 69 -> 4000 | 70 -> 9000 | 29 -> 0
        """
        count = self.count_up_to(offset)
        return self.place(count - 1)[1] if count else 0

    def count_up_to(self, offset: int) -> int:
        """Count the entries for batches that end with `offset` or before."""
        return self.count_at_most(_OFFSET, min(offset - self.base_offset, RELATIVE_OFFSET_MAX))

    def position_at_most(self, position: int) -> int:
        """Give the largest known beginning of a batch that is at most `position`."""
        count = self.count_at_most(_POSITION, position)
        return self.place(count - 1)[1] if count else 0

    def place(self, number: int) -> tuple[int, int]:
        """Give one entry as (last offset of the batch, its position)."""
        relative, position = _ENTRY.unpack(self.entry(number))
        return relative + self.base_offset, position

    def last_place(self) -> tuple[int, int] | None:
        """Give the newest entry as (last offset of the batch, its position), None if there is none."""
        last = self.last()
        if last is None:
            return None
        relative, position = _ENTRY.unpack(last)
        return relative + self.base_offset, position

    def truncate_to(self, offset: int) -> None:
        """Forget the batches that hold `offset` or more."""
        self.keep_first(self.count_at_most(_OFFSET, offset - self.base_offset - 1))

    def is_sound(self) -> bool:
        """Say whether offsets and positions rise from entry to entry, as in an undamaged file."""
        previous_offset, previous_position = -1, 0
        for offset, position in _ENTRY.iter_unpack(self.entries(0, len(self))):
            if offset <= previous_offset or position <= previous_position:
                return False
            previous_offset, previous_position = offset, position
        return True
