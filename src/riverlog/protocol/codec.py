"""Messages to bytes and back, by readers and writers compiled on first use.

`encode` and `decode` know message bodies only; frames and headers are `wire`'s affair.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol import schema
from riverlog.protocol.message import Message
from riverlog.protocol.reading import Reader, compile_reader
from riverlog.protocol.varint import Buffer
from riverlog.protocol.writing import Writer, compile_writer


@cache
def reader(message_name: str, version: int) -> Reader:
    """Compile a message's reader for a version. Raises LocalProtocolError when there is none."""
    return compile_reader(_definition(message_name, version), message_name, version)


@cache
def writer(message_name: str, version: int) -> Writer:
    """Compile a message's writer for a version. Raises LocalProtocolError when there is none."""
    return compile_writer(_definition(message_name, version), message_name, version)


def _definition(message_name: str, version: int) -> schema.Definition:
    home = schema.index().get(message_name)
    message = schema.load(home).messages.get(message_name) if home else None
    if home is None or message is None:
        raise LocalProtocolError(f"the protocol has no message {message_name!r}")
    if not message.versions.include(version):
        first, last = message.versions
        raise LocalProtocolError(f"{message_name} has no version {version}, only {first} to {last}")
    return schema.load(home)


def decode(message_name: str, version: int, buffer: Buffer, start: int = 0, end: int | None = None) -> Any:
    """Read the message at the start of buffer[start:end]. Raises RemoteProtocolError for anything malformed.

    Bytes after the message are passed over, as Apache Kafka does: clients send some (see `reading`).
    The buffer is not kept: text and bytes in the message are copies.
    """
    if end is None:
        end = len(buffer)
    assert 0 <= start <= end <= len(buffer), (start, end, len(buffer))
    if type(buffer) is memoryview:
        # Slices of a view know no `decode`; a copy of the one message costs less than asking at each text.
        buffer, start, end = bytes(buffer[start:end]), 0, end - start
    read = reader(message_name, version)
    try:
        return read(buffer, start, end)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"{message_name} {version} of {end - start} bytes: {error}") from error


def encode(message: Message, version: int) -> bytes:
    """Write a message's body in a version. Raises LocalProtocolError for values that cannot be sent."""
    return b"".join(encode_parts(message, version))


def encode_parts(message: Message, version: int) -> list[bytes]:
    """Write a message's body in a version, as the pieces to be joined."""
    write = writer(type(message).__name__, version)
    try:
        return write(message)
    except (struct.error, AttributeError, TypeError, UnicodeEncodeError) as error:
        raise LocalProtocolError(f"{type(message).__name__} {version} cannot be written: {error}") from error
