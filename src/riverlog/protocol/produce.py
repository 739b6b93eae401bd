"""Produce (API 0, versions 3 to 13): the hot path's own codec.

A request is read without touching the records: each partition is told where in the buffer its records lie.

    request    transactional id | acks int16 | timeout int32 | [topic | [index int32 | records]]
    response   [topic | [index int32 | error int16 | base offset int64 | log append time int64
               | log start offset int64 (5+) | record errors, error message (8+) | leader as tag 0 (10+)]]
               | throttle time int32 | node endpoints as tag 0 (10+)

    versions   3-8 legacy encoding, 9+ flexible; a topic is its name up to 12, its id (16 bytes) from 13 on

Versions 0 to 2 carry record formats that riverlog does not speak; `versions.is_supported` says so. The
compiled codecs of `messages.ProduceRequest` and `ProduceResponse` read and write the same bytes; property
tests hold the two against each other. What this one gains: records are not copied, and nothing is made that
the broker does not use.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol.endpoints import NodeEndpoint, node_endpoints_tags
from riverlog.protocol.malformed import refuse_count, refuse_end, refuse_length
from riverlog.protocol.message import Message
from riverlog.protocol.text import (
    compact_text_field,
    read_compact_nullable_text,
    read_compact_text,
    read_nullable_text,
    read_text,
    text_field,
)
from riverlog.protocol.varint import UVARINT, Buffer, read_uvarint_rest, skip_tagged_fields

FLEXIBLE_FROM = 9
LEADERS_FROM = 10
TOPIC_IDS_FROM = 13

PARTITIONS_MAX = 50_000
"""How many partitions, and how many topics, one request may name. It may be as large as its records are; this
keeps the number of things in it, hence the time that reading it takes, from growing likewise."""

Topic = str | bytes
"""A topic's name, or from TOPIC_IDS_FROM on its id."""

Records = tuple[Topic, int, int, int]
"""Topic, partition index, and start and end of the records in the request's buffer; -1, -1 for null."""


class ProduceRequest(Message):
    """A produce request, with the places of its records in the buffer it was read from."""

    __slots__ = ("acks", "partitions", "timeout_ms", "transactional_id")

    def __init__(
        self, transactional_id: str | None, acks: int, timeout_ms: int, partitions: list[Records]
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.partitions = partitions


class PartitionReply(NamedTuple):
    """The answer for one partition. A version leaves out what it has no place for."""

    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: Sequence[tuple[int, str | None]] = ()
    """(index of the record in its batch, message) of each record that is to blame for the refusal."""
    error_message: str | None = None
    current_leader: tuple[int, int] | None = None
    """(leader id, leader epoch) for a client that asked the wrong broker."""


Replies = Sequence[tuple[Topic, Sequence[tuple[int, PartitionReply]]]]
"""For each topic its partitions' indexes and replies."""

_unpack_int32 = struct.Struct(">i").unpack_from
_unpack_legacy_start = struct.Struct(">hii").unpack_from  # acks, timeout, count of topics
_unpack_flexible_start = struct.Struct(">hiB").unpack_from
_unpack_legacy_partition = struct.Struct(">ii").unpack_from  # index, length of the records
_unpack_flexible_partition = struct.Struct(">iB").unpack_from


def read_produce(version: int, buffer: Buffer, start: int, end: int) -> ProduceRequest:
    """Read the request body in buffer[start:end]. Raises RemoteProtocolError if it is malformed."""
    try:
        if version >= FLEXIBLE_FROM:
            return _read_flexible(version, buffer, start, end)
        return _read_legacy(buffer, start, end)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"ProduceRequest {version} of {end - start} bytes: {error}") from error


def _read_flexible(version: int, buffer: Buffer, position: int, end: int) -> ProduceRequest:
    transactional_id: str | None = None
    if buffer[position]:
        transactional_id, position = read_compact_nullable_text(buffer, position)
    else:
        position += 1
    acks, timeout_ms, count = _unpack_flexible_start(buffer, position)
    position += 7
    if count > 127:
        count, position = read_uvarint_rest(count, buffer, position)
    if not 0 < count <= end - position:
        refuse_count("ProduceRequest.topic_data", count - 1, end - position)
    if count - 1 > PARTITIONS_MAX:
        _refuse_many(count - 1)
    partitions: list[Records] = []
    topic: Topic
    for _ in range(count - 1):
        if version >= TOPIC_IDS_FROM:
            topic = bytes(buffer[position : position + 16])
            position += 16
        else:
            topic, position = read_compact_text(buffer, position, "ProduceRequest.topic_data.name")
        position = _read_flexible_partitions(topic, buffer, position, end, partitions)
    tags = buffer[position]
    position += 1
    if tags:
        position = skip_tagged_fields(tags, buffer, position, end)
    if position > end:
        refuse_end("ProduceRequest", position - end)
    return ProduceRequest(transactional_id, acks, timeout_ms, partitions)


def _read_flexible_partitions(
    topic: Topic, buffer: Buffer, position: int, end: int, partitions: list[Records]
) -> int:
    """Read a topic's partitions and its tagged fields; return the position after them."""
    count = buffer[position]
    position += 1
    if count > 127:
        count, position = read_uvarint_rest(count, buffer, position)
    if not 0 < count <= end - position:
        refuse_count("ProduceRequest.topic_data.partition_data", count - 1, end - position)
    if len(partitions) + count - 1 > PARTITIONS_MAX:
        _refuse_many(len(partitions) + count - 1)
    for _ in range(count - 1):
        index, length = _unpack_flexible_partition(buffer, position)
        position += 5
        if length > 127:
            length, position = read_uvarint_rest(length, buffer, position)
        if length:
            records_end = position + length - 1
            partitions.append((topic, index, position, records_end))
            position = records_end
        else:
            partitions.append((topic, index, -1, -1))
        tags = buffer[position]
        position += 1
        if tags:
            position = skip_tagged_fields(tags, buffer, position, end)
    tags = buffer[position]
    position += 1
    if tags:
        position = skip_tagged_fields(tags, buffer, position, end)
    return position


def _read_legacy(buffer: Buffer, position: int, end: int) -> ProduceRequest:
    transactional_id, position = read_nullable_text(buffer, position, "ProduceRequest.transactional_id")
    acks, timeout_ms, count = _unpack_legacy_start(buffer, position)
    position += 10
    if not 0 <= count <= end - position:
        refuse_count("ProduceRequest.topic_data", count, end - position)
    if count > PARTITIONS_MAX:
        _refuse_many(count)
    partitions: list[Records] = []
    for _ in range(count):
        topic, position = read_text(buffer, position, "ProduceRequest.topic_data.name")
        (partition_count,) = _unpack_int32(buffer, position)
        position += 4
        if not 0 <= partition_count <= end - position:
            refuse_count("ProduceRequest.topic_data.partition_data", partition_count, end - position)
        if len(partitions) + partition_count > PARTITIONS_MAX:
            _refuse_many(len(partitions) + partition_count)
        for _ in range(partition_count):
            index, length = _unpack_legacy_partition(buffer, position)
            position += 8
            if length >= 0:
                partitions.append((topic, index, position, position + length))
                position += length
            elif length == -1:
                partitions.append((topic, index, -1, -1))
            else:
                refuse_length("ProduceRequest.topic_data.partition_data.records", length)
    if position > end:
        refuse_end("ProduceRequest", position - end)
    return ProduceRequest(transactional_id, acks, timeout_ms, partitions)


def _refuse_many(count: int) -> NoReturn:
    raise RemoteProtocolError(f"a produce request names {count} partitions; {PARTITIONS_MAX} are accepted")


_pack_legacy_head = struct.Struct(">iii").pack  # frame size, correlation id, count of topics
_pack_flexible_head = struct.Struct(">iix").pack
_pack_int32 = struct.Struct(">i").pack
_pack_int32_without_tags = struct.Struct(">ix").pack
_pack_reply_3 = struct.Struct(">ihqq").pack  # index, error, base offset, log append time
_pack_reply_5 = struct.Struct(">ihqqq").pack  # ... log start offset
_pack_plain_reply_8 = struct.Struct(">ihqqqxxxxh").pack  # ... no record errors, -1 for no message
_pack_plain_reply_9 = struct.Struct(">ihqqqBxx").pack  # ... 1 for no record errors, no message, no tags
_pack_current_leader = struct.Struct(">BxBiix").pack  # one tagged field: tag 0 of 9 bytes


def write_produce_response(
    version: int,
    correlation_id: int,
    topics: Replies,
    throttle_time_ms: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> bytes:
    """Write a response as a complete frame. Raises LocalProtocolError for values that cannot be sent."""
    try:
        if version >= FLEXIBLE_FROM:
            parts = _flexible_parts(version, topics)
            if node_endpoints and version >= LEADERS_FROM:
                parts += (_pack_int32(throttle_time_ms), node_endpoints_tags(node_endpoints))
            else:
                parts.append(_pack_int32_without_tags(throttle_time_ms))
            body = b"".join(parts)
            return _pack_flexible_head(len(body) + 5, correlation_id) + body
        parts = _legacy_parts(version, topics)
        parts.append(_pack_int32(throttle_time_ms))
        body = b"".join(parts)
        return _pack_legacy_head(len(body) + 8, correlation_id, len(topics)) + body
    except (struct.error, AttributeError, TypeError, UnicodeEncodeError) as error:
        raise LocalProtocolError(f"ProduceResponse {version} cannot be written: {error}") from error


def _flexible_parts(version: int, topics: Replies) -> list[bytes]:
    parts = [UVARINT[len(topics) + 1]]
    for topic, replies in topics:
        parts += (
            topic if isinstance(topic, bytes) else compact_text_field(topic),
            UVARINT[len(replies) + 1],
        )
        for index, reply in replies:
            error_code, base_offset, append_time, log_start, record_errors, message, leader = reply
            if not record_errors and message is None and leader is None:
                parts.append(_pack_plain_reply_9(index, error_code, base_offset, append_time, log_start, 1))
                continue
            parts += (
                _pack_reply_5(index, error_code, base_offset, append_time, log_start),
                UVARINT[len(record_errors) + 1],
            )
            for record_index, record_message in record_errors:
                parts += (_pack_int32(record_index), compact_text_field(record_message), b"\0")
            parts.append(compact_text_field(message))
            if leader and version >= LEADERS_FROM:
                parts.append(_pack_current_leader(1, 9, *leader))
            else:
                parts.append(b"\0")
        parts.append(b"\0")
    return parts


def _legacy_parts(version: int, topics: Replies) -> list[bytes]:
    parts: list[bytes] = []
    for topic, replies in topics:
        assert isinstance(topic, str), topic
        parts += (text_field(topic), _pack_int32(len(replies)))
        for index, reply in replies:
            error_code, base_offset, append_time, log_start, record_errors, message, _ = reply
            if version < 5:
                parts.append(_pack_reply_3(index, error_code, base_offset, append_time))
            elif version < 8:
                parts.append(_pack_reply_5(index, error_code, base_offset, append_time, log_start))
            elif not record_errors and message is None:
                parts.append(_pack_plain_reply_8(index, error_code, base_offset, append_time, log_start, -1))
            else:
                parts += (
                    _pack_reply_5(index, error_code, base_offset, append_time, log_start),
                    _pack_int32(len(record_errors)),
                )
                for record_index, record_message in record_errors:
                    parts += (_pack_int32(record_index), text_field(record_message))
                parts.append(text_field(message))
    return parts
