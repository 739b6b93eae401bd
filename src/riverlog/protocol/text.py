"""Text behind its length, for the codecs written by hand.

    legacy     length int16, -1 for null | UTF-8
    compact    length + 1 as an unsigned varint, 0 for null | UTF-8

Reading returns the text and the position after it; past the end of the buffer it raises IndexError or
struct.error, or comes back short with a position past the end, which the caller's own check then meets.
"""

from __future__ import annotations

import struct

from riverlog.protocol.malformed import refuse_length
from riverlog.protocol.varint import UVARINT, Buffer, read_uvarint_rest

_LENGTH = struct.Struct(">h")
_unpack_length = _LENGTH.unpack_from


def read_text(buffer: Buffer, position: int, path: str) -> tuple[str, int]:
    """Read legacy text that must not be null."""
    (length,) = _unpack_length(buffer, position)
    if length < 0:
        refuse_length(path, length)
    position += 2
    end = position + length
    return str(buffer[position:end], "utf-8"), end


def read_nullable_text(buffer: Buffer, position: int, path: str) -> tuple[str | None, int]:
    """Read legacy text or null."""
    (length,) = _unpack_length(buffer, position)
    if length == -1:
        return None, position + 2
    return read_text(buffer, position, path)


def read_compact_text(buffer: Buffer, position: int, path: str) -> tuple[str, int]:
    """Read compact text that must not be null."""
    text, end = read_compact_nullable_text(buffer, position)
    if text is None:
        refuse_length(path, -1)
    return text, end


def read_compact_nullable_text(buffer: Buffer, position: int) -> tuple[str | None, int]:
    """Read compact text or null."""
    length = buffer[position]
    position += 1
    if length > 127:
        length, position = read_uvarint_rest(length, buffer, position)
    if length == 0:
        return None, position
    end = position + length - 1
    return str(buffer[position:end], "utf-8"), end


def text_field(text: str | None) -> bytes:
    """Write legacy text or null."""
    if text is None:
        return b"\xff\xff"
    encoded = text.encode()
    return _LENGTH.pack(len(encoded)) + encoded


def compact_text_field(text: str | None) -> bytes:
    """Write compact text or null."""
    if text is None:
        return b"\0"
    encoded = text.encode()
    return UVARINT[len(encoded) + 1] + encoded
