"""The aborted transactions of a segment: those whose abort marker lies in it, wherever they began.

    <base offset>.txnindex: entries of 34 bytes, big-endian, in the order of the markers
       0  version              int16   0
       2  producer id          int64
      10  first offset         int64   of the transaction's records in this partition
      18  last offset          int64   the abort marker's
      26  last stable offset   int64   right after the marker: below it all was decided by then

Absolute offsets, unlike in the other indexes. The file is made with the first entry: most segments have
none. Kafka's format.

What a reader of [start, end) must skip: transactions that end at `start` or later and begin before `end`.
Those still to come in this segment and the following ones are of no interest once an entry's last stable
offset has reached `end`: whatever began before that was decided by then.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from riverlog.log.entry_file import BLOCK_ENTRIES, EntryFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from riverlog.log.disk import Disk
    from riverlog.log.segment import Segment

ENTRY_BYTES = 34
VERSION = 0

_ENTRY = Struct(">hqqqq")
_LAST_OFFSET = Struct(">18xq")


class AbortedTransaction(NamedTuple):
    """One producer's transaction that was aborted in this partition."""

    producer_id: int
    first_offset: int
    last_offset: int
    """The abort marker's."""
    last_stable_offset: int


class TransactionIndex(EntryFile):
    """The aborted transactions of one segment, by their markers' offsets."""

    __slots__ = ("base_offset",)

    def __init__(self, disk: Disk, path: str, base_offset: int, *, is_new: bool = False) -> None:
        super().__init__(disk, path, ENTRY_BYTES, is_new=is_new, is_made_when_needed=True)
        self.base_offset = base_offset

    def __iter__(self) -> Iterator[AbortedTransaction]:
        """Give all entries. Raises OSError."""
        return self._from(0)

    @property
    def is_empty(self) -> bool:
        """Whether no transaction was aborted in this segment. Raises OSError."""
        return not (self._tail or self._stored_count())

    def append(self, aborted: AbortedTransaction) -> None:
        """Note a transaction that was aborted by the newest marker."""
        self.add(_ENTRY.pack(VERSION, *aborted))

    def ending_at_or_after(self, offset: int) -> Iterator[AbortedTransaction]:
        """Give the entries with a marker at `offset` or later. Raises OSError."""
        last = self.last()
        if last is None or _LAST_OFFSET.unpack_from(last)[0] < offset:
            return iter(())
        return self._from(self.count_at_most(_LAST_OFFSET, offset - 1))

    def truncate_to(self, offset: int) -> None:
        """Forget the transactions whose marker is at `offset` or later. Raises OSError."""
        last = self.last()
        if last is not None and _LAST_OFFSET.unpack_from(last)[0] >= offset:
            self.keep_first(self.count_at_most(_LAST_OFFSET, offset - 1))

    def is_sound(self) -> bool:
        """Say whether the entries are what an undamaged file holds. Raises OSError."""
        previous, stable = self.base_offset - 1, 0
        for data in self._blocks(0):
            for version, producer_id, first, last, last_stable in _ENTRY.iter_unpack(data):
                if version != VERSION or producer_id < 0 or not 0 <= first < last:
                    return False
                if last <= previous or not stable <= last_stable <= last + 1:
                    return False
                previous, stable = last, last_stable
        return True

    def _from(self, number: int) -> Iterator[AbortedTransaction]:
        for data in self._blocks(number):
            for _version, *fields in _ENTRY.iter_unpack(data):
                yield AbortedTransaction(*fields)

    def _blocks(self, number: int) -> Iterator[bytes]:
        count = len(self)
        while number < count:
            wanted = min(BLOCK_ENTRIES, count - number)
            yield self.entries(number, wanted)
            number += wanted


def aborted_between(segments: Iterable[Segment], start: int, end: int) -> list[AbortedTransaction]:
    """Give the aborted transactions with records in [start, end), by their first offsets.

    `segments`: from the one that holds `start` on. Raises OSError.
    """
    found: list[AbortedTransaction] = []
    for segment in segments:
        for aborted in segment.transaction_index.ending_at_or_after(start):
            if aborted.first_offset < end:
                found.append(aborted)
            if aborted.last_stable_offset >= end:
                return _by_first_offset(found)
    return _by_first_offset(found)


def _by_first_offset(found: list[AbortedTransaction]) -> list[AbortedTransaction]:
    if len(found) > 1:
        found.sort(key=lambda aborted: aborted.first_offset)
    return found
