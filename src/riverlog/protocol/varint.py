"""Unsigned varints: seven bits per byte, the lowest first, the top bit set on all bytes but the last.

    300 = 0b10_0101100  ->  0b1_0101100 0b0_0000010

Flexible versions (KIP-482) use them for lengths, counts and tags. A length or count is sent plus one, so
that zero can mean null. A value that does not fit a signed 32-bit integer is refused.
"""

from __future__ import annotations

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol.malformed import refuse_count, refuse_end

Buffer = bytes | bytearray | memoryview

UVARINT_MAX = 0x7FFFFFFF


class _Encodings(dict[int, bytes]):
    """`UVARINT[n]` is n's encoding: the small ones from the table, the others computed."""

    def __missing__(self, value: int) -> bytes:
        return encode_uvarint(value)


def encode_uvarint(value: int) -> bytes:
    """Encode an unsigned varint."""
    if value < 0 or value > UVARINT_MAX:
        raise LocalProtocolError(f"{value} does not fit an unsigned varint of 31 bits")
    # Spelt out, since the length of every large batch in a fetch reply comes here.
    if value < 1 << 7:
        return bytes((value,))
    if value < 1 << 14:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if value < 1 << 21:
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14 & 0x7F | 0x80)) + encode_uvarint(
        value >> 21
    )


UVARINT = _Encodings((value, encode_uvarint(value)) for value in range(512))


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read an unsigned varint; return it and the position after it. Raises IndexError past the buffer."""
    first = buffer[position]
    if first < 0x80:
        return first, position + 1
    return read_uvarint_rest(first, buffer, position + 1)


def read_uvarint_rest(first: int, buffer: Buffer, position: int) -> tuple[int, int]:
    """Read the rest of an unsigned varint whose first byte, with its top bit set, was `first`."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    else:
        raise RemoteProtocolError("an unsigned varint longer than five bytes")
    if value > UVARINT_MAX:
        raise RemoteProtocolError(f"the unsigned varint {value} does not fit 31 bits")
    return value, position


TAGGED_FIELDS_MAX = 100
"""What one structure may carry. Nobody defines more than a handful; a hundred megabytes of empty ones would
take longer to skip than anything else that a request can ask for."""


def find_tagged_fields(
    count: int, buffer: Buffer, position: int, end: int
) -> tuple[list[tuple[int, int, int]], int]:
    """Find where tagged fields lie: return (tag, start, end) of each, and the position after them all.

    `count` is the first byte of their number, already read; `position` is just after it.
    """
    if count > 0x7F:
        count, position = read_uvarint_rest(count, buffer, position)
    if count * 2 > end - position:
        refuse_count("the list of tagged fields", count, end - position)
    if count > TAGGED_FIELDS_MAX:
        raise RemoteProtocolError(f"{count} tagged fields in one structure; {TAGGED_FIELDS_MAX} are accepted")
    found = []
    for _ in range(count):
        tag, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        found.append((tag, position, position + size))
        position += size
        if position > end:
            refuse_end(f"the tagged field {tag}", position - end)
    return found, position


def skip_tagged_fields(count: int, buffer: Buffer, position: int, end: int) -> int:
    """Skip tagged fields that nobody here knows; return the position after them."""
    return find_tagged_fields(count, buffer, position, end)[1]
