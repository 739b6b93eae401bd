"""Rows 1-8: which versions there are, how frames are put together, and in which order replies come."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from riverlog.protocol import codec, messages, wire
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import batch
from tests.process.raw_client import API_VERSIONS, FETCH, METADATA, PRODUCE, RawClient

from .asking import (
    FETCH_VERSIONS,
    PRODUCE_VERSIONS,
    Topic,
    append,
    fetch,
    fetch_request,
    is_closed,
    log_end,
    produce,
    produce_request,
    wanted,
)

API_VERSIONS_VERSIONS = (0, 1, 2, 3, 4)
FIRST_FLEXIBLE_API_VERSIONS = 3
SOFTWARE = {"client_software_name": "semantics", "client_software_version": "1.0"}

UNKNOWN_TAGS = b"\x02" + b"\x64\x03abc" + b"\xe8\x07\x00"
"""Two tagged fields: number 100 with three bytes, number 1000 with none."""

REQUEST_HEADER = struct.Struct(">hhih")
"""API key, version, correlation id, length of the client id."""


def versions(client: RawClient, version: int = 4) -> dict[int, tuple[int, int]]:
    """Ask for the range of each API."""
    reply = client.call(API_VERSIONS, version, messages.ApiVersionsRequest(**SOFTWARE))
    assert reply.error_code == ErrorCode.NONE
    return {each.api_key: (each.min_version, each.max_version) for each in reply.api_keys}


def send_with_tags(client: RawClient, api_key: int, version: int, body: bytes) -> Any:
    """Send a request whose header carries fields that nobody knows; read the reply."""
    header = REQUEST_HEADER.pack(api_key, version, 77, -1) + UNKNOWN_TAGS
    client.socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
    frame = client.read_frame()
    correlation_id, reply = wire.read_response(api_key, version, frame, 0, len(frame))
    assert correlation_id == 77
    return reply


@pytest.mark.parametrize("version", API_VERSIONS_VERSIONS)
def test_produce_is_listed_from_version_0(client: RawClient, version: int) -> None:
    """Row 1."""
    listed = versions(client, version)

    first, last = listed[PRODUCE]
    assert first == 0
    assert last >= max(PRODUCE_VERSIONS)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_produce_below_version_3_is_refused_by_hanging_up(
    client: RawClient, connect: Callable[..., RawClient], topic: Topic, version: int
) -> None:
    """Row 1."""
    name = topic.name.encode()
    body = struct.pack(">hiih", -1, 1000, 1, len(name)) + name + struct.pack(">iii", 1, 0, 0)
    frame = REQUEST_HEADER.pack(PRODUCE, version, 1, -1) + body
    old = connect()

    old.socket.sendall(struct.pack(">i", len(frame)) + frame)

    assert is_closed(old)
    assert log_end(client, topic) == 0


def test_every_listed_range_is_one_that_clients_of_4_x_expect(client: RawClient) -> None:
    """Row 1: the ends of the ranges are live, from KafkaJS's lowest to Java's highest."""
    listed = versions(client)

    expected = {
        FETCH: (4, 18),
        2: (1, 11),
        METADATA: (0, 13),
        API_VERSIONS: (0, 4),
        19: (2, 7),
        20: (1, 6),
        21: (0, 2),
        22: (0, 5),
        23: (2, 4),
        32: (1, 4),
        33: (0, 2),
        37: (0, 3),
        44: (0, 1),
        60: (0, 2),
        75: (0, 0),
    }
    assert {key: listed[key] for key in expected} == expected


def test_a_version_of_api_versions_from_the_future_is_answered_in_version_0(client: RawClient) -> None:
    """Row 2."""
    header = REQUEST_HEADER.pack(API_VERSIONS, 100, 7, -1) + b"\0"
    body = b"\x0asemantics\x041.0\0"

    client.socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
    frame = client.read_frame()

    correlation_id, reply = wire.read_response(API_VERSIONS, 0, frame, 0, len(frame))
    assert correlation_id == 7
    assert reply.error_code == ErrorCode.UNSUPPORTED_VERSION
    (own,) = reply.api_keys
    assert (own.api_key, own.min_version, own.max_version) == (API_VERSIONS, 0, 4)
    assert wire.write_response(API_VERSIONS, 0, correlation_id, reply)[4:] == frame


def test_after_a_version_from_the_future_the_connection_goes_on(client: RawClient) -> None:
    """Row 2."""
    header = REQUEST_HEADER.pack(API_VERSIONS, 100, 7, -1) + b"\0"
    client.socket.sendall(struct.pack(">i", len(header)) + header)
    client.read_frame()

    listed = versions(client)

    assert METADATA in listed


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize(
    ("name", "software_version"),
    [
        ("", "1.0"),
        ("semantics", ""),
        ("-semantics", "1.0"),
        ("semantics", "1.0-"),
        ("a b", "1.0"),
        ("a", "1/0"),
    ],
)
def test_software_that_names_itself_badly_is_refused(
    client: RawClient, version: int, name: str, software_version: str
) -> None:
    """Row 3."""
    request = messages.ApiVersionsRequest(client_software_name=name, client_software_version=software_version)

    reply = client.call(API_VERSIONS, version, request)

    assert reply.error_code == ErrorCode.INVALID_REQUEST
    assert METADATA in versions(client)


@pytest.mark.parametrize("name", ["a", "apache-kafka-java", "confluent.kafka", "A1"])
def test_software_that_names_itself_well_is_told_the_versions(client: RawClient, name: str) -> None:
    """Row 3."""
    request = messages.ApiVersionsRequest(client_software_name=name, client_software_version="4.3.1-rc1")

    reply = client.call(API_VERSIONS, 4, request)

    assert reply.error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [3, 4])
def test_the_reply_to_api_versions_has_no_tags_in_its_header(client: RawClient, version: int) -> None:
    """Row 4."""
    request = wire.write_request(
        API_VERSIONS, version, 5, "semantics", messages.ApiVersionsRequest(**SOFTWARE)
    )

    client.socket.sendall(request)
    frame = client.read_frame()

    correlation_id, error_code, count_plus_one = struct.unpack_from(">ihB", frame)
    assert (correlation_id, error_code) == (5, ErrorCode.NONE)
    _, reply = wire.read_response(API_VERSIONS, version, frame, 0, len(frame))
    assert count_plus_one == len(reply.api_keys) + 1


def test_other_flexible_replies_have_tags_in_their_header(client: RawClient) -> None:
    """Row 4."""
    request = wire.write_request(METADATA, 12, 5, "semantics", messages.MetadataRequest(topics=[]))

    client.socket.sendall(request)
    frame = client.read_frame()

    correlation_id, tag_count, throttle_time_ms = struct.unpack_from(">iBi", frame)
    assert (correlation_id, tag_count, throttle_time_ms) == (5, 0, 0)


@pytest.mark.parametrize("version", [9, 13])
def test_metadata_skips_tagged_fields_it_does_not_know(client: RawClient, topic: Topic, version: int) -> None:
    """Row 5."""
    request = messages.MetadataRequest(topics=[messages.MetadataRequestTopic(name=topic.name)])
    body = codec.encode(request, version)[:-1] + UNKNOWN_TAGS

    reply = send_with_tags(client, METADATA, version, body)

    assert [each.name for each in reply.topics] == [topic.name]


@pytest.mark.parametrize("version", [9, 12, 13])
def test_produce_skips_tagged_fields_it_does_not_know(client: RawClient, topic: Topic, version: int) -> None:
    """Row 5."""
    # The tags of partition, topic and request: three empty lists at the end of the request.
    plain = codec.encode(produce_request(topic, batch(2)), version)
    assert plain.endswith(b"\0\0\0")

    reply = send_with_tags(client, PRODUCE, version, plain[:-3] + UNKNOWN_TAGS * 3)

    assert [each.error_code for each in reply.responses[0].partition_responses] == [ErrorCode.NONE]
    assert log_end(client, topic) == 2


@pytest.mark.parametrize("version", [12, 13, 18])
def test_fetch_skips_tagged_fields_it_does_not_know(client: RawClient, topic: Topic, version: int) -> None:
    """Row 5."""
    append(client, topic, batch(2))
    # Tags of partition and topic, no topic to forget, no rack, tags of the request.
    plain = codec.encode(fetch_request({topic: [wanted()]}), version)
    assert plain.endswith(b"\0\0\x01\x01\0")

    body = plain[:-5] + UNKNOWN_TAGS * 2 + b"\x01\x01" + UNKNOWN_TAGS
    reply = send_with_tags(client, FETCH, version, body)

    assert [each.high_watermark for each in reply.responses[0].partitions] == [2]


@pytest.mark.parametrize("version", API_VERSIONS_VERSIONS)
def test_a_reply_to_api_versions_holds_only_the_version_s_fields(client: RawClient, version: int) -> None:
    """Row 5."""
    client.send(API_VERSIONS, version, messages.ApiVersionsRequest(**SOFTWARE))
    frame = client.read_frame()

    correlation_id, reply = wire.read_response(API_VERSIONS, version, frame, 0, len(frame))

    assert wire.write_response(API_VERSIONS, version, correlation_id, reply)[4:] == frame


@pytest.mark.parametrize("version", range(3, 14))
def test_a_reply_to_produce_holds_only_the_version_s_fields(
    client: RawClient, topic: Topic, version: int
) -> None:
    """Row 5."""
    client.send(PRODUCE, version, produce_request(topic, batch(1), partition=5))
    frame = client.read_frame()

    correlation_id, reply = wire.read_response(PRODUCE, version, frame, 0, len(frame))

    assert reply.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert wire.write_response(PRODUCE, version, correlation_id, reply)[4:] == frame


@pytest.mark.parametrize("version", range(4, 19))
def test_a_reply_to_fetch_holds_only_the_version_s_fields(
    client: RawClient, topic: Topic, version: int
) -> None:
    """Row 5."""
    append(client, topic, batch(3))
    client.send(FETCH, version, fetch_request({topic: [wanted(), wanted(5), wanted(0, 4)]}))
    frame = client.read_frame()

    correlation_id, reply = wire.read_response(FETCH, version, frame, 0, len(frame))

    assert wire.write_response(FETCH, version, correlation_id, reply)[4:] == frame


def test_a_feature_is_named_if_and_only_if_its_requests_are_served(client: RawClient) -> None:
    """Row 6."""
    reply = client.call(API_VERSIONS, 4, messages.ApiVersionsRequest(**SOFTWARE))
    listed = {each.api_key: each.max_version for each in reply.api_keys}
    levels = {each.name: each.max_version_level for each in reply.finalized_features}

    consumer_group_heartbeat, share_group_heartbeat, end_txn = 68, 76, 26
    assert (levels.get("group.version", 0) >= 1) == (consumer_group_heartbeat in listed)
    assert (levels.get("share.version", 0) >= 1) == (share_group_heartbeat in listed)
    assert (levels.get("transaction.version", 0) >= 2) == (listed.get(end_txn, 0) >= 5)


def test_the_levels_in_force_are_among_the_supported_ones(client: RawClient) -> None:
    """Row 6."""
    reply = client.call(API_VERSIONS, 4, messages.ApiVersionsRequest(**SOFTWARE))
    supported = {each.name: (each.min_version, each.max_version) for each in reply.supported_features}

    for feature in reply.finalized_features:
        lowest, highest = supported[feature.name]
        assert lowest <= feature.min_version_level <= feature.max_version_level <= highest
    assert reply.finalized_features_epoch >= 0


def test_features_are_told_from_version_3_on_and_there_without_a_level_0(client: RawClient) -> None:
    """Row 6: readers of version 3 fail on a range that begins at 0."""
    reply = client.call(API_VERSIONS, 3, messages.ApiVersionsRequest(**SOFTWARE))
    newer = client.call(API_VERSIONS, 4, messages.ApiVersionsRequest(**SOFTWARE))

    assert all(each.min_version >= 1 for each in reply.supported_features)
    assert {each.name for each in reply.supported_features} <= {
        each.name for each in newer.supported_features
    }
    assert reply.finalized_features == newer.finalized_features


def test_replies_come_in_the_order_of_the_requests(client: RawClient, topic: Topic) -> None:
    """Row 7."""
    client.send(FETCH, 12, fetch_request({topic: [wanted()]}, max_wait_ms=300))
    client.send(METADATA, 12, messages.MetadataRequest(topics=[]))
    client.send(PRODUCE, 9, produce_request(topic, batch(1)))
    client.send(API_VERSIONS, 0, messages.ApiVersionsRequest())
    client.send(FETCH, 12, fetch_request({topic: [wanted()]}))

    # The client compares each correlation id with that of its oldest open request.
    replies = [client.receive() for _ in range(5)]

    assert [type(each).__name__ for each in replies] == [
        "FetchResponse",
        "MetadataResponse",
        "ProduceResponse",
        "ApiVersionsResponse",
        "FetchResponse",
    ]
    assert replies[-1].responses[0].partitions[0].high_watermark == 1


def test_a_fetch_that_waits_does_not_hold_up_other_connections(
    client: RawClient, connect: Callable[..., RawClient], topic: Topic
) -> None:
    """Row 7."""
    waiting = connect(deadline=60)
    waiting.send(FETCH, 12, fetch_request({topic: [wanted()]}, max_wait_ms=50_000))
    client.call(METADATA, 12, messages.MetadataRequest(topics=[]))

    append(client, topic, batch(1))
    reply = waiting.receive()

    assert reply.responses[0].partitions[0].high_watermark == 1


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_acks_0_is_not_answered_and_later_replies_come(client: RawClient, topic: Topic, version: int) -> None:
    """Row 8."""
    silent = wire.write_request(PRODUCE, version, 4711, "semantics", produce_request(topic, batch(2), acks=0))

    client.socket.sendall(silent * 3)
    client.send(METADATA, 12, messages.MetadataRequest(topics=[]))
    client.receive()
    acknowledged = produce(client, topic, batch(1))

    assert acknowledged.base_offset == 6


def test_what_acks_0_brought_can_be_read(client: RawClient, topic: Topic) -> None:
    """Row 8."""
    silent = wire.write_request(PRODUCE, 9, 4711, "semantics", produce_request(topic, batch(2), acks=0))

    client.socket.sendall(silent)
    reply = fetch(client, topic, max_wait_ms=10_000)

    assert reply.high_watermark == 2


def test_acks_0_that_cannot_be_appended_ends_the_connection(client: RawClient, topic: Topic) -> None:
    """Row 8: there is no other way to tell."""
    lost = produce_request(topic, batch(2), partition=9, acks=0)

    client.socket.sendall(wire.write_request(PRODUCE, 9, 1, "semantics", lost))

    assert is_closed(client)


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_every_version_of_fetch_reads_what_every_version_of_produce_wrote(
    client: RawClient, topic: Topic, version: int
) -> None:
    """Row 1: both ends of the ranges are live."""
    for produce_version in PRODUCE_VERSIONS:
        assert produce(client, topic, batch(1), version=produce_version).error_code == ErrorCode.NONE

    reply = fetch(client, topic, version=version)

    assert reply.high_watermark == len(PRODUCE_VERSIONS)
    assert reply.records
