"""Node endpoints: where the brokers named in a Produce or Fetch response can be reached (KIP-951).

They are tagged field 0 of the response: [node id int32 | host | port int32 | rack or null].
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from riverlog.protocol.text import compact_text_field
from riverlog.protocol.varint import UVARINT

NodeEndpoint = tuple[int, str, int, str | None]
"""A broker's id, host, port and rack."""

_pack_int32 = struct.Struct(">i").pack


def node_endpoints_tags(endpoints: Sequence[NodeEndpoint]) -> bytes:
    """Write a response's tagged fields: the endpoints, or none at all where there are none."""
    if not endpoints:
        return b"\0"
    parts = [UVARINT[len(endpoints) + 1]]
    for node_id, host, port, rack in endpoints:
        parts += (
            _pack_int32(node_id),
            compact_text_field(host),
            _pack_int32(port),
            compact_text_field(rack),
            b"\0",
        )
    content = b"".join(parts)
    return b"\x01\0" + UVARINT[len(content)] + content
