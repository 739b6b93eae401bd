"""Request and response headers.

    request   api key int16 | api version int16 | correlation id int32 | client id: int16 length, text or null
              | version 2 only: tagged fields
    response  correlation id int32 | version 1 only: tagged fields

Header versions follow from the request: flexible versions (KIP-482) take request header 2 and response
header 1, others request header 1 and response header 0; ApiVersions always takes response header 0. The
client id keeps its legacy length even in header 2, so that any broker can read the header of any request.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol.varint import Buffer, skip_tagged_fields
from riverlog.protocol.versions import has_flexible_response_header, is_flexible

_START = struct.Struct(">hhi")
_START_AND_LENGTH = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")

_read_start = _START.unpack_from
_read_start_and_length = _START_AND_LENGTH.unpack_from


class RequestHeader(NamedTuple):
    """A request's header; its body starts at `body_start` of the same buffer."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_start: int


def peek_request(buffer: Buffer, start: int, end: int) -> tuple[int, int, int]:
    """Read just the API key, version and correlation id, which never change their place.

    This is all that may be understood of an ApiVersions request from the future.
    """
    if end - start < _START.size:
        raise RemoteProtocolError(f"a request of {end - start} bytes has no room for its header")
    key, version, correlation_id = _read_start(buffer, start)
    return key, version, correlation_id


def read_request_header(buffer: Buffer, start: int, end: int) -> RequestHeader:
    """Read the header of the request in buffer[start:end]."""
    try:
        key, version, correlation_id, length = _read_start_and_length(buffer, start)
        position = start + 10
        client_id: str | None = None
        if length >= 0:
            position += length
            client_id = str(buffer[position - length : position], "utf-8")
        elif length != -1:
            raise RemoteProtocolError(f"the client id has the length {length}")
        if is_flexible(key, version):
            count = buffer[position]
            position += 1
            if count:
                position = skip_tagged_fields(count, buffer, position, end)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"the header of a request of {end - start} bytes: {error}") from error
    if position > end:
        raise RemoteProtocolError(f"the header of a request of {end - start} bytes reaches past its end")
    return tuple.__new__(RequestHeader, (key, version, correlation_id, client_id, position))


def request_header(api_key: int, api_version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Write a request's header."""
    client = b"" if client_id is None else client_id.encode()
    try:
        header = _START_AND_LENGTH.pack(
            api_key, api_version, correlation_id, -1 if client_id is None else len(client)
        )
    except struct.error as error:
        raise LocalProtocolError(f"a request header cannot be written: {error}") from error
    return header + client + (b"\0" if is_flexible(api_key, api_version) else b"")


def read_response_header(
    api_key: int, api_version: int, buffer: Buffer, start: int, end: int
) -> tuple[int, int]:
    """Read a response's header; return the correlation id and the position of the body."""
    position = start + _CORRELATION_ID.size
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(buffer, start)
        if has_flexible_response_header(api_key, api_version):
            count = buffer[position]
            position += 1
            if count:
                position = skip_tagged_fields(count, buffer, position, end)
    except (struct.error, IndexError) as error:
        raise RemoteProtocolError(f"the header of a response of {end - start} bytes: {error}") from error
    if position > end:
        raise RemoteProtocolError(f"the header of a response of {end - start} bytes reaches past its end")
    return correlation_id, position
