"""What Confluent's serialisers put before a value: which schema it was written with. Pure.

    00 | schema id, 4 bytes | payload                        Avro, JSON
    00 | schema id, 4 bytes | message indexes | payload      Protobuf

Message indexes say which message of the schema's file it is: a count and as many numbers, as zig-zag varints.
The count 0 stands for [0], the first message.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

HEADER_BYTES = 5
_HEADER = struct.Struct(">bi")
_INDEXES_MAX = 32
"""Messages are not nested deeper than that by people."""


class BadValue(Exception):
    """A value that is not what it should be; the text says why. Ends that value."""


class Framed(NamedTuple):
    """A value without its frame."""

    schema_id: int
    payload: bytes
    indexes: tuple[int, ...] = ()


def unframed(value: bytes, *, has_indexes: bool = False) -> Framed:
    """Take a value out of its frame. Raises BadValue."""
    if len(value) < HEADER_BYTES or value[0] != 0:
        raise BadValue("it does not begin with a schema id")
    schema_id = _HEADER.unpack_from(value)[1]
    if not has_indexes:
        return Framed(schema_id, value[HEADER_BYTES:])
    count, position = _varint(value, HEADER_BYTES)
    if not 0 <= count <= _INDEXES_MAX:
        raise BadValue(f"it names its message by {count} numbers")
    indexes = []
    for _ in range(count):
        number, position = _varint(value, position)
        indexes.append(number)
    return Framed(schema_id, value[position:], tuple(indexes) or (0,))


def _varint(value: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if position >= len(value) or shift > 28:
            raise BadValue("it ends before its message does")
        byte = value[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position
        shift += 7
