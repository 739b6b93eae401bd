"""Malformed bodies, one for each way of being malformed; `tests/property` has all the others."""

import tracemalloc

import pytest

from riverlog.errors import RemoteProtocolError
from riverlog.protocol import messages, schema
from riverlog.protocol.codec import decode
from riverlog.protocol.message import Message
from riverlog.protocol.reading import ReaderCompiler

COUNT_MAX = b"\x7f\xff\xff\xff"
COMPACT_COUNT_MAX = b"\xff\xff\xff\xff\x07"

# The body of Metadata 13 as librdkafka 2.16 sends it: the message, and three bytes of an older encoding.
ALL_TOPICS_FROM_LIBRDKAFKA = b"\0" + b"\0" + b"\0" + b"\0" + b"\x01\0\0"


@pytest.mark.parametrize(
    ("name", "version", "body", "complaint"),
    [
        ("HeartbeatRequest", 0, b"\xff\xff" + b"\0" * 6, "HeartbeatRequest.group_id is null"),
        ("HeartbeatRequest", 0, b"\xff\xfe" + b"\0" * 6, "HeartbeatRequest.group_id has the length -2"),
        ("HeartbeatRequest", 4, b"\0" + b"\0" * 6, "HeartbeatRequest.group_id is null"),
        ("HeartbeatRequest", 4, b"\x80\x00" + b"\0" * 6, "HeartbeatRequest.group_id is null"),
        ("HeartbeatRequest", 3, b"\0" * 8 + b"\xff\xfe", "group_instance_id has the length -2"),
        ("HeartbeatRequest", 0, b"\0\x02\xc3\x28" + b"\0" * 6, "utf-8"),
        ("HeartbeatRequest", 0, b"\x7f\xffg", "HeartbeatRequest 0 of 3 bytes"),
        ("HeartbeatRequest", 0, b"\0" * 6 + b"\0\x05m", "HeartbeatRequest is cut short: it needs 4"),
        ("SyncGroupRequest", 0, b"\0" * 8 + b"\xff\xff\xff\xfe", "assignments has the length -2"),
        ("MetadataRequest", 1, b"\xff\xff\xff\xfe", "MetadataRequest.topics has the length -2"),
        ("MetadataRequest", 0, b"\xff\xff\xff\xff", "MetadataRequest.topics is null"),
        ("MetadataRequest", 1, COUNT_MAX, "MetadataRequest.topics claims 2147483647 elements where 0 bytes"),
        ("MetadataRequest", 12, COMPACT_COUNT_MAX, "MetadataRequest.topics claims 2147483646 elements"),
        ("MetadataRequest", 12, b"\xff\xff\xff\xff\xff\x07", "varint longer than five bytes"),
        ("MetadataRequest", 12, b"\x00\0\0" + COMPACT_COUNT_MAX, "tagged fields"),
        ("MetadataRequest", 12, b"\x00\0\0" + b"\x01\x07\x05abc", "tagged field 7 is cut short"),
    ],
)  # fmt: skip
def test_a_malformed_body_is_refused_with_what_is_wrong_about_it(
    name: str, version: int, body: bytes, complaint: str
) -> None:
    with pytest.raises(RemoteProtocolError, match=complaint):
        decode(name, version, body)


@pytest.mark.parametrize("name", ["MetadataRequest", "DeleteTopicsRequest", "DescribeGroupsRequest"])
@pytest.mark.parametrize("count", [COUNT_MAX, COMPACT_COUNT_MAX])
def test_a_hostile_count_takes_no_memory(name: str, count: bytes) -> None:
    first, last = schema.load(schema.index()[name]).messages[name].versions
    body = count + b"\0" * 500
    for version in range(first, last + 1):
        decode_or_refuse(name, version, body)  # compiled by now

    tracemalloc.start()
    for version in range(first, last + 1):
        decode_or_refuse(name, version, body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 200_000


def decode_or_refuse(name: str, version: int, body: bytes) -> Message | None:
    try:
        message: Message = decode(name, version, body)
    except RemoteProtocolError:
        return None
    return message


def test_the_bytes_of_the_next_frame_are_not_read_as_this_ones() -> None:
    body, next_frame = b"\0\x01g" + b"\0\0\0\x05" + b"\0\x04", b"more"

    with pytest.raises(RemoteProtocolError, match="cut short"):
        decode("HeartbeatRequest", 0, body + next_frame, 0, len(body))


def test_bytes_after_a_message_are_passed_over_as_kafka_does() -> None:
    request = decode("MetadataRequest", 13, ALL_TOPICS_FROM_LIBRDKAFKA)

    assert request == messages.MetadataRequest(topics=None, allow_auto_topic_creation=False)


def test_unknown_tagged_fields_are_skipped_at_every_depth() -> None:
    tag = b"\x01\x63\x03abc"  # one tagged field: tag 99, three bytes
    body = b"\x02" + b"\0" * 16 + b"\x02t" + tag + b"\0\0" + tag

    request = decode("MetadataRequest", 12, body)

    assert request == messages.MetadataRequest(
        topics=[messages.MetadataRequestTopic(name="t")], allow_auto_topic_creation=False
    )


def test_a_tagged_field_of_a_later_version_is_skipped() -> None:
    partition = b"\0\0\0\x01" + b"\0" * 28
    high_watermark = b"\x01\x01\x08" + b"\0" * 8  # tag 1 is known since version 18
    body = b"\0" * 21 + b"\x02" + b"\0" * 16 + b"\x02" + partition + high_watermark + b"\0" + b"\x01\x01\0"

    old = decode("FetchRequest", 17, body)
    new = decode("FetchRequest", 18, body)

    assert old.topics[0].partitions[0].high_watermark == (1 << 63) - 1
    assert new.topics[0].partitions[0].high_watermark == 0


def test_a_known_tagged_field_of_a_wrong_size_is_refused() -> None:
    cluster_id_with_excess = b"\x01\0\x03\x02cX"
    body = b"\0" * 21 + b"\x01\x01\x01" + cluster_id_with_excess

    with pytest.raises(RemoteProtocolError, match=r"FetchRequest\.cluster_id is followed by 1 bytes"):
        decode("FetchRequest", 18, body)


def test_a_nullable_structure_is_null_behind_a_negative_byte() -> None:
    request = decode("DescribeTopicPartitionsRequest", 0, b"\x01" + b"\0\0\0\x0a" + b"\xff" + b"\0")

    assert request.cursor is None


def test_neighbouring_values_of_fixed_size_are_read_in_one_go() -> None:
    source = ReaderCompiler(schema.load("init_producer_id"), "InitProducerIdResponse", 0).source.text()

    assert source.count("unpack_from") == 1
