"""The latest offset of each key, in a buffer of fixed size.

    slot   high half   low half   offset + 1          24 bytes; 0 in the last field: nobody is here
           of the key's hash

Open addressing: a key that finds its slot taken goes on in steps of its own, so that it meets every slot in
the end and neighbours do not pile up. Nothing is ever taken out. All keys of a run are looked up at once,
those that found their slot drop out, the others take the next step.

The keys themselves are not kept; see `key_hashes` for why their hashes suffice.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from riverlog.log.cleaning.key_hashes import Places, Words

SLOT_BYTES = 24
KEY_BYTES = 40
"""What a slot costs: its own bytes, and room to sort the offsets that are in the map."""
SLOTS_MAX = 1 << 31
"""Slots are found by 32 bits of the hash."""

MISSING = -1
_SPARE_SHARE = 1024
"""The map counts as full when no more than this part of its limit is left: the last few would take long."""

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


class OffsetMap:
    """Offsets by the hashes of keys."""

    __slots__ = ("_limit", "_size", "_slots", "_table")

    def __init__(self, memory_bytes: int, load_factor: float, offsets_max: int) -> None:
        """Take at most so much memory, and no more than so many offsets could need."""
        affordable = memory_bytes // KEY_BYTES
        needed = int(offsets_max / max(load_factor, 0.01) * 1.02) + 64  # primes lie that far apart
        self._slots = _prime_at_most(max(min(affordable, needed, SLOTS_MAX), 2))
        # One slot stays free: that is where a search for a missing key ends.
        self._limit = max(min(int(self._slots * load_factor), self._slots - 1), 1)
        self._size = 0
        self._table = np.zeros((self._slots, 3), np.uint64)

    def __len__(self) -> int:
        return self._size

    @property
    def memory_bytes(self) -> int:
        """What it takes."""
        return self._table.nbytes

    @property
    def room(self) -> int:
        """How many more keys it takes."""
        left = self._limit - self._size
        return left if left > self._limit // _SPARE_SHARE else 0

    @property
    def utilization(self) -> float:
        """Which share of the slots is taken."""
        return self._size / self._slots

    def put(self, high: Words, low: Words, offsets: Places) -> None:
        """Remember these offsets, which rise, as the keys' latest. There must be room for as many keys."""
        assert len(offsets) <= self._limit - self._size, "more keys than there is room for"
        table = self._table
        values = offsets.astype(np.uint64) + _ONE
        slots, step = self._first_slots(high, low)
        slot_count = np.uint64(self._slots)
        while len(values):
            entries = table[slots]
            is_free = entries[:, 2] == 0
            if is_free.any():
                # Of several keys that find the same slot free the last one gets it, and sees so by looking.
                free = np.flatnonzero(is_free)
                taken = slots[free]
                table[taken, 0] = high[free]
                table[taken, 1] = low[free]
                table[taken, 2] = values[free]
                entries = table[slots]
                self._size += len(np.unique(taken))
            is_own = (entries[:, 0] == high) & (entries[:, 1] == low)
            # Offsets rise, and of several values for one slot the last one stays.
            table[slots[is_own], 2] = values[is_own]
            others = np.flatnonzero(~is_own)
            high, low, values = high[others], low[others], values[others]
            step = step[others]
            slots = (slots[others] + step) % slot_count

    def get(self, high: Words, low: Words) -> Places:
        """Give the latest offsets of these keys, `MISSING` for those that are not in the map."""
        found = np.full(len(high), MISSING, np.int64)
        table = self._table
        numbers: NDArray[np.intp] = np.arange(len(high))
        slots, step = self._first_slots(high, low)
        slot_count = np.uint64(self._slots)
        while len(numbers):
            entries = table[slots]
            is_own = (entries[:, 0] == high) & (entries[:, 1] == low) & (entries[:, 2] != 0)
            found[numbers[is_own]] = entries[is_own, 2].astype(np.int64) - 1
            others = np.flatnonzero(~is_own & (entries[:, 2] != 0))
            numbers, high, low, step = numbers[others], high[others], low[others], step[others]
            slots = (slots[others] + step) % slot_count
        return found

    def offsets(self) -> Places:
        """Give all offsets in the map, in rising order."""
        values = self._table[:, 2]
        taken: Places = values[values != 0].astype(np.int64)
        taken -= 1
        taken.sort()
        return taken

    def _first_slots(self, high: Words, low: Words) -> tuple[Words, Words]:
        """Give the slot where the search for each key begins, and how far apart those are that follow.

        The number of slots is a prime: whatever the distance, a search gets to all of them.
        """
        slot: Words = ((high >> _HALF) * np.uint64(self._slots)) >> _HALF
        step: Words = (((low & _LOW_HALF) * np.uint64(self._slots - 1)) >> _HALF) + _ONE
        return slot, step


def _prime_at_most(number: int) -> int:
    while any(number % divisor == 0 for divisor in range(2, isqrt(number) + 1)):
        number -= 1
    return number
