"""Kafka protocol bytes, written by hand: an independent client's view of the wire.

Only what the loads need, each request at one version. The two hot requests are written at the newest versions
that still name topics by name (Produce 12, Fetch 12), the rest at old versions without compact encodings.

    request   int32 size | int16 api key | int16 version | int32 correlation id | client id | (tags) | body
    response  int32 size | int32 correlation id | (tags) | body

record batch v2, 61 bytes of header: int64 base offset | int32 length | int32 leader epoch | int8 magic |
uint32 crc | int16 attributes | int32 last offset delta | int64 base timestamp | int64 max timestamp | int64
producer id | int16 producer epoch | int32 base sequence | int32 record count | records crc32c runs from
attributes to the end; length counts from leader epoch to the end.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crc32c import crc32c

from bench.errors import Malformed, Refused

CLIENT_ID = b"bench"

PRODUCE, FETCH, LIST_OFFSETS, METADATA = 0, 1, 2, 3
API_VERSIONS, CREATE_TOPICS, DELETE_TOPICS, INCREMENTAL_ALTER_CONFIGS = 18, 19, 20, 44

TOPIC_RESOURCE = 2
SET_CONFIG = 0
READ_UNCOMMITTED, READ_COMMITTED = 0, 1

BATCH_HEADER = struct.Struct(">qiibIhiqqqhii")
CRC_START = 21
LAST_OFFSET_DELTA = 23
RECORD_COUNT = 57

TRANSACTIONAL = 0x10

NO_ERROR = 0

Bytes = bytes | bytearray | memoryview
"""A frame to read from, without its size."""


class ProducerState(NamedTuple):
    """What a batch says about an idempotent producer."""

    producer_id: int
    epoch: int
    sequence: int


NO_PRODUCER = ProducerState(-1, -1, -1)


def unsigned_varint(value: int) -> bytes:
    """Encode seven bits per byte, low ones first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def varint(value: int) -> bytes:
    """Encode a signed number, zigzag: small magnitudes take one byte."""
    return unsigned_varint(value << 1 if value >= 0 else (-value << 1) - 1)


def string(text: str) -> bytes:
    """Encode a string with an int16 length."""
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded


def nullable_string(text: str | None) -> bytes:
    """Encode a string with an int16 length, which is -1 for null."""
    return b"\xff\xff" if text is None else string(text)


def data(content: bytes) -> bytes:
    """Encode bytes with an int32 length."""
    return struct.pack(">i", len(content)) + content


def compact_string(text: str) -> bytes:
    """Encode a string with its length plus one as an unsigned varint."""
    encoded = text.encode()
    return unsigned_varint(len(encoded) + 1) + encoded


def request(
    api_key: int, version: int, body: bytes, *, is_flexible: bool = False, correlation_id: int = 7
) -> bytes:
    """Frame a request. The correlation id may be any number: on one connection, responses come in order."""
    header = struct.pack(">hhih", api_key, version, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    if is_flexible:
        header += b"\0"
    return struct.pack(">i", len(header) + len(body)) + header + body


def metadata_request(topics: list[str] | None, *, may_create: bool = False) -> bytes:
    """Ask for brokers and topics (Metadata 4); None asks for all topics."""
    names = struct.pack(">i", -1 if topics is None else len(topics)) + b"".join(map(string, topics or []))
    return request(METADATA, 4, names + struct.pack(">?", may_create))


def api_versions_request() -> bytes:
    """Ask which requests are served (ApiVersions 0)."""
    return request(API_VERSIONS, 0, b"")


def create_topics_request(
    topics: dict[str, int], configs: Mapping[str, str] | None = None, timeout_ms: int = 60_000
) -> bytes:
    """Create topics with so many partitions each, all with the same configuration (CreateTopics 4)."""
    configs = configs or {}
    overrides = struct.pack(">i", len(configs))
    overrides += b"".join(string(name) + string(value) for name, value in configs.items())
    body = struct.pack(">i", len(topics))
    for name, partitions in topics.items():
        body += string(name) + struct.pack(">ihi", partitions, 1, 0) + overrides
    return request(CREATE_TOPICS, 4, body + struct.pack(">i?", timeout_ms, False))


def alter_topic_request(topic: str, configs: Mapping[str, str]) -> bytes:
    """Set configurations of a topic (IncrementalAlterConfigs 0)."""
    body = struct.pack(">ib", 1, TOPIC_RESOURCE) + string(topic) + struct.pack(">i", len(configs))
    for name, value in configs.items():
        body += string(name) + struct.pack(">b", SET_CONFIG) + string(value)
    return request(INCREMENTAL_ALTER_CONFIGS, 0, body + b"\0")


def delete_topic_request(topic: str, timeout_ms: int = 60_000) -> bytes:
    """Delete a topic (DeleteTopics 3)."""
    return request(DELETE_TOPICS, 3, struct.pack(">i", 1) + string(topic) + struct.pack(">i", timeout_ms))


def end_offsets_request(topic: str, partitions: int, isolation: int = READ_UNCOMMITTED) -> bytes:
    """Ask for the end offsets of a topic's first partitions (ListOffsets 2).

    With READ_COMMITTED these are the last stable offsets.
    """
    body = struct.pack(">ibi", -1, isolation, 1) + string(topic) + struct.pack(">i", partitions)
    for index in range(partitions):
        body += struct.pack(">iq", index, -1)
    return request(LIST_OFFSETS, 2, body)


def produce_request(topic: str, partition: int, batch: bytes, acks: int, timeout_ms: int = 60_000) -> bytes:
    """Append one batch to one partition (Produce 12)."""
    body = (
        b"\0"  # no transactional id
        + struct.pack(">hi", acks, timeout_ms)
        + b"\2"  # one topic
        + compact_string(topic)
        + b"\2"  # one partition
        + struct.pack(">i", partition)
        + unsigned_varint(len(batch) + 1)
        + batch
        + b"\0\0\0"
    )
    return request(PRODUCE, 12, body, is_flexible=True)


def fetch_request(topic: str, partition: int, offset: int, bytes_max: int, wait_ms: int = 500) -> bytes:
    """Read one partition from an offset, outside of any fetch session (Fetch 12)."""
    body = (
        struct.pack(">iiiibii", -1, wait_ms, 1, bytes_max, 0, 0, -1)
        + b"\2"
        + compact_string(topic)
        + b"\2"
        + struct.pack(">iiqiqi", partition, -1, offset, -1, -1, bytes_max)
        + b"\0\0"
        + b"\1"  # nothing to forget
        + b"\1"  # no rack
        + b"\0"
    )
    return request(FETCH, 12, body, is_flexible=True)


def record(offset_delta: int, value: bytes, key: bytes | None = None) -> bytes:
    """Encode a record without headers, at its batch's timestamp."""
    key_field = varint(-1) if key is None else varint(len(key)) + key
    body = b"\0" + varint(0) + varint(offset_delta) + key_field + varint(len(value)) + value + varint(0)
    return varint(len(body)) + body


def batch_of(values: list[bytes], timestamp_ms: int) -> bytes:
    """Build an uncompressed record batch as a producer without idempotence would."""
    return batch_of_records([record(delta, value) for delta, value in enumerate(values)], timestamp_ms)


def batch_of_records(
    encoded: Sequence[bytes], timestamp_ms: int, producer: ProducerState | None = None
) -> bytes:
    """Build an uncompressed record batch of records whose offset deltas run from 0; with a producer's state
    it is part of that producer's transaction."""
    records = b"".join(encoded)
    producer_id, epoch, sequence = producer or NO_PRODUCER
    header = bytearray(
        BATCH_HEADER.pack(
            0,
            BATCH_HEADER.size - 12 + len(records),
            -1,
            2,
            0,
            0 if producer is None else TRANSACTIONAL,
            len(encoded) - 1,
            timestamp_ms,
            timestamp_ms,
            producer_id,
            epoch,
            sequence,
            len(encoded),
        )
    )
    struct.pack_into(">I", header, CRC_START - 4, crc32c(bytes(header[CRC_START:]) + records))
    return bytes(header) + records


class Batch(NamedTuple):
    """A record batch and how many records it holds."""

    data: bytes
    record_count: int


def batch_up_to(bytes_max: int, value_size: int, timestamp_ms: int) -> Batch:
    """Build the largest batch of equal records that fits."""
    value = bytes(index & 0xFF for index in range(value_size))
    size, count = BATCH_HEADER.size, 0
    while (size := size + len(record(count, value))) <= bytes_max:
        count += 1
    assert count > 0, "not one record fits"
    return Batch(batch_of([value] * count, timestamp_ms), count)


class Reader:
    """Read a response's fields in order."""

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self.position = 0

    def unpack(self, layout: str) -> tuple[int, ...]:
        """Read fixed-size fields, big-endian."""
        try:
            fields = struct.unpack_from(">" + layout, self._data, self.position)
        except struct.error as error:
            raise Malformed(str(error)) from None
        self.position += struct.calcsize(">" + layout)
        return fields

    def number(self, layout: str) -> int:
        """Read one fixed-size number."""
        return self.unpack(layout)[0]

    def skip(self, count: int) -> None:
        """Pass over bytes."""
        self.position += count

    def text(self) -> str:
        """Read a string with an int16 length; null reads as empty."""
        return self.raw(max(0, self.number("h"))).decode()

    def raw(self, size: int) -> bytes:
        """Read so many bytes."""
        self.position += size
        return bytes(self._data[self.position - size : self.position])

    def data(self) -> bytes:
        """Read bytes with an int32 length; null reads as empty."""
        return self.raw(max(0, self.number("i")))

    def unsigned_varint(self) -> int:
        """Read an unsigned varint."""
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def skip_tags(self) -> None:
        """Pass over tagged fields."""
        for _ in range(self.unsigned_varint()):
            self.unsigned_varint()
            self.skip(self.unsigned_varint())

    def compact_skip(self) -> int:
        """Pass over a compact string or bytes; return its length, -1 for null."""
        size = self.unsigned_varint() - 1
        self.position += max(0, size)
        return size


class Metadata(NamedTuple):
    """What a Metadata response says; of a topic, its error code and how many partitions have a leader."""

    broker_count: int
    topics: dict[str, tuple[int, int]]


def read_metadata(frame: Bytes) -> Metadata:
    """Read a Metadata 4 response."""
    reader = Reader(frame)
    reader.unpack("ii")  # correlation id, throttle time
    broker_count = reader.number("i")
    for _ in range(broker_count):
        reader.number("i")
        reader.text()
        reader.number("i")
        reader.text()
    reader.text()
    reader.number("i")
    topics = {}
    for _ in range(reader.number("i")):
        error = reader.number("h")
        name = reader.text()
        reader.number("?")
        led = 0
        for _ in range(reader.number("i")):
            _, _, leader = reader.unpack("hii")
            reader.skip(4 * reader.number("i"))
            reader.skip(4 * reader.number("i"))
            led += leader >= 0
        topics[name] = (error, led)
    return Metadata(broker_count, topics)


def read_api_versions(frame: Bytes) -> dict[int, tuple[int, int]]:
    """Read an ApiVersions 0 response: the lowest and the highest version of each request served."""
    reader = Reader(frame)
    reader.number("i")
    error = reader.number("h")
    if error != NO_ERROR:
        raise Refused(f"ApiVersions answered error {error}")
    served = {}
    for _ in range(reader.number("i")):
        api_key, lowest, highest = reader.unpack("hhh")
        served[api_key] = (lowest, highest)
    return served


def read_config_errors(frame: Bytes) -> dict[str, int]:
    """Read the error codes of an IncrementalAlterConfigs 0 response, by the resource's name."""
    reader = Reader(frame)
    reader.unpack("ii")
    errors = {}
    for _ in range(reader.number("i")):
        error = reader.number("h")
        reader.text()
        reader.number("b")
        errors[reader.text()] = error
    return errors


def read_topic_errors(frame: Bytes, *, has_message: bool) -> dict[str, int]:
    """Read the error codes of a CreateTopics 4 (with messages) or DeleteTopics 3 response."""
    reader = Reader(frame)
    reader.unpack("ii")
    errors = {}
    for _ in range(reader.number("i")):
        name = reader.text()
        errors[name] = reader.number("h")
        if has_message:
            reader.text()
    return errors


def read_end_offsets(frame: Bytes) -> list[int]:
    """Read a ListOffsets 2 response for one topic."""
    reader = Reader(frame)
    reader.unpack("iii")
    reader.text()
    offsets = []
    for _ in range(reader.number("i")):
        _, error, _, offset = reader.unpack("ihqq")
        if error != NO_ERROR:
            raise Refused(f"ListOffsets answered error {error}")
        offsets.append(offset)
    return offsets


class Produced(NamedTuple):
    """A Produce 12 response for one partition, and where its error code stands in the frame."""

    error_code: int
    base_offset: int
    error_position: int


def read_produced(frame: Bytes) -> Produced:
    """Read a Produce 12 response."""
    reader = Reader(frame)
    reader.unpack("iB")  # correlation id, tags
    reader.unsigned_varint()
    reader.compact_skip()
    reader.unsigned_varint()
    reader.number("i")
    position = reader.position
    error, base_offset = reader.unpack("hq")
    return Produced(error, base_offset, position)


class Fetched(NamedTuple):
    """A Fetch 12 response for one partition; `records_start` is -1 where it holds none."""

    error_code: int
    high_watermark: int
    records_start: int
    records_size: int


def read_fetched(frame: Bytes) -> Fetched:
    """Read a Fetch 12 response, its records left in place."""
    reader = Reader(frame)
    reader.unpack("iB")
    _, error, _ = reader.unpack("ihi")
    if error != NO_ERROR or reader.unsigned_varint() < 2:
        return Fetched(error, -1, -1, 0)
    reader.compact_skip()
    reader.unsigned_varint()
    _, error, high_watermark, _, _ = reader.unpack("ihqqq")
    for _ in range(max(0, reader.unsigned_varint() - 1)):
        reader.unpack("qqB")
    reader.number("i")
    records_size = max(0, reader.unsigned_varint() - 1)
    return Fetched(error, high_watermark, reader.position, records_size)
