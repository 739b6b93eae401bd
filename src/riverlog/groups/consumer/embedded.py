"""What consumers of the classic protocol put into its bytes: subscriptions and assignments.

    subscription  int16 version | topics | user data | from 1: owned partitions | 2: generation | 3: rack
    assignment    int16 version | partitions by topic | user data

The classic protocol carries them from member to leader and back without a look. Here the broker is the
leader: it reads the one and writes the other. A version that is newer than any known is read as the newest.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from riverlog.errors import RemoteProtocolError
from riverlog.protocol import codec, messages

NEWEST_VERSION = 3

_VERSION = struct.Struct(">h")


class ReadSubscription(NamedTuple):
    """A member's subscription."""

    topics: frozenset[str]
    owned: Mapping[str, frozenset[int]]
    """Partitions that it goes on working on while it joins; the older versions give up all before."""
    rack_id: str | None


def read_subscription(data: bytes) -> ReadSubscription:
    """Read a subscription. Raises RemoteProtocolError if it is none."""
    read = codec.decode("ConsumerProtocolSubscription", version_of(data), data, _VERSION.size)
    return ReadSubscription(
        frozenset(read.topics),
        {each.topic: frozenset(each.partitions) for each in read.owned_partitions},
        read.rack_id or None,
    )


def read_assignment(data: bytes) -> tuple[Mapping[str, frozenset[int]], bytes]:
    """Read an assignment and its user data. Raises RemoteProtocolError if it is none."""
    if not data:
        return {}, b""
    read = codec.decode("ConsumerProtocolAssignment", version_of(data), data, _VERSION.size)
    assigned = {each.topic: frozenset(each.partitions) for each in read.assigned_partitions}
    return assigned, read.user_data or b""


def write_assignment(version: int, assigned: Mapping[str, Iterable[int]]) -> bytes:
    """Write an assignment."""
    message = messages.ConsumerProtocolAssignment(
        assigned_partitions=[
            messages.ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=sorted(partitions))
            for topic, partitions in assigned.items()
        ]
    )
    return _VERSION.pack(version) + codec.encode(message, version)


def version_of(data: bytes) -> int:
    """Give the version to read by. Raises RemoteProtocolError if there is none."""
    if len(data) < _VERSION.size:
        raise RemoteProtocolError(f"a subscription begins with its version, not with {data!r}")
    version = int(_VERSION.unpack_from(data)[0])
    if version < 0:
        raise RemoteProtocolError(f"version {version} of a subscription cannot be")
    return min(version, NEWEST_VERSION)
