"""Reads Fetch requests (API 1, versions 4 to 18), by hand.

    replica id int32 (up to 14) | max wait int32 | min bytes int32 | max bytes int32 | isolation level int8
    | session id, session epoch int32 (7+) | [topic | [partition]] | forgotten (7+): [topic | [index int32]]
    | rack (11+) | tag 0 cluster id (12+), tag 1 replica id int32 and epoch int64 (15+)

    partition   index int32 | leader epoch int32 (9+) | offset int64 | last fetched epoch int32 (12+)
                | log start offset int64 (5+) | max bytes int32
                | tag 0 directory id (17+), tag 1 high watermark int64 (18+)

Versions 4 to 11 are in the legacy encoding, 12 and up flexible. A topic is its name up to 12, its id (16
bytes) from 13 on. A consumer's request within a fetch session mostly has no topics at all.
"""

from __future__ import annotations

import struct

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.malformed import refuse_count, refuse_end
from riverlog.protocol.message import Message
from riverlog.protocol.schema import ZERO_UUID
from riverlog.protocol.text import read_compact_nullable_text, read_compact_text, read_text
from riverlog.protocol.varint import Buffer, find_tagged_fields, read_uvarint_rest, skip_tagged_fields

FLEXIBLE_FROM = 12
TOPIC_IDS_FROM = 13
REPLICA_STATE_FROM = 15
DIRECTORY_ID_FROM = 17
HIGH_WATERMARK_FROM = 18

HIGH_WATERMARK_UNSENT = (1 << 63) - 1
"""What a follower's high watermark reads as when it did not send it."""

Topic = str | bytes
"""A topic's name, or from TOPIC_IDS_FROM on its id."""


class FetchPartition(Message):
    """One partition of a fetch request."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "index",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "replica_directory_id",
    )

    def __init__(
        self,
        index: int,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        max_bytes: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        high_watermark: int = HIGH_WATERMARK_UNSENT,
    ) -> None:
        self.index = index
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.max_bytes = max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark


class FetchRequest(Message):
    """A fetch request: of a consumer where `replica_id` is -1, else of a follower."""

    __slots__ = (
        "cluster_id",
        "forgotten",
        "isolation_level",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "rack_id",
        "replica_epoch",
        "replica_id",
        "session_epoch",
        "session_id",
        "topics",
    )

    def __init__(self) -> None:
        self.replica_id = -1
        self.replica_epoch = -1
        self.max_wait_ms = 0
        self.min_bytes = 0
        self.max_bytes = 0x7FFFFFFF
        self.isolation_level = 0
        self.session_id = 0
        self.session_epoch = -1
        self.cluster_id: str | None = None
        self.topics: list[tuple[Topic, list[FetchPartition]]] = []
        self.forgotten: list[tuple[Topic, list[int]]] = []
        self.rack_id = ""


def read_fetch(version: int, buffer: Buffer, start: int, end: int) -> FetchRequest:
    """Read the request body in buffer[start:end]. Raises RemoteProtocolError if it is malformed."""
    try:
        if version >= FLEXIBLE_FROM:
            return _read_flexible(version, buffer, start, end)
        return _read_legacy(version, buffer, start, end)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"FetchRequest {version} of {end - start} bytes: {error}") from error


_unpack_int32 = struct.Struct(">i").unpack_from
_unpack_id_and_epoch = struct.Struct(">iq").unpack_from
_unpack_int64 = struct.Struct(">q").unpack_from
_unpack_session = struct.Struct(">ii").unpack_from
_unpack_legacy_head = struct.Struct(">iiiib").unpack_from
_unpack_flexible_head = struct.Struct(">iiibiiB").unpack_from
_unpack_partition_4 = struct.Struct(">iqi").unpack_from
_unpack_partition_5 = struct.Struct(">iqqi").unpack_from
_unpack_partition_9 = struct.Struct(">iiqqi").unpack_from
_unpack_partition_12 = struct.Struct(">iiqiqiB").unpack_from

_PARTITION_12_SIZE = 33  # the least that a partition takes: also what bounds their count


def _read_flexible(version: int, buffer: Buffer, position: int, end: int) -> FetchRequest:
    request = FetchRequest()
    if version < REPLICA_STATE_FROM:
        (request.replica_id,) = _unpack_int32(buffer, position)
        position += 4
    (
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        request.session_id,
        request.session_epoch,
        count,
    ) = _unpack_flexible_head(buffer, position)
    position += 22
    if count != 1:  # an incremental session mostly has no topics: 0 + 1
        position = _read_flexible_topics(version, count, buffer, position, end, request.topics)
    count = buffer[position]
    position += 1
    if count != 1:
        position = _read_flexible_forgotten(version, count, buffer, position, end, request.forgotten)
    if buffer[position] == 1:  # no rack: 0 + 1
        position += 1
    else:
        request.rack_id, position = read_compact_text(buffer, position, "FetchRequest.rack_id")
    tags = buffer[position]
    position += 1
    if tags:
        position = _read_request_tags(version, tags, buffer, position, end, request)
    if position > end:
        refuse_end("FetchRequest", position - end)
    return request


def _read_flexible_topics(
    version: int,
    count: int,
    buffer: Buffer,
    position: int,
    end: int,
    topics: list[tuple[Topic, list[FetchPartition]]],
) -> int:
    """Read topics whose count (plus one) begins with the byte `count`; return the position after them."""
    if count > 127:
        count, position = read_uvarint_rest(count, buffer, position)
    if not 0 < count <= end - position:
        refuse_count("FetchRequest.topics", count - 1, end - position)
    new = object.__new__
    for _ in range(count - 1):
        topic, position = _read_flexible_topic(version, buffer, position)
        partition_count = buffer[position]
        position += 1
        if partition_count > 127:
            partition_count, position = read_uvarint_rest(partition_count, buffer, position)
        if not 0 < partition_count <= (end - position) // _PARTITION_12_SIZE + 1:
            refuse_count("FetchRequest.topics.partitions", partition_count - 1, end - position)
        partitions = []
        for _ in range(partition_count - 1):
            partition = new(FetchPartition)
            (
                partition.index,
                partition.current_leader_epoch,
                partition.fetch_offset,
                partition.last_fetched_epoch,
                partition.log_start_offset,
                partition.max_bytes,
                tags,
            ) = _unpack_partition_12(buffer, position)
            position += _PARTITION_12_SIZE
            partition.replica_directory_id = ZERO_UUID
            partition.high_watermark = HIGH_WATERMARK_UNSENT
            if tags:
                position = _read_partition_tags(version, tags, buffer, position, end, partition)
            partitions.append(partition)
        topics.append((topic, partitions))
        tags = buffer[position]
        position += 1
        if tags:
            position = skip_tagged_fields(tags, buffer, position, end)
    return position


def _read_flexible_topic(version: int, buffer: Buffer, position: int) -> tuple[Topic, int]:
    if version >= TOPIC_IDS_FROM:
        return bytes(buffer[position : position + 16]), position + 16
    return read_compact_text(buffer, position, "FetchRequest.topics.topic")


def _read_flexible_forgotten(
    version: int,
    count: int,
    buffer: Buffer,
    position: int,
    end: int,
    forgotten: list[tuple[Topic, list[int]]],
) -> int:
    """Read the forgotten topics likewise."""
    if count > 127:
        count, position = read_uvarint_rest(count, buffer, position)
    if not 0 < count <= end - position:
        refuse_count("FetchRequest.forgotten_topics_data", count - 1, end - position)
    for _ in range(count - 1):
        topic, position = _read_flexible_topic(version, buffer, position)
        index_count = buffer[position]
        position += 1
        if index_count > 127:
            index_count, position = read_uvarint_rest(index_count, buffer, position)
        indexes, position = _read_indexes(index_count - 1, buffer, position, end)
        forgotten.append((topic, indexes))
        tags = buffer[position]
        position += 1
        if tags:
            position = skip_tagged_fields(tags, buffer, position, end)
    return position


def _read_indexes(count: int, buffer: Buffer, position: int, end: int) -> tuple[list[int], int]:
    if not 0 <= count <= (end - position) // 4:
        refuse_count("FetchRequest.forgotten_topics_data.partitions", count, end - position)
    return list(struct.unpack_from(f">{count}i", buffer, position)), position + 4 * count


def _read_partition_tags(
    version: int, count: int, buffer: Buffer, position: int, end: int, partition: FetchPartition
) -> int:
    found, position = find_tagged_fields(count, buffer, position, end)
    for tag, tag_start, tag_end in found:
        if tag == 0 and version >= DIRECTORY_ID_FROM:
            _expect_size("FetchRequest.topics.partitions.replica_directory_id", tag_start, tag_end, 16)
            partition.replica_directory_id = bytes(buffer[tag_start:tag_end])
        elif tag == 1 and version >= HIGH_WATERMARK_FROM:
            _expect_size("FetchRequest.topics.partitions.high_watermark", tag_start, tag_end, 8)
            (partition.high_watermark,) = _unpack_int64(buffer, tag_start)
    return position


def _read_request_tags(
    version: int, count: int, buffer: Buffer, position: int, end: int, request: FetchRequest
) -> int:
    found, position = find_tagged_fields(count, buffer, position, end)
    for tag, tag_start, tag_end in found:
        if tag == 0:
            request.cluster_id, text_end = read_compact_nullable_text(buffer, tag_start)
            if text_end != tag_end:
                refuse_end("FetchRequest.cluster_id", text_end - tag_end)
        elif tag == 1 and version >= REPLICA_STATE_FROM:
            request.replica_id, request.replica_epoch = _unpack_id_and_epoch(buffer, tag_start)
            struct_end = tag_start + 12
            struct_end = skip_tagged_fields(buffer[struct_end], buffer, struct_end + 1, tag_end)
            if struct_end != tag_end:
                refuse_end("FetchRequest.replica_state", struct_end - tag_end)
    return position


def _expect_size(path: str, start: int, end: int, size: int) -> None:
    if end - start != size:
        refuse_end(path, start + size - end)


def _read_legacy(version: int, buffer: Buffer, position: int, end: int) -> FetchRequest:
    request = FetchRequest()
    (
        request.replica_id,
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
    ) = _unpack_legacy_head(buffer, position)
    position += 17
    if version >= 7:
        request.session_id, request.session_epoch = _unpack_session(buffer, position)
        position += 8
    (count,) = _unpack_int32(buffer, position)
    position += 4
    if not 0 <= count <= end - position:
        refuse_count("FetchRequest.topics", count, end - position)
    for _ in range(count):
        topic, position = read_text(buffer, position, "FetchRequest.topics.topic")
        partitions, position = _read_legacy_partitions(version, buffer, position, end)
        request.topics.append((topic, partitions))
    if version >= 7:
        position = _read_legacy_forgotten(buffer, position, end, request.forgotten)
    if version >= 11:
        request.rack_id, position = read_text(buffer, position, "FetchRequest.rack_id")
    if position > end:
        refuse_end("FetchRequest", position - end)
    return request


def _read_legacy_partitions(
    version: int, buffer: Buffer, position: int, end: int
) -> tuple[list[FetchPartition], int]:
    (count,) = _unpack_int32(buffer, position)
    position += 4
    if not 0 <= count <= end - position:
        refuse_count("FetchRequest.topics.partitions", count, end - position)
    partitions = []
    leader_epoch = log_start_offset = -1
    for _ in range(count):
        if version >= 9:
            index, leader_epoch, offset, log_start_offset, max_bytes = _unpack_partition_9(buffer, position)
            position += 28
        elif version >= 5:
            index, offset, log_start_offset, max_bytes = _unpack_partition_5(buffer, position)
            position += 24
        else:
            index, offset, max_bytes = _unpack_partition_4(buffer, position)
            position += 16
        partitions.append(FetchPartition(index, leader_epoch, offset, -1, log_start_offset, max_bytes))
    return partitions, position


def _read_legacy_forgotten(
    buffer: Buffer, position: int, end: int, forgotten: list[tuple[Topic, list[int]]]
) -> int:
    (count,) = _unpack_int32(buffer, position)
    position += 4
    if not 0 <= count <= end - position:
        refuse_count("FetchRequest.forgotten_topics_data", count, end - position)
    for _ in range(count):
        topic, position = read_text(buffer, position, "FetchRequest.forgotten_topics_data.topic")
        (index_count,) = _unpack_int32(buffer, position)
        indexes, position = _read_indexes(index_count, buffer, position + 4, end)
        forgotten.append((topic, indexes))
    return position
