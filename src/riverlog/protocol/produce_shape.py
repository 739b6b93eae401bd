"""What the Produce requests of one client for one topic have in common, byte for byte.

Most clients send one partition's batch per request, over and over: between the correlation id and the
partition's index nothing changes, and after the records nothing follows but empty tags.

    api key, version | correlation id | client id ... acks, time-out, topic | index | length, records | tags
    └────── same ────┘                └─────────────── same ────────────────┘                   └─ same ─┘

A request that looks like the one before is recognised by comparing those bytes, and its reply is packed
around the bytes that replies have in common. That is a fifth of the work of reading and writing field by
field. Whatever does not look the same, in any way, or carries a transactional batch, is left to `produce`,
which is also what the shape of a request is learnt from.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.batches import HEADER_BYTES, TRANSACTIONAL_BIT
from riverlog.protocol.produce import (
    FLEXIBLE_FROM,
    PartitionReply,
    ProduceRequest,
    Topic,
    write_produce_response,
)
from riverlog.protocol.varint import Buffer, read_uvarint_rest

FIRST_VERSION = 5
"""Older replies are shorter; who still asks for them is served field by field."""

SHAPES_MAX = 1000
"""How many are kept, for all connections; learning one again takes a few microseconds."""

_CORRELATION_ID_AT = 4
_MIDDLE_AT = 8
_INDEX_BYTES = 4
_LEGACY_LENGTH_BYTES = 4
_ATTRIBUTES_AT = 22
"""The low byte of a batch's attributes."""
_REPLY_FIELDS_BYTES = 30
"""Index, error code, base offset, log append time, log start offset."""
_FLEXIBLE_TAGS = b"\0\0\0"
"""No tags behind the partition, the topic, the request."""

Likeness = tuple[int, int, int, int]
"""A recognised request: correlation id, partition index, where its batch starts, where it ends."""


class ProduceShape:
    """How such requests begin and end, and how their replies do."""

    __slots__ = (
        "_head",
        "_is_flexible",
        "_middle",
        "_pack_reply",
        "_records_at",
        "_reply_end",
        "_reply_middle",
        "_reply_size",
        "_tags",
        "_tags_bytes",
        "_unpack",
        "acks",
        "topic",
        "version",
    )

    def __init__(self, head: bytes, middle: bytes, version: int, acks: int, topic: Topic) -> None:
        self.version = version
        self.acks = acks
        self.topic = topic
        self._head = head
        self._middle = middle
        self._is_flexible = version >= FLEXIBLE_FROM
        length = "B" if self._is_flexible else "i"
        fields = struct.Struct(f">4si{len(middle)}si{length}")
        self._unpack = fields.unpack_from
        self._records_at = fields.size
        self._tags = _FLEXIBLE_TAGS if self._is_flexible else b""
        self._tags_bytes = len(self._tags)

        frame = write_produce_response(version, 0, [(topic, [(0, PartitionReply(0))])])
        fields_at = len(frame) - _bytes_behind_fields(version) - _REPLY_FIELDS_BYTES
        self._reply_size = frame[:_CORRELATION_ID_AT]
        self._reply_middle = frame[_MIDDLE_AT:fields_at]
        self._reply_end = frame[fields_at + _REPLY_FIELDS_BYTES :]
        self._pack_reply = struct.Struct(f">4si{len(self._reply_middle)}sihqqq{len(self._reply_end)}s").pack
        assert self.reply(0, 0, -1, -1, -1) == frame, (version, topic)

    def match(self, buffer: Buffer, start: int, end: int) -> Likeness | None:
        """Recognise the request in buffer[start:end]; None if it is not exactly of this shape."""
        try:
            head, correlation_id, middle, index, length = self._unpack(buffer, start)
            if head != self._head or middle != self._middle:
                return None
            position = start + self._records_at
            if self._is_flexible:
                if length > 127:
                    length, position = read_uvarint_rest(length, buffer, position)
                length -= 1
        except (struct.error, IndexError, RemoteProtocolError):
            return None
        batch_end = end - self._tags_bytes
        if length < HEADER_BYTES or position + length != batch_end:
            return None
        if self._is_flexible and buffer[batch_end:end] != _FLEXIBLE_TAGS:
            return None
        if buffer[position + _ATTRIBUTES_AT] & TRANSACTIONAL_BIT:
            return None
        return correlation_id, index, position, batch_end

    def reply(
        self, correlation_id: int, index: int, base_offset: int, append_time_ms: int, log_start_offset: int
    ) -> bytes:
        """Write the frame that says: appended."""
        return self._pack_reply(
            self._reply_size,
            correlation_id,
            self._reply_middle,
            index,
            0,
            base_offset,
            append_time_ms,
            log_start_offset,
            self._reply_end,
        )


def shape_of(version: int, buffer: Buffer, start: int, request: ProduceRequest) -> ProduceShape | None:
    """Learn the shape of the request that begins at `start` and was read as `request`, if it has one."""
    if version < FIRST_VERSION or request.transactional_id is not None or len(request.partitions) != 1:
        return None
    topic, _index, batch_start, batch_end = request.partitions[0]
    if batch_end - batch_start < HEADER_BYTES:
        return None
    middle_end = batch_start - _length_bytes(version, batch_end - batch_start) - _INDEX_BYTES
    return _shape(
        bytes(buffer[start : start + _CORRELATION_ID_AT]),
        bytes(buffer[start + _MIDDLE_AT : middle_end]),
        version,
        request.acks,
        topic,
    )


@lru_cache(SHAPES_MAX)
def _shape(head: bytes, middle: bytes, version: int, acks: int, topic: Topic) -> ProduceShape:
    return ProduceShape(head, middle, version, acks, topic)


def _length_bytes(version: int, length: int) -> int:
    """Give how many bytes say the length of the records."""
    if version < FLEXIBLE_FROM:
        return _LEGACY_LENGTH_BYTES
    return ((length + 1).bit_length() + 6) // 7


def _bytes_behind_fields(version: int) -> int:
    """Give how many bytes of a reply follow the log start offset of its one partition."""
    if version >= FLEXIBLE_FROM:
        return 9  # no record errors, no message, no tags | no tags | throttle time, no tags
    return 10 if version >= 8 else 4  # no record errors, no message | throttle time
