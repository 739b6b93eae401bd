"""Kafka protocol bytes of consumer groups, written by hand like those in `wire`.

The classic requests are written at their last versions without compact encodings.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.errors import Refused
from bench.wire import (
    Bytes,
    Reader,
    compact_string,
    data,
    nullable_string,
    request,
    string,
    unsigned_varint,
)

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, DELETE_GROUPS = 11, 12, 13, 14, 42
CONSUMER_GROUP_HEARTBEAT = 68

COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16
NOT_YET = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR})
"""What a broker answers while the partitions of a coordinator's topic open."""
MEMBER_ID_REQUIRED = 79
FENCED_MEMBER_EPOCH = 110

GROUP_KEY, TRANSACTION_KEY = 0, 1
NO_GENERATION = -1
PROTOCOL_TYPE, PROTOCOL = "consumer", "range"
SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS = 60_000, 120_000
LEAVING_EPOCH = -1


def find_coordinator_request(key: str, key_type: int) -> bytes:
    """Ask who coordinates a group or a transactional id (FindCoordinator 1)."""
    return request(FIND_COORDINATOR, 1, string(key) + struct.pack(">b", key_type))


def subscription(topics: Sequence[str]) -> bytes:
    """Say what a consumer subscribes to, owning nothing (ConsumerProtocolSubscription 1).

    The members say it to their leader, but a broker may read it too, and Kafka cannot do with anything else.
    """
    names = b"".join(map(string, topics))
    return struct.pack(">hi", 1, len(topics)) + names + struct.pack(">ii", -1, 0)


def join_group_request(group: str, member_id: str, metadata: bytes) -> bytes:
    """Join, or join again with the id that the broker gave (JoinGroup 5)."""
    body = (
        string(group)
        + struct.pack(">ii", SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS)
        + string(member_id)
        + nullable_string(None)
        + string(PROTOCOL_TYPE)
        + struct.pack(">i", 1)
        + string(PROTOCOL)
        + data(metadata)
    )
    return request(JOIN_GROUP, 5, body)


class Joined(NamedTuple):
    """A JoinGroup 5 response; only the leader is told the members."""

    error_code: int
    generation: int
    leader: str
    member_id: str
    members: list[str]


def read_joined(frame: Bytes) -> Joined:
    """Read a JoinGroup 5 response."""
    reader = Reader(frame)
    _, _, error, generation = reader.unpack("iihi")
    reader.text()
    leader, member_id = reader.text(), reader.text()
    members = []
    for _ in range(reader.number("i")):
        members.append(reader.text())
        reader.text()
        reader.data()
    return Joined(error, generation, leader, member_id, members)


def sync_group_request(
    group: str, generation: int, member_id: str, assignments: Sequence[tuple[str, bytes]] = ()
) -> bytes:
    """Ask for the assignment; the leader brings everybody's (SyncGroup 3)."""
    body = string(group) + struct.pack(">i", generation) + string(member_id) + nullable_string(None)
    body += struct.pack(">i", len(assignments))
    body += b"".join(string(member) + data(assignment) for member, assignment in assignments)
    return request(SYNC_GROUP, 3, body)


class Synced(NamedTuple):
    """A SyncGroup 3 response."""

    error_code: int
    assignment: bytes


def read_synced(frame: Bytes) -> Synced:
    """Read a SyncGroup 3 response."""
    reader = Reader(frame)
    _, _, error = reader.unpack("iih")
    return Synced(error, reader.data())


def heartbeat_request(group: str, generation: int, member_id: str) -> bytes:
    """Give a sign of life (Heartbeat 3)."""
    body = string(group) + struct.pack(">i", generation) + string(member_id) + nullable_string(None)
    return request(HEARTBEAT, 3, body)


def leave_group_request(group: str, members: Sequence[str]) -> bytes:
    """Take members out of a group (LeaveGroup 3)."""
    body = string(group) + struct.pack(">i", len(members))
    body += b"".join(string(member) + nullable_string(None) for member in members)
    return request(LEAVE_GROUP, 3, body)


def read_error(frame: Bytes) -> int:
    """Read the error code after the throttle time, as in FindCoordinator 1, Heartbeat 3 and LeaveGroup 3."""
    return struct.unpack_from(">h", frame, 8)[0]  # type: ignore[no-any-return]


def delete_groups_request(groups: Sequence[str]) -> bytes:
    """Forget empty groups and what they committed (DeleteGroups 1)."""
    return request(DELETE_GROUPS, 1, struct.pack(">i", len(groups)) + b"".join(map(string, groups)))


def read_group_errors(frame: Bytes) -> dict[str, int]:
    """Read a DeleteGroups 1 response."""
    reader = Reader(frame)
    reader.unpack("ii")
    errors = {}
    for _ in range(reader.number("i")):
        name = reader.text()
        errors[name] = reader.number("h")
    return errors


def offset_commit_request(group: str, topic: str, partition: int, offset: int) -> bytes:
    """Commit one offset from outside of the group's membership (OffsetCommit 7)."""
    body = (
        string(group)
        + struct.pack(">i", NO_GENERATION)
        + string("")
        + nullable_string(None)
        + struct.pack(">i", 1)
        + string(topic)
        + struct.pack(">iiqi", 1, partition, offset, -1)
        + string("")
    )
    return request(OFFSET_COMMIT, 7, body)


class Committed(NamedTuple):
    """An OffsetCommit 7 response for one partition, and where its error code stands in the frame."""

    error_code: int
    error_position: int


def read_committed(frame: Bytes) -> Committed:
    """Read an OffsetCommit 7 response."""
    reader = Reader(frame)
    reader.unpack("iii")
    reader.text()
    reader.unpack("ii")
    position = reader.position
    return Committed(reader.number("h"), position)


def offset_fetch_request(group: str, topic: str, partition: int) -> bytes:
    """Ask for a committed offset (OffsetFetch 5)."""
    body = string(group) + struct.pack(">i", 1) + string(topic) + struct.pack(">ii", 1, partition)
    return request(OFFSET_FETCH, 5, body)


def read_committed_offset(frame: Bytes) -> int:
    """Read an OffsetFetch 5 response for one partition."""
    reader = Reader(frame)
    reader.unpack("iii")
    reader.text()
    _, _, offset, _ = reader.unpack("iiqi")
    reader.text()
    errors = reader.unpack("hh")  # the partition's and the group's
    if any(errors):
        raise Refused(f"OffsetFetch answered errors {errors}")
    return offset


Owned = dict[bytes, list[int]]
"""Partitions by topic id."""


def consumer_group_heartbeat_request(
    group: str,
    member_id: str,
    epoch: int,
    *,
    topics: Sequence[str] | None = None,
    owned: Owned | None = None,
) -> bytes:
    """Take part in a group whose assignments the broker makes (ConsumerGroupHeartbeat 1, KIP-848).

    Epoch 0 joins; what has not changed since the last request is left out as null.
    """
    body = compact_string(group) + compact_string(member_id) + struct.pack(">i", epoch)
    body += b"\0\0"  # neither instance nor rack
    body += struct.pack(">i", REBALANCE_TIMEOUT_MS if epoch == 0 else -1)
    body += b"\0" if topics is None else _compact_array(map(compact_string, topics), len(topics))
    body += b"\0\0"  # no expression, the broker's choice of assignor
    if owned is None:
        body += b"\0"
    else:
        body += _compact_array(
            (
                topic_id
                + _compact_array((struct.pack(">i", index) for index in partitions), len(partitions))
                + b"\0"
                for topic_id, partitions in owned.items()
            ),
            len(owned),
        )
    return request(CONSUMER_GROUP_HEARTBEAT, 1, body + b"\0", is_flexible=True)


def _compact_array(items: Iterable[bytes], count: int) -> bytes:
    return unsigned_varint(count + 1) + b"".join(items)


class Beat(NamedTuple):
    """A ConsumerGroupHeartbeat 1 response; `assigned` is None where the assignment has not changed."""

    error_code: int
    epoch: int
    assigned: Owned | None


def read_beat(frame: Bytes) -> Beat:
    """Read a ConsumerGroupHeartbeat 1 response."""
    reader = Reader(frame)
    _, _, _, error = reader.unpack("iBih")
    reader.compact_skip()
    reader.compact_skip()
    epoch, _, presence = reader.unpack("iib")
    if presence < 0:
        return Beat(error, epoch, None)
    assigned: Owned = {}
    for _ in range(reader.unsigned_varint() - 1):
        topic_id = reader.raw(16)
        assigned[topic_id] = list(reader.unpack("i" * (reader.unsigned_varint() - 1)))
        reader.number("B")
    return Beat(error, epoch, assigned)
