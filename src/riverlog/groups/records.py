"""The records of the offsets topic, in Kafka's own format: what a group was, and what it committed.

    key    int16 kind | body        0, 1 offset commit (group, topic, partition)     2 group metadata (group)
    value  int16 version | body     none: the key's subject is gone

The kinds above 2 belong to groups whose assignment the broker decides (see `consumer.records`), to share
and to streams groups.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, TypeAlias

from riverlog.errors import RemoteProtocolError
from riverlog.groups.consumer import records as consumer_records
from riverlog.groups.consumer.records import ConsumerRecord
from riverlog.protocol import codec, messages
from riverlog.shards import OtherKind

OFFSETS_TOPIC = "__consumer_offsets"

NO_TOPIC_ID = bytes(16)
NO_EXPIRY = -1

_LEGACY_OFFSET_COMMIT, _OFFSET_COMMIT, _GROUP_METADATA = 0, 1, 2

_COMMIT_VERSION = 4
_COMMIT_VERSION_WITH_EXPIRY = 1
_METADATA_VERSION = 3
"""The versions that Kafka 4.3 writes."""

_SHORT = struct.Struct(">h")


class CommittedOffset(NamedTuple):
    """A position that a group committed for one partition."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int = NO_EXPIRY
    """Only where an old client asked for a time of its own."""
    topic_id: bytes = NO_TOPIC_ID
    """All zeros where whoever committed did not know it."""


class OffsetCommit(NamedTuple):
    """A group's commit for one partition; without a value the commit is forgotten."""

    group_id: str
    topic: str
    partition: int
    value: CommittedOffset | None


class GroupMetadata(NamedTuple):
    """A group's generation with its members; without a value the group is gone."""

    group_id: str
    value: messages.GroupMetadataValue | None


GroupRecord: TypeAlias = OffsetCommit | GroupMetadata | ConsumerRecord


def encode(record: GroupRecord) -> tuple[bytes, bytes | None]:
    """Give a record's key and value."""
    if isinstance(record, OffsetCommit):
        commit_key = messages.OffsetCommitKey(
            group=record.group_id, topic=record.topic, partition=record.partition
        )
        key = _SHORT.pack(_OFFSET_COMMIT) + codec.encode(commit_key, 0)
        return key, None if record.value is None else _encode_commit(record.value)
    if not isinstance(record, GroupMetadata):
        return consumer_records.encode(record)
    key = _SHORT.pack(_GROUP_METADATA) + codec.encode(messages.GroupMetadataKey(group=record.group_id), 0)
    if record.value is None:
        return key, None
    return key, _SHORT.pack(_METADATA_VERSION) + codec.encode(record.value, _METADATA_VERSION)


def decode(key: bytes, value: bytes | None) -> GroupRecord | OtherKind:
    """Read a record's key and value. Raises RemoteProtocolError if they are not what they should be."""
    kind = _leading_short(key)
    if kind in (_LEGACY_OFFSET_COMMIT, _OFFSET_COMMIT):
        about = codec.decode("OffsetCommitKey", 0, key, _SHORT.size)
        return OffsetCommit(
            about.group, about.topic, about.partition, None if value is None else _decode_commit(value)
        )
    if kind == _GROUP_METADATA:
        group_id: str = codec.decode("GroupMetadataKey", 0, key, _SHORT.size).group
        if value is None:
            return GroupMetadata(group_id, None)
        version = _known(_leading_short(value), _METADATA_VERSION + 1)
        return GroupMetadata(group_id, codec.decode("GroupMetadataValue", version, value, _SHORT.size))
    return consumer_records.decode(kind, key, value) or OtherKind(kind)


def _encode_commit(value: CommittedOffset) -> bytes:
    version = _COMMIT_VERSION if value.expire_ms == NO_EXPIRY else _COMMIT_VERSION_WITH_EXPIRY
    return _SHORT.pack(version) + codec.encode(
        messages.OffsetCommitValue(
            offset=value.offset,
            leader_epoch=value.leader_epoch,
            metadata=value.metadata,
            commit_timestamp=value.commit_ms,
            expire_timestamp=value.expire_ms,
            topic_id=value.topic_id,
        ),
        version,
    )


def _decode_commit(value: bytes) -> CommittedOffset:
    version = _known(_leading_short(value), _COMMIT_VERSION)
    read = codec.decode("OffsetCommitValue", version, value, _SHORT.size)
    return CommittedOffset(
        read.offset,
        read.leader_epoch,
        read.metadata,
        read.commit_timestamp,
        read.expire_timestamp,
        read.topic_id,
    )


def _leading_short(data: bytes) -> int:
    if len(data) < _SHORT.size:
        raise RemoteProtocolError(f"a record of the offsets topic begins with a number, not with {data!r}")
    (number,) = _SHORT.unpack_from(data)
    return int(number)


def _known(version: int, newest: int) -> int:
    if not 0 <= version <= newest:
        raise RemoteProtocolError(f"version {version} of a record is not known, only 0 to {newest}")
    return version
