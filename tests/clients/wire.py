"""A look at stored batches that no client library grants: a bare Fetch v4 and the fields of a batch's header.

int64 base offset | int32 length | int32 leader epoch | int8 magic | uint32 crc | int16 attributes |
int32 last offset delta | int64 first timestamp | int64 max timestamp | int64 producer id |
int16 producer epoch | int32 base sequence | int32 record count
"""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

import crc32c

from .drivers import CODECS, DEADLINE_S
from .faults import read_frame

HEADER = struct.Struct(">qiibIhiqqqhii")
BYTES_BEFORE_LENGTH_COUNTS = 12
CRC_COVERS_FROM = 21


class StoredBatch(NamedTuple):
    """What a test may claim about one batch as the broker keeps it."""

    base_offset: int
    last_offset: int
    codec: str
    is_log_append_time: bool
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    length: int


def stored_batches(bootstrap: str, topic: str, partition: int = 0, start: int = 0) -> list[StoredBatch]:
    """Fetch and cut up whatever one Fetch request brings, checking each batch's CRC."""
    host, _, port = bootstrap.rpartition(":")
    name = topic.encode()
    request = (
        struct.pack(">hhih", 1, 4, 1, -1)
        + struct.pack(">iiiib", -1, 100, 1, 1 << 26, 0)
        + struct.pack(">ih", 1, len(name))
        + name
        + struct.pack(">iiqi", 1, partition, start, 1 << 26)
    )
    with socket.create_connection((host, int(port)), DEADLINE_S) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = read_frame(connection)
    # correlation id, throttle time, one topic, its name, one partition, its index
    position = 4 + 4 + 4 + 2 + len(name) + 4 + 4
    error, _, _, aborted = struct.unpack_from(">hqqi", answer, position)
    assert error == 0, f"Fetch v4 of {topic}-{partition} from {start}: error {error}"
    assert aborted <= 0, f"{aborted} aborted transactions in a topic that had none"
    (size,) = struct.unpack_from(">i", answer, position + 22)
    return cut(answer[position + 26 : position + 26 + size])


def cut(records: bytes) -> list[StoredBatch]:
    batches = []
    position = 0
    while position + HEADER.size <= len(records):
        (base, length, _, magic, crc, attributes, delta, _, _, producer, epoch, sequence, count) = (
            HEADER.unpack_from(records, position)
        )
        end = position + BYTES_BEFORE_LENGTH_COUNTS + length
        if end > len(records):
            break
        assert magic == 2, f"batch at offset {base} has format {magic}"
        assert crc == crc32c.crc32c(records[position + CRC_COVERS_FROM : end]), (
            f"batch at offset {base}: bad CRC"
        )
        batches.append(
            StoredBatch(
                base_offset=base,
                last_offset=base + delta,
                codec=CODECS[attributes & 0b111],
                is_log_append_time=bool(attributes & 0b1000),
                producer_id=producer,
                producer_epoch=epoch,
                base_sequence=sequence,
                record_count=count,
                length=length + BYTES_BEFORE_LENGTH_COUNTS,
            )
        )
        position = end
    return batches
