"""From frame to reply: what is refused before a handler sees it, and how an answer is framed."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from riverlog.broker.dispatch import API_VERSIONS, Dispatcher
from riverlog.broker.handler import Handler, RawHandler
from riverlog.broker.metrics.counters import TIMED_EVERY, RequestCounters
from riverlog.config import BrokerSettings
from riverlog.errors import RemoteProtocolError
from riverlog.protocol import messages, wire

METADATA, PRODUCE = 3, 0
LIMIT = 2000


def dispatcher(*handlers: Handler | RawHandler) -> Dispatcher:
    settings = BrokerSettings()
    network = dataclasses.replace(settings.network, request_without_records_max_bytes=LIMIT)
    broker: Any = SimpleNamespace(
        settings=dataclasses.replace(settings, network=network), counters=RequestCounters()
    )
    return Dispatcher(broker, handlers)


def metadata_handler(seen: list[Any] | None = None) -> Handler:
    def answer(_broker: Any, request: Any, _context: Any) -> Any:
        (seen if seen is not None else []).append(request)
        return messages.MetadataResponse(cluster_id="here")

    return Handler(METADATA, 1, 12, answer)


def metadata_request(topic: str, version: int = 12) -> bytearray:
    request = messages.MetadataRequest(topics=[messages.MetadataRequestTopic(name=topic)])
    return bytearray(wire.write_request(METADATA, version, 7, "me", request))


def dispatch(dispatcher: Dispatcher, frame: bytearray) -> Any:
    connection: Any = SimpleNamespace(peer_name="peer", produce_shape=None)
    return dispatcher(connection, frame, 4, len(frame))


def test_a_request_reaches_its_handler_and_the_answer_is_a_frame() -> None:
    seen: list[Any] = []

    frame = dispatch(dispatcher(metadata_handler(seen)), metadata_request("orders"))

    assert [topic.name for topic in seen[0].topics] == ["orders"]
    assert wire.read_response(METADATA, 12, frame, 4, len(frame)) == (
        7,
        messages.MetadataResponse(cluster_id="here"),
    )


def test_a_request_without_records_larger_than_its_limit_is_refused_unread() -> None:
    seen: list[Any] = []

    with pytest.raises(RemoteProtocolError, match=r"request\.without\.records\.max\.bytes=2000"):
        dispatch(dispatcher(metadata_handler(seen)), metadata_request("x" * LIMIT))

    assert not seen


def test_a_produce_request_may_be_larger() -> None:
    seen: list[int] = []

    def answer(_broker: Any, _context: Any, _buffer: Any, start: int, end: int) -> Any:
        seen.append(end - start)

    partition = messages.PartitionProduceData(records=bytes(LIMIT))
    request = messages.ProduceRequest(
        topic_data=[messages.TopicProduceData(name="t", partition_data=[partition])]
    )

    dispatch(
        dispatcher(RawHandler(PRODUCE, 3, 12, answer)),
        bytearray(wire.write_request(PRODUCE, 9, 1, None, request)),
    )

    assert seen[0] > LIMIT


def test_an_api_that_is_not_served_ends_the_connection() -> None:
    with pytest.raises(RemoteProtocolError, match="API key 3"):
        dispatch(dispatcher(), metadata_request("orders"))


def test_a_version_that_is_not_served_ends_the_connection() -> None:
    with pytest.raises(RemoteProtocolError, match="versions 1-12, not 0"):
        dispatch(dispatcher(metadata_handler()), metadata_request("orders", version=0))


def test_api_versions_in_an_unknown_version_is_answered_in_version_0_with_its_own_range() -> None:
    handler = Handler(API_VERSIONS, 0, 4, lambda *_: messages.ApiVersionsResponse())
    frame = metadata_request("orders")
    frame[4:8] = b"\0\x12\0\x63"  # key 18, version 99

    reply = dispatch(dispatcher(handler), frame)

    correlation_id, answer = wire.read_response(API_VERSIONS, 0, reply, 4, len(reply))
    assert correlation_id == 7
    assert answer.error_code == 35
    assert [(api.api_key, api.min_version, api.max_version) for api in answer.api_keys] == [(18, 0, 4)]


def test_produce_is_advertised_from_version_0_although_that_is_refused() -> None:
    handler = RawHandler(PRODUCE, 3, 13, lambda *_: None)

    assert dispatcher(handler).advertised_versions() == [(PRODUCE, 0, 13)]


def test_requests_are_counted_the_first_is_timed_and_so_is_one_in_sixteen() -> None:
    counted = dispatcher(metadata_handler())

    for _ in range(TIMED_EVERY + 1):
        dispatch(counted, metadata_request("orders"))

    counters = counted._broker.counters.of(METADATA)
    assert counters.requests == TIMED_EVERY + 1
    assert sum(counters.seconds.counts) == 2
    assert counters.errors == {}


def test_the_error_of_an_answer_is_counted() -> None:
    handler = Handler(METADATA, 1, 13, lambda *_: messages.MetadataResponse(error_code=29))
    counted = dispatcher(handler)

    dispatch(counted, metadata_request("orders", version=13))
    dispatch(counted, metadata_request("orders", version=13))

    assert counted._broker.counters.of(METADATA).errors == {29: 2}


def test_what_is_not_served_is_not_counted() -> None:
    counted = dispatcher(metadata_handler())

    with pytest.raises(RemoteProtocolError):
        dispatch(counted, metadata_request("orders", version=13))

    assert list(counted._broker.counters.used()) == []
