"""Keys by a hash of 128 bits that nobody outside can aim at.

The cleaner remembers keys by their hashes, so two keys of one hash would be one key to it: an old value of
the one would vanish for a new value of the other. The hash is chosen at random for each round of cleaning:

    lane = m0 + m1 * length + m2 * char 0 + m3 * char 1 ...  mod 2**64, its upper 32 bits     four lanes

with characters of 4 bytes, zeros behind the last, and 64-bit multipliers that are drawn anew. Whatever two
keys a producer chooses without knowing the multipliers, they agree in a lane with a probability of 2**-32,
thus in all four with 2**-128 (multilinear hashing: Lemire and Kaser, "Strongly universal string hashing is
fast").
No hash of fixed numbers can promise that. Long keys go through keyed BLAKE2b, one by one.

Pure: the randomness is an argument.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from riverlog.log.cleaning.record_columns import Bytes

LANES = 4
CHARACTER_BYTES = 4
SHORT_KEY_BYTES_MAX = 128
"""Longer keys are hashed one by one: there it costs less than what they are made of."""

_MULTIPLIERS = SHORT_KEY_BYTES_MAX // CHARACTER_BYTES + 2
SEED_BYTES = LANES * _MULTIPLIERS * 8

Words: TypeAlias = NDArray[np.uint64]
Places: TypeAlias = NDArray[np.int64]

_HIGH = np.uint64(32)
_HIGH_HALF = np.uint64(0xFFFFFFFF << 32)
_MASKS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], np.uint64)


class KeyHasher:
    """One randomly chosen hash function."""

    __slots__ = ("_multipliers", "_secret")

    def __init__(self, seed: bytes) -> None:
        assert len(seed) == SEED_BYTES, "the seed is as long as the multipliers"
        self._multipliers = np.frombuffer(seed, "<u8").reshape(_MULTIPLIERS, LANES, 1)
        self._secret = hashlib.blake2b(seed).digest()[:32]

    def hash(self, data: Bytes, starts: Places, lengths: Places) -> tuple[Words, Words]:
        """Hash the keys that lie at `starts` in `data`; give the upper and the lower halves.

        At least a character must follow the last key in `data`.
        """
        longest = int(lengths.max(initial=0))
        short_longest = min(longest, SHORT_KEY_BYTES_MAX)
        shortest = int(lengths.min(initial=longest))
        # Every byte is the first of a character here: keys begin anywhere.
        characters = np.ndarray((len(data) - CHARACTER_BYTES + 1,), "<u4", data, strides=(1,))
        multipliers = self._multipliers
        lanes = multipliers[0] + multipliers[1] * lengths.astype(np.uint64)
        for number in range(-(-short_longest // CHARACTER_BYTES)):
            position = number * CHARACTER_BYTES
            if shortest >= position + CHARACTER_BYTES:
                lanes += multipliers[number + 2] * characters[starts + position].astype(np.uint64)
            else:
                reach = np.flatnonzero(lengths > position)
                left = np.minimum(lengths[reach] - position, CHARACTER_BYTES)
                found = characters[starts[reach] + position].astype(np.uint64) & _MASKS[left]
                lanes[:, reach] += multipliers[number + 2] * found
        high = (lanes[0] & _HIGH_HALF) | (lanes[1] >> _HIGH)
        low = (lanes[2] & _HIGH_HALF) | (lanes[3] >> _HIGH)
        if longest > SHORT_KEY_BYTES_MAX:
            self._hash_long(data, starts, lengths, high, low)
        return high, low

    def _hash_long(self, data: Bytes, starts: Places, lengths: Places, high: Words, low: Words) -> None:
        for number in np.flatnonzero(lengths > SHORT_KEY_BYTES_MAX).tolist():
            start = int(starts[number])
            key = data[start : start + int(lengths[number])].data
            digest = hashlib.blake2b(key, digest_size=16, key=self._secret).digest()
            high[number] = int.from_bytes(digest[:8], "little")
            low[number] = int.from_bytes(digest[8:], "little")
