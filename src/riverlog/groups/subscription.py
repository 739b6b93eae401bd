"""Which topics a member of a consumer group reads, as its subscription says.

    int16 version | array of string: the topics | more, which differs by version

The coordinator does not assign partitions, the group's leader does; it only wants to know which topics
are in use, so that it does not forget the offsets committed for them.
"""

from __future__ import annotations

import struct

CONSUMER_PROTOCOL_TYPE = "consumer"

_VERSION_AND_COUNT = struct.Struct(">hi")
_LENGTH = struct.Struct(">h")


def subscribed_topics(subscription: bytes) -> list[str] | None:
    """Read the topics of a subscription of any version; None if it is not one."""
    try:
        _, count = _VERSION_AND_COUNT.unpack_from(subscription)
        # An empty name takes two bytes: a count that cannot be true is not counted up to.
        if not 0 <= count <= len(subscription) // _LENGTH.size:
            return None
        topics = []
        position = _VERSION_AND_COUNT.size
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(subscription, position)
            start = position + _LENGTH.size
            position = start + length
            if length < 0 or position > len(subscription):
                return None
            topics.append(subscription[start:position].decode())
    except (struct.error, UnicodeDecodeError):
        return None
    return topics
