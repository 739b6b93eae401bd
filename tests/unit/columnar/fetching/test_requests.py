"""What is asked of a cluster, and what its answers mean."""

from __future__ import annotations

import pytest

from riverlog.columnar.fetching import requests
from riverlog.columnar.fetching.requests import Absent, Retry
from riverlog.errors import ConfigError, RequestRefused
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.types import TopicPartition
from tests.scripted_broker import fetch_answer, offset_answer

ORDERS = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one:1", [("one", 1)]),
        ("one:1, two:2,", [("one", 1), ("two", 2)]),
        ("one", [("one", 9092)]),
        ("[::1]:7", [("::1", 7)]),
        ("[::1]", [("::1", 9092)]),
        ("PLAINTEXT://one:1", [("one", 1)]),
    ],
)
def test_addresses_are_read_as_people_write_them(text: str, expected: list[tuple[str, int]]) -> None:
    assert requests.addresses(text) == expected


@pytest.mark.parametrize("text", ["", ",", ":1", "one:", "one:x", "one:0", "one:65536"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        requests.addresses(text)


def versions(**offered: tuple[int, int]) -> messages.ApiVersionsResponse:
    numbers = {"fetch": 1, "list_offsets": 2, "metadata": 3, "api_versions": 18}
    ranges = {
        "fetch": (4, 18),
        "list_offsets": (1, 11),
        "metadata": (0, 13),
        "api_versions": (0, 4),
    } | offered
    return messages.ApiVersionsResponse(
        api_keys=[
            messages.ApiVersion(api_key=numbers[name], min_version=first, max_version=last)
            for name, (first, last) in ranges.items()
        ]
    )


def test_the_newest_version_that_both_speak_is_used() -> None:
    agreed = requests.agreed_versions(versions(fetch=(0, 7)), "one:1")

    assert agreed == {1: 7, 2: 7, 3: 12, 18: 0}


@pytest.mark.parametrize("offered", [(0, 3), (13, 20)])
def test_without_a_common_version_the_broker_is_named(offered: tuple[int, int]) -> None:
    with pytest.raises(RequestRefused, match=r"one:1: the broker speaks versions \d+ to \d+ of API 1"):
        requests.agreed_versions(versions(fetch=offered), "one:1")


def test_errors_that_may_pass_are_told_from_those_that_do_not() -> None:
    with pytest.raises(Retry, match="NOT_LEADER_OR_FOLLOWER"):
        requests.fetched(fetch_answer(error=ErrorCode.NOT_LEADER_OR_FOLLOWER), ORDERS)
    with pytest.raises(Absent):
        requests.fetched(fetch_answer(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ORDERS)
    with pytest.raises(RequestRefused, match=r"orders-0.*TOPIC_AUTHORIZATION_FAILED") as raised:
        requests.fetched(fetch_answer(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED), ORDERS)
    assert raised.value.error_code == 29


def test_a_number_that_no_error_has_is_an_error_all_the_same() -> None:
    with pytest.raises(RequestRefused, match="UNKNOWN_SERVER_ERROR"):
        requests.fetched(fetch_answer(error=31_000), ORDERS)


def test_an_offset_out_of_range_is_the_caller_s_affair() -> None:
    assert requests.fetched(fetch_answer(error=1), ORDERS).error is ErrorCode.OFFSET_OUT_OF_RANGE


def test_answers_about_something_else_are_not_taken() -> None:
    with pytest.raises(Retry):
        requests.fetched(fetch_answer(partition=1), ORDERS)
    with pytest.raises(Retry):
        requests.offsets_in(offset_answer(4, partition=1), [ORDERS])
    with pytest.raises(Retry):
        requests.leaders_in(messages.MetadataResponse(), ["orders"])


def test_a_time_that_no_record_reaches_has_no_offset() -> None:
    assert requests.offsets_in(offset_answer(-1), [ORDERS]) == {ORDERS: None}
    assert requests.offsets_in(offset_answer(0), [ORDERS]) == {ORDERS: 0}


def test_topics_that_are_absent_are_told_from_those_that_are_there() -> None:
    response = messages.MetadataResponse(
        cluster_id="mine",
        brokers=[messages.MetadataResponseBroker(node_id=7, host="here", port=9)],
        topics=[
            messages.MetadataResponseTopic(name="gone", error_code=3),
            messages.MetadataResponseTopic(
                name="orders",
                topic_id=bytes(range(16)),
                partitions=[messages.MetadataResponsePartition(partition_index=0, leader_id=7)],
            ),
        ],
    )

    found = requests.leaders_in(response, ["gone", "orders"])

    assert (found.brokers, found.leaders, found.absent) == ({7: ("here", 9)}, {ORDERS: 7}, {"gone"})
    assert (found.cluster_id, found.topic_ids["orders"]) == ("mine", bytes(range(16)))


def test_what_the_cluster_keeps_for_itself_is_no_topic() -> None:
    topics = [
        messages.MetadataResponseTopic(name="orders"),
        messages.MetadataResponseTopic(name="__consumer_offsets", is_internal=True),
        messages.MetadataResponseTopic(name="clicks"),
    ]

    assert requests.topics_in(messages.MetadataResponse(topics=topics)) == ["clicks", "orders"]
