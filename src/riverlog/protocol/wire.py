"""Whole requests and responses: frame, header and body at once.

    frame    size int32 (of all that follows) | header | body

A broker reads requests and writes responses; tools and tests do the opposite. Whatever is wrong with bytes
that came in raises RemoteProtocolError, whatever is wrong with a message to be sent LocalProtocolError.
Ask `versions.is_supported` first: a version whose encoding is unknown is also a LocalProtocolError.
Produce and Fetch have codecs of their own beside these (`produce`, `fetch`).
"""

from __future__ import annotations

import struct
from typing import Any

from riverlog.protocol.codec import decode, encode, encode_parts
from riverlog.protocol.headers import read_response_header, request_header
from riverlog.protocol.message import Message
from riverlog.protocol.varint import Buffer
from riverlog.protocol.versions import APIS, has_flexible_response_header

_SIZE_AND_HEADER_0 = struct.Struct(">ii").pack
_SIZE_AND_HEADER_1 = struct.Struct(">iix").pack
_SIZE = struct.Struct(">i").pack

_REQUESTS = {api.key: f"{api.name}Request" for api in APIS.values()}
_RESPONSES = {api.key: f"{api.name}Response" for api in APIS.values()}


def read_request(api_key: int, version: int, buffer: Buffer, start: int, end: int) -> Any:
    """Read the request body in buffer[start:end]; `headers.read_request_header` gives its start.

    The result is an instance of `messages.<Api>Request`.
    """
    return decode(_REQUESTS[api_key], version, buffer, start, end)


def write_response(api_key: int, version: int, correlation_id: int, message: Message) -> bytes:
    """Write a response as a complete frame."""
    body = b"".join(encode_parts(message, version))
    if has_flexible_response_header(api_key, version):
        return _SIZE_AND_HEADER_1(len(body) + 5, correlation_id) + body
    return _SIZE_AND_HEADER_0(len(body) + 4, correlation_id) + body


def write_request(
    api_key: int, version: int, correlation_id: int, client_id: str | None, message: Message
) -> bytes:
    """Write a request as a complete frame."""
    header = request_header(api_key, version, correlation_id, client_id)
    body = encode(message, version)
    return _SIZE(len(header) + len(body)) + header + body


def read_response(api_key: int, version: int, buffer: Buffer, start: int, end: int) -> tuple[int, Any]:
    """Read the response in buffer[start:end], its frame's size not included.

    Returns the correlation id and an instance of `messages.<Api>Response`.
    """
    correlation_id, body_start = read_response_header(api_key, version, buffer, start, end)
    return correlation_id, decode(_RESPONSES[api_key], version, buffer, body_start, end)
