"""Writes Fetch responses (API 1, versions 4 to 18), by hand, around records that it never touches.

    throttle time int32 | error int16, session id int32 (7+) | [topic | [partition]]
    | tag 0 node endpoints (16+)

    partition   index int32 | error int16 | high watermark int64 | last stable offset int64
                | log start offset int64 (5+) | aborted: [producer id int64 | first offset int64] or null
                | preferred replica int32 (11+) | records
                | tag 0 diverging epoch int32 and end offset int64, tag 1 leader id and epoch int32 (12+)

Versions 4 to 11 are in the legacy encoding, 12 and up flexible. A topic is its name up to 12, its id (16
bytes) from 13 on. The frame comes as chunks: bytes, and each partition's records between them, as they came:

    [bytes: size, header ... length of records] [records] [bytes ... length of records] [records] [bytes]
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Protocol

from riverlog.errors import LocalProtocolError
from riverlog.protocol.endpoints import NodeEndpoint, node_endpoints_tags
from riverlog.protocol.fetch_request import FLEXIBLE_FROM, Topic
from riverlog.protocol.message import Message
from riverlog.protocol.text import compact_text_field, text_field
from riverlog.protocol.varint import UVARINT

SESSIONS_FROM = 7
ENDPOINTS_FROM = 16


class Records(Protocol):
    """Records on their way out: only their length in bytes matters here."""

    @property
    def length(self) -> int:
        """The number of bytes that will be sent."""
        ...


Chunks = list[bytes | Records]
"""A frame to be sent piece by piece."""


class FetchedPartition(Message):
    """The answer for one partition. A version leaves out what it has no place for.

    `aborted` holds (producer id, first offset) of each aborted transaction, None where nobody asked;
    `diverging_epoch` is (epoch, end offset), `current_leader` (leader id, leader epoch). Records of None
    are sent as empty, as Apache Kafka does: some clients do not expect null.
    """

    __slots__ = (
        "aborted",
        "current_leader",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "index",
        "last_stable_offset",
        "log_start_offset",
        "preferred_read_replica",
        "records",
    )

    def __init__(
        self,
        index: int,
        error_code: int = 0,
        high_watermark: int = -1,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        aborted: Sequence[tuple[int, int]] | None = None,
        preferred_read_replica: int = -1,
        records: Records | None = None,
        diverging_epoch: tuple[int, int] | None = None,
        current_leader: tuple[int, int] | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.aborted = aborted
        self.preferred_read_replica = preferred_read_replica
        self.records = records
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader


Topics = Sequence[tuple[Topic, Sequence[FetchedPartition]]]

_pack_int32 = struct.Struct(">i").pack
_pack_two_int32 = struct.Struct(">ii").pack
_pack_two_int64 = struct.Struct(">qq").pack
_pack_two_int64_without_tags = struct.Struct(">qqx").pack
_pack_head_4 = struct.Struct(">iiii").pack  # frame size, correlation id, throttle time, count of topics
_pack_head_7 = struct.Struct(">iiihii").pack  # ... error and session id before the count
_pack_head_12 = struct.Struct(">iixihi").pack  # ... no tags in the header; the count comes apart
_pack_partition_4 = struct.Struct(">ihqq").pack
_pack_partition_5 = struct.Struct(">ihqqq").pack
_pack_partition_12 = struct.Struct(">ihqqqxi").pack  # ... null for aborted transactions, preferred replica
_pack_diverging_epoch = struct.Struct(">BBiqx").pack  # tag, size of the structure
_pack_current_leader = struct.Struct(">BBiix").pack


def write_fetch_response(
    version: int,
    correlation_id: int,
    throttle_time_ms: int,
    error_code: int,
    session_id: int,
    topics: Topics,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> Chunks:
    """Write a response as the chunks of a complete frame. Raises LocalProtocolError if it cannot be sent."""
    chunks: Chunks = []
    try:
        if version >= FLEXIBLE_FROM:
            tail = node_endpoints_tags(node_endpoints) if version >= ENDPOINTS_FROM else b"\0"
            size = _add_flexible_topics(chunks, topics, tail)
            head = _pack_head_12(size + 15, correlation_id, throttle_time_ms, error_code, session_id)
        else:
            size = _add_legacy_topics(version, chunks, topics)
            count = len(topics)
            if version >= SESSIONS_FROM:
                head = _pack_head_7(
                    size + 18, correlation_id, throttle_time_ms, error_code, session_id, count
                )
            else:
                head = _pack_head_4(size + 12, correlation_id, throttle_time_ms, count)
    except (struct.error, AttributeError, TypeError, UnicodeEncodeError) as error:
        raise LocalProtocolError(f"FetchResponse {version} cannot be written: {error}") from error
    first = chunks[0]
    assert isinstance(first, bytes)
    chunks[0] = head + first
    return chunks


def _add_flexible_topics(chunks: Chunks, topics: Topics, tail: bytes) -> int:
    """Add the chunks of the topics and what follows them; return their size, that of the records included."""
    size = 0
    parts = [UVARINT[len(topics) + 1]]
    for topic, partitions in topics:
        parts += (
            topic if isinstance(topic, bytes) else compact_text_field(topic),
            UVARINT[len(partitions) + 1],
        )
        for partition in partitions:
            records = partition.records
            length = records.length if records else 0
            if partition.aborted is None:
                parts += (
                    _pack_partition_12(
                        partition.index,
                        partition.error_code,
                        partition.high_watermark,
                        partition.last_stable_offset,
                        partition.log_start_offset,
                        partition.preferred_read_replica,
                    ),
                    UVARINT[length + 1],
                )
            else:
                _add_flexible_partition_with_aborted(parts, partition, length)
            if records and length:
                chunk = b"".join(parts)
                chunks += (chunk, records)
                size += len(chunk) + length
                parts = []
            if partition.diverging_epoch is None and partition.current_leader is None:
                parts.append(b"\0")
            else:
                parts.append(_partition_tags(partition))
        parts.append(b"\0")
    parts.append(tail)
    chunk = b"".join(parts)
    chunks.append(chunk)
    return size + len(chunk)


def _add_flexible_partition_with_aborted(
    parts: list[bytes], partition: FetchedPartition, length: int
) -> None:
    """Add a partition up to the length of its records, where it has a list of aborted transactions."""
    assert partition.aborted is not None
    parts += (
        _pack_partition_5(
            partition.index,
            partition.error_code,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log_start_offset,
        ),
        UVARINT[len(partition.aborted) + 1],
        *(_pack_two_int64_without_tags(*transaction) for transaction in partition.aborted),
        _pack_int32(partition.preferred_read_replica),
        UVARINT[length + 1],
    )


def _partition_tags(partition: FetchedPartition) -> bytes:
    tags = b""
    count = 0
    if partition.diverging_epoch is not None:
        tags = _pack_diverging_epoch(0, 13, *partition.diverging_epoch)
        count = 1
    if partition.current_leader is not None:
        tags += _pack_current_leader(1, 9, *partition.current_leader)
        count += 1
    return UVARINT[count] + tags


def _add_legacy_topics(version: int, chunks: Chunks, topics: Topics) -> int:
    """Add the chunks of the topics; return their size, that of the records included."""
    size = 0
    parts: list[bytes] = []
    for topic, partitions in topics:
        assert isinstance(topic, str), topic
        parts += (text_field(topic), _pack_int32(len(partitions)))
        for partition in partitions:
            records = partition.records
            length = records.length if records else 0
            _add_legacy_partition(version, parts, partition, length)
            if records and length:
                chunk = b"".join(parts)
                chunks += (chunk, records)
                size += len(chunk) + length
                parts = []
    chunk = b"".join(parts)
    if chunk or not chunks:
        chunks.append(chunk)
    return size + len(chunk)


def _add_legacy_partition(version: int, parts: list[bytes], partition: FetchedPartition, length: int) -> None:
    """Add a partition up to the length of its records."""
    start = (
        partition.index,
        partition.error_code,
        partition.high_watermark,
        partition.last_stable_offset,
    )
    if version >= 5:
        parts.append(_pack_partition_5(*start, partition.log_start_offset))
    else:
        parts.append(_pack_partition_4(*start))
    if partition.aborted is None:
        parts.append(_pack_int32(-1))
    else:
        parts.append(_pack_int32(len(partition.aborted)))
        parts += (_pack_two_int64(*transaction) for transaction in partition.aborted)
    if version >= 11:
        parts.append(_pack_two_int32(partition.preferred_read_replica, length))
    else:
        parts.append(_pack_int32(length))
