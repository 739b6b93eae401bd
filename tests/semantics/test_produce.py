"""Rows 9, 10 and 16-27: what is appended, what is refused, and what the broker makes of a batch."""

from __future__ import annotations

import random
import struct
import time
import zlib
from collections.abc import Callable

import pytest

from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.records import Record, build_batch
from tests.batch_builders import BATCH_TIME_MS, batch, records, with_header
from tests.process.raw_client import ALL, RawClient

from .asking import (
    PRODUCE_VERSIONS,
    SET,
    Topic,
    alter,
    append,
    batches_of,
    fetch,
    list_offset,
    log_end,
    produce,
    stored,
)

NewTopic = Callable[..., Topic]

LEADER = 1
"""acks=1."""
HOUR_MS = 3_600_000
CODECS = [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD]
VERSIONS_WITH_RECORD_ERRORS = [version for version in PRODUCE_VERSIONS if version >= 8]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def noise(size: int) -> bytes:
    """Bytes that no codec makes smaller, the same each time."""
    return random.Random(size).randbytes(size)


def one_record(value: bytes, *, timestamp: int = BATCH_TIME_MS, key: bytes | None = b"key") -> list[Record]:
    return [Record(0, timestamp, key, value)]


def message_of_format(magic: int) -> bytes:
    """One message as producers wrote it before record batches."""
    timestamp = struct.pack(">q", BATCH_TIME_MS) if magic == 1 else b""
    checked = bytes([magic, 0]) + timestamp + struct.pack(">i", -1) + struct.pack(">i", 5) + b"value"
    message = struct.pack(">I", zlib.crc32(checked)) + checked
    return struct.pack(">qi", 0, len(message)) + message


# Acknowledgements


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
@pytest.mark.parametrize("acks", [-2, 2, 3, 32767])
def test_acks_outside_the_three_known_values_are_refused(
    client: RawClient, topic: Topic, acks: int, version: int
) -> None:
    """Row 9."""
    reply = produce(client, topic, batch(1), acks=acks, version=version)

    assert reply.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert log_end(client, topic) == 0


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
@pytest.mark.parametrize("acks", [LEADER, ALL])
def test_the_reply_to_an_append_tells_its_place(
    client: RawClient, topic: Topic, acks: int, version: int
) -> None:
    """Row 9."""
    append(client, topic, batch(3))

    reply = produce(client, topic, batch(2), acks=acks, version=version)

    assert (reply.error_code, reply.base_offset, reply.log_append_time_ms) == (ErrorCode.NONE, 3, -1)
    assert (reply.log_start_offset, reply.record_errors, reply.error_message) == (
        0 if version >= 5 else -1,
        [],
        None,
    )
    assert log_end(client, topic) == 5


def test_a_minimum_of_replicas_above_their_number_counts_as_their_number(
    client: RawClient, new_topic: NewTopic
) -> None:
    """Row 10: what holds for one broker."""
    topic = new_topic(min_insync_replicas="2")

    reply = produce(client, topic, batch(1), acks=ALL)

    assert reply.error_code == ErrorCode.NONE
    assert log_end(client, topic) == 1


# Batches


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
@pytest.mark.parametrize(
    "changes",
    [
        {"base_offset": 1},
        {"record_count": 0},
        {"record_count": -1},
        {"record_count": 2},
        {"record_count": 4},
        {"last_offset_delta": 1},
        {"last_offset_delta": 3},
        {"last_offset_delta": -1},
    ],
    ids=str,
)
def test_a_batch_whose_numbers_contradict_each_other_is_refused(
    client: RawClient, topic: Topic, version: int, changes: dict[str, int]
) -> None:
    """Row 16."""
    contradictory = with_header(batch(3), **changes)

    reply = produce(client, topic, contradictory, version=version)

    assert (reply.error_code, reply.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    assert log_end(client, topic) == 0


@pytest.mark.parametrize("codec", list(Compression))
def test_a_refused_batch_does_not_touch_its_neighbour_partition(
    client: RawClient, new_topic: NewTopic, codec: Compression
) -> None:
    """Row 16."""
    topic = new_topic(partitions=2)
    good = bytes(batch(3, compression=codec))
    client.send_batches([(topic.name, 0, with_header(good, record_count=2)), (topic.name, 1, good)])

    replies = client.receive_produced()

    assert replies[topic.name, 0].error_code == ErrorCode.INVALID_RECORD
    assert replies[topic.name, 1].error_code == ErrorCode.NONE
    assert (log_end(client, topic), log_end(client, topic, partition=1)) == (0, 3)


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("version", [9, 13])
def test_a_bad_crc_is_told_and_nothing_appended(
    client: RawClient, topic: Topic, codec: Compression, version: int
) -> None:
    """Row 17."""
    damaged = with_header(batch(3, compression=codec), crc=0xBAD)

    reply = produce(client, topic, damaged, version=version)

    assert (reply.error_code, reply.base_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert log_end(client, topic) == 0


def test_a_flipped_bit_in_a_record_is_found(client: RawClient, topic: Topic) -> None:
    """Row 17."""
    damaged = batch(3)
    damaged[-3] ^= 0x10

    reply = produce(client, topic, damaged)

    assert reply.error_code == ErrorCode.CORRUPT_MESSAGE
    assert stored(client, topic) == []


def test_a_client_s_control_batch_is_refused(client: RawClient, topic: Topic) -> None:
    """Row 18."""
    control = batch(1, is_control=True)

    reply = produce(client, topic, control)

    assert reply.error_code == ErrorCode.INVALID_RECORD
    assert log_end(client, topic) == 0


# Null keys


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
@pytest.mark.parametrize("version", VERSIONS_WITH_RECORD_ERRORS)
def test_null_keys_on_a_compacted_topic_are_named_and_the_batch_not_stored(
    client: RawClient, new_topic: NewTopic, policy: str, version: int
) -> None:
    """Row 19."""
    topic = new_topic(cleanup_policy=policy)
    some_null = [Record(0, BATCH_TIME_MS, key, b"value") for key in (b"a", None, b"b", None)]

    reply = produce(client, topic, build_batch(some_null), version=version)

    assert reply.error_code == ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in reply.record_errors] == [1, 3]
    assert all(each.batch_index_error_message for each in reply.record_errors)
    assert reply.error_message
    assert log_end(client, topic) == 0


@pytest.mark.parametrize("codec", CODECS)
def test_null_keys_are_found_in_compressed_batches(
    client: RawClient, new_topic: NewTopic, codec: Compression
) -> None:
    """Row 19."""
    topic = new_topic(cleanup_policy="compact")
    null_first = one_record(b"value", key=None) + one_record(b"value")

    reply = produce(client, topic, build_batch(null_first, compression=codec))

    assert reply.error_code == ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in reply.record_errors] == [0]
    assert log_end(client, topic) == 0


def test_an_empty_key_is_a_key(client: RawClient, new_topic: NewTopic) -> None:
    """Row 19."""
    topic = new_topic(cleanup_policy="compact")

    reply = produce(client, topic, build_batch(one_record(b"value", key=b"")))

    assert reply.error_code == ErrorCode.NONE


# Sizes and codecs


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_that_is_small_once_compressed_passes(
    client: RawClient, new_topic: NewTopic, codec: Compression
) -> None:
    """Row 20."""
    topic = new_topic(max_message_bytes="2000")
    compressible = build_batch(one_record(bytes(20_000)), compression=codec)

    reply = produce(client, topic, compressible)

    assert reply.error_code == ErrorCode.NONE
    assert stored(client, topic)[0].records[0].value == bytes(20_000)


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("version", [9, 13])
def test_a_batch_above_the_limit_is_refused(
    client: RawClient, new_topic: NewTopic, codec: Compression, version: int
) -> None:
    """Row 20."""
    topic = new_topic(max_message_bytes="2000")

    reply = produce(client, topic, build_batch(one_record(noise(2001)), compression=codec), version=version)

    assert (reply.error_code, reply.base_offset) == (ErrorCode.MESSAGE_TOO_LARGE, -1)
    assert log_end(client, topic) == 0


def test_the_limit_counts_every_byte_of_the_batch(client: RawClient, new_topic: NewTopic) -> None:
    """Row 20."""
    exact = build_batch(one_record(noise(1000)))
    just_enough = new_topic(max_message_bytes=str(len(exact)))
    one_less = new_topic(max_message_bytes=str(len(exact) - 1))

    passes = produce(client, just_enough, exact)
    fails = produce(client, one_less, exact)

    assert (passes.error_code, fails.error_code) == (ErrorCode.NONE, ErrorCode.MESSAGE_TOO_LARGE)


def test_a_batch_that_grows_above_the_limit_by_recompression_is_refused(
    client: RawClient, new_topic: NewTopic
) -> None:
    """Row 21."""
    topic = new_topic(max_message_bytes="2000", compression_type="uncompressed")

    reply = produce(client, topic, build_batch(one_record(bytes(20_000)), compression=Compression.ZSTD))

    assert reply.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert log_end(client, topic) == 0


def test_a_batch_above_the_limit_is_refused_even_if_the_topic_s_codec_makes_it_small(
    client: RawClient, new_topic: NewTopic
) -> None:
    """Row 21: it is judged as it comes, and as it would be stored."""
    topic = new_topic(max_message_bytes="2000", compression_type="zstd")

    reply = produce(client, topic, build_batch(one_record(bytes(20_000))))

    assert reply.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert log_end(client, topic) == 0


@pytest.mark.parametrize("sent", [Compression.NONE, Compression.GZIP, Compression.ZSTD])
@pytest.mark.parametrize(
    ("setting", "kept"),
    [
        ("uncompressed", Compression.NONE),
        ("gzip", Compression.GZIP),
        ("snappy", Compression.SNAPPY),
        ("lz4", Compression.LZ4),
        ("zstd", Compression.ZSTD),
    ],
)
def test_a_topic_s_own_codec_is_what_its_batches_have(
    client: RawClient, new_topic: NewTopic, setting: str, kept: Compression, sent: Compression
) -> None:
    """Row 22."""
    topic = new_topic(compression_type=setting)
    original = records(20)

    append(client, topic, build_batch(original, compression=sent))
    (only,) = stored(client, topic)

    assert only.header.compression == kept
    assert [each._replace(offset=0) for each in only.records] == [
        each._replace(offset=0) for each in original
    ]
    assert [each.offset for each in only.records] == list(range(20))


@pytest.mark.parametrize("sent", list(Compression))
def test_the_producer_s_codec_is_kept_byte_for_byte(
    client: RawClient, topic: Topic, sent: Compression
) -> None:
    """Row 22."""
    original = batch(5, compression=sent)

    append(client, topic, original)
    reply = fetch(client, topic)

    assert reply.records[16:] == original[16:]


def test_a_topic_s_codec_can_be_changed_for_what_comes(client: RawClient, topic: Topic) -> None:
    """Row 22."""
    append(client, topic, batch(5, compression=Compression.GZIP))
    assert alter(client, topic, (SET, "compression.type", "lz4")).error_code == ErrorCode.NONE

    append(client, topic, batch(5, compression=Compression.GZIP))

    assert [each.header.compression for each in stored(client, topic)] == [Compression.GZIP, Compression.LZ4]


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_zstd_is_refused_by_produce_below_version_7(client: RawClient, topic: Topic, version: int) -> None:
    """Row 23."""
    reply = produce(client, topic, batch(3, compression=Compression.ZSTD), version=version)

    assert reply.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert log_end(client, topic) == 0


@pytest.mark.parametrize("version", [7, 8, 13])
def test_zstd_is_taken_by_produce_from_version_7_on(client: RawClient, topic: Topic, version: int) -> None:
    """Row 23."""
    reply = produce(client, topic, batch(3, compression=Compression.ZSTD), version=version)

    assert reply.error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [4, 9, 10, 18])
@pytest.mark.parametrize("setting", ["producer", "zstd"])
def test_zstd_is_served_by_fetch_in_every_version(
    client: RawClient, new_topic: NewTopic, version: int, setting: str
) -> None:
    """Row 23: differs from older brokers, which answer versions below 10 with an error."""
    topic = new_topic(compression_type=setting)
    append(client, topic, batch(3, compression=Compression.ZSTD))

    reply = fetch(client, topic, version=version)

    assert reply.error_code == ErrorCode.NONE
    assert [each.header.compression for each in batches_of(reply.records)] == [Compression.ZSTD]


# Timestamps


@pytest.mark.parametrize("codec", list(Compression))
def test_a_missing_max_timestamp_is_repaired(client: RawClient, topic: Topic, codec: Compression) -> None:
    """Row 24."""
    omitted = with_header(batch(3, compression=codec), max_timestamp=-1)

    append(client, topic, omitted)
    (only,) = stored(client, topic)

    assert only.header.max_timestamp == BATCH_TIME_MS + 2
    assert not only.header.uses_log_append_time


def test_a_repaired_max_timestamp_is_found_by_time(client: RawClient, topic: Topic) -> None:
    """Row 24."""
    append(client, topic, with_header(batch(3), max_timestamp=-1))

    by_time = list_offset(client, topic, BATCH_TIME_MS + 1)
    latest = list_offset(client, topic, -3)

    assert (by_time.offset, by_time.timestamp) == (1, BATCH_TIME_MS + 1)
    assert (latest.offset, latest.timestamp) == (2, BATCH_TIME_MS + 2)


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("version", [3, 9, 13])
def test_log_append_time_is_the_broker_s_in_batch_and_reply(
    client: RawClient, new_topic: NewTopic, codec: Compression, version: int
) -> None:
    """Row 25."""
    topic = new_topic(message_timestamp_type="LogAppendTime")
    if codec == Compression.ZSTD:
        version = max(version, 7)
    before = now_ms()

    reply = produce(client, topic, batch(3, compression=codec), version=version)
    # Its CRC is checked by `stored`.
    (only,) = stored(client, topic)

    assert before <= reply.log_append_time_ms <= now_ms()
    assert only.header.uses_log_append_time
    assert only.header.max_timestamp == reply.log_append_time_ms
    assert [each.timestamp for each in only.records] == [reply.log_append_time_ms] * 3


def test_log_append_time_is_what_time_look_ups_go_by(client: RawClient, new_topic: NewTopic) -> None:
    """Row 25."""
    topic = new_topic(message_timestamp_type="LogAppendTime")
    stamped = produce(client, topic, batch(3)).log_append_time_ms

    found = list_offset(client, topic, BATCH_TIME_MS)
    beyond = list_offset(client, topic, stamped + 1)

    assert (found.offset, found.timestamp) == (0, stamped)
    assert (beyond.offset, beyond.timestamp) == (-1, -1)


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_a_timestamp_too_far_ahead_is_refused(
    client: RawClient, new_topic: NewTopic, codec: Compression
) -> None:
    """Row 26."""
    topic = new_topic(message_timestamp_after_max_ms=str(HOUR_MS))
    mixed = [*one_record(b"value"), *one_record(b"value", timestamp=now_ms() + 2 * HOUR_MS)]

    reply = produce(client, topic, build_batch(mixed, compression=codec))

    assert reply.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [each.batch_index for each in reply.record_errors] == [1]
    assert log_end(client, topic) == 0


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_a_timestamp_too_far_back_is_refused(
    client: RawClient, new_topic: NewTopic, codec: Compression
) -> None:
    """Row 26."""
    topic = new_topic(message_timestamp_before_max_ms=str(HOUR_MS))
    mixed = [
        *one_record(b"value", timestamp=now_ms() - 2 * HOUR_MS),
        *one_record(b"value", timestamp=now_ms()),
    ]

    reply = produce(client, topic, build_batch(mixed, compression=codec))

    assert reply.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [each.batch_index for each in reply.record_errors] == [0]
    assert log_end(client, topic) == 0


def test_timestamps_within_the_limits_pass(client: RawClient, new_topic: NewTopic) -> None:
    """Row 26."""
    hour = str(HOUR_MS)
    topic = new_topic(message_timestamp_before_max_ms=hour, message_timestamp_after_max_ms=hour)
    half_an_hour = HOUR_MS // 2

    for timestamp in (now_ms() - half_an_hour, now_ms(), now_ms() + half_an_hour):
        reply = produce(client, topic, build_batch(one_record(b"value", timestamp=timestamp)))
        assert reply.error_code == ErrorCode.NONE

    assert log_end(client, topic) == 3


def test_the_limits_do_not_matter_where_the_broker_sets_the_time(
    client: RawClient, new_topic: NewTopic
) -> None:
    """Row 26."""
    topic = new_topic(message_timestamp_type="LogAppendTime", message_timestamp_before_max_ms="1000")

    reply = produce(client, topic, batch(3))

    assert reply.error_code == ErrorCode.NONE


# Formats


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
@pytest.mark.parametrize("magic", [0, 1])
def test_formats_before_record_batches_are_refused(
    client: RawClient, topic: Topic, version: int, magic: int
) -> None:
    """Row 27."""
    reply = produce(client, topic, message_of_format(magic), version=version)

    assert reply.error_code == ErrorCode.INVALID_RECORD
    assert log_end(client, topic) == 0


@pytest.mark.parametrize("version", [4, 18])
def test_what_is_served_is_in_the_format_of_record_batches(
    client: RawClient, topic: Topic, version: int
) -> None:
    """Row 27."""
    append(client, topic, batch(3), batch(2, compression=Compression.GZIP))

    read = stored(client, topic, version=version)

    assert [each.header.magic for each in read] == [2, 2]


def test_two_batches_for_one_partition_are_refused(client: RawClient, topic: Topic) -> None:
    """Row 27: since format 2 a partition takes one batch a request."""
    reply = produce(client, topic, batch(1) + batch(1))

    assert reply.error_code == ErrorCode.INVALID_RECORD
    assert log_end(client, topic) == 0
