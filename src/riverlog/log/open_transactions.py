"""Which transactions of one partition readers of committed data must not see yet.

    offsets      ..[A begins]..[B begins]..[A's marker]..[B's marker]..
    undecided         A            B            B              -
    above the high watermark: decided, and still to be taken back if the leader is lost

A transaction counts from its first record on, not from when its producer said that it begins. Once its
marker is in the log it is decided, but stays unstable until the high watermark has passed that marker.

Offsets only grow, so transactions are begun in the order of their first offsets: the first one is always
at hand, however many there are. Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heappop, heappush

NONE = -1


class OpenTransactions:
    """Undecided transactions, and decided ones whose markers are not replicated."""

    __slots__ = ("_undecided", "_unreplicated", "first_undecided")

    def __init__(self) -> None:
        # First offset to producer id; in rising order.
        self._undecided: OrderedDict[int, int] = OrderedDict()
        # (first offset, the marker's offset): a heap. What is replicated leaves it when it comes to the top.
        self._unreplicated: list[tuple[int, int]] = []
        # The first offset of the oldest undecided transaction, -1 if there is none.
        self.first_undecided = NONE

    def __len__(self) -> int:
        return len(self._undecided) + len(self._unreplicated)

    def begin(self, producer_id: int, first_offset: int) -> None:
        """Take in a transaction's first record; those of earlier offsets were taken in before."""
        self._undecided[first_offset] = producer_id
        if self.first_undecided < 0:
            self.first_undecided = first_offset

    def decide(self, first_offset: int, marker_offset: int) -> None:
        """Take in a transaction's end."""
        if self._undecided.pop(first_offset, None) is None:
            return
        heappush(self._unreplicated, (first_offset, marker_offset))
        if first_offset == self.first_undecided:
            self.first_undecided = next(iter(self._undecided), NONE)

    def replicated(self, high_watermark: int) -> None:
        """Forget decided transactions whose markers lie below the high watermark."""
        unreplicated = self._unreplicated
        while unreplicated and unreplicated[0][1] < high_watermark:
            heappop(unreplicated)

    def first_unstable(self, high_watermark: int) -> int:
        """Give the first offset that is undecided, or decided at or above the high watermark; -1 if none."""
        unreplicated = self._unreplicated
        if unreplicated:
            self.replicated(high_watermark)
        undecided = self.first_undecided
        if not unreplicated:
            return undecided
        return unreplicated[0][0] if undecided < 0 else min(unreplicated[0][0], undecided)
