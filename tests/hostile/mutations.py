"""Ways to spoil a frame: what a broken client, a bad cable or an attacker may send."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

_LIES_16 = tuple(struct.pack(">h", value) for value in (-1, -2, 32767, -32768, 0))
_LIES_32 = tuple(struct.pack(">i", value) for value in (-1, -2, 2**31 - 1, -(2**31), 0, 1 << 24, 1 << 16))
_LIES_VARINT = (
    b"\x00",
    b"\x7f",
    b"\x80\x01",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
)

BYTES_MAX = 300_000
"""Spoiled frames do not grow beyond this: size is another test's matter."""

Mutation = Callable[[bytearray, random.Random], None]


def mutate(frame: bytes, chance: random.Random) -> bytes:
    """Spoil a frame in one to three ways; its size is right again, but for one in fifty."""
    body = bytearray(frame[4:])
    if chance.random() < 0.01:
        body = bytearray(chance.randbytes(chance.choice((8, 9, 14, 100, 3000))))
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        chance.choice(_MUTATIONS)(body, chance)
    del body[BYTES_MAX:]
    size = len(body)
    if chance.random() < 0.02:
        size = chance.choice((-1, 0, 7, size + 1, size - 1, 2**31 - 1, -(2**31), 200 << 20))
    return struct.pack(">i", size) + body


def _at(body: bytearray, chance: random.Random) -> int:
    """Choose a place; the first bytes, where counts and lengths are, twice as often."""
    end = min(len(body), 40) if chance.random() < 0.5 else len(body)
    return chance.randrange(end) if end else 0


def _flip_bits(body: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 2, 8))):
        if body:
            body[_at(body, chance)] ^= 1 << chance.randrange(8)


def _set_byte(body: bytearray, chance: random.Random) -> None:
    if body:
        body[_at(body, chance)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))


def _cut_short(body: bytearray, chance: random.Random) -> None:
    del body[_at(body, chance) :]


def _append(body: bytearray, chance: random.Random) -> None:
    body += chance.randbytes(chance.choice((1, 2, 50, 5000)))


def _overwrite(body: bytearray, chance: random.Random) -> None:
    """Lie about a length or a count."""
    lie = chance.choice(chance.choice((_LIES_16, _LIES_32, _LIES_VARINT)))
    at = _at(body, chance)
    body[at : at + len(lie)] = lie


def _insert(body: bytearray, chance: random.Random) -> None:
    at = _at(body, chance)
    body[at:at] = chance.choice((*_LIES_32, *_LIES_VARINT, chance.randbytes(3)))


def _remove(body: bytearray, chance: random.Random) -> None:
    at = _at(body, chance)
    del body[at : at + chance.choice((1, 2, 4, 8, 100))]


def _repeat(body: bytearray, chance: random.Random) -> None:
    """The same piece again and again: many elements where few were."""
    at = _at(body, chance)
    piece = body[at : at + chance.choice((1, 4, 20, 100))]
    body[at:at] = piece * chance.choice((1, 10, 1000))


def _swap(body: bytearray, chance: random.Random) -> None:
    first, second = sorted((_at(body, chance), _at(body, chance)))
    body[:] = body[:first] + body[second:] + body[first:second]


def _change_api(body: bytearray, chance: random.Random) -> None:
    """The right body of another request."""
    body[0:4] = struct.pack(
        ">hh", chance.randrange(-1, 100), chance.choice((-1, 0, 1, 4, 9, 12, 13, 99, 32767))
    )


def _add_tags(body: bytearray, chance: random.Random) -> None:
    """Tagged fields that nobody knows, numbered in any order, as long as they like, nested as bytes."""
    count = chance.choice((1, 2, 100))
    tags = bytearray([count])
    for number in range(count):
        value = chance.randbytes(chance.choice((0, 1, 5)))
        tags += bytes([chance.choice((number & 0x7F, 0, 0x7F)), chance.choice((len(value), 0x7F))]) + value
    if chance.random() < 0.5:
        body += tags
    else:
        at = _at(body, chance)
        body[at : at + 1] = tags


_MUTATIONS: tuple[Mutation, ...] = (
    _flip_bits,
    _flip_bits,
    _set_byte,
    _cut_short,
    _append,
    _overwrite,
    _overwrite,
    _insert,
    _remove,
    _repeat,
    _swap,
    _change_api,
    _add_tags,
)
