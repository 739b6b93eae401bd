"""Rows 29-33 and 35: what one fetch returns, when it waits, and by what name it asks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from riverlog.protocol import messages
from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import batch
from tests.process.raw_client import FETCH, METADATA, RawClient

from .asking import (
    FETCH_VERSIONS,
    FIRST_FETCH_WITH_IDS,
    Topic,
    append,
    batches_of,
    create_again,
    delete_records,
    delete_topic,
    fetch,
    fetch_request,
    fetched_of,
    is_silent,
    produce,
    wanted,
)

NewTopic = Callable[..., Topic]
Connect = Callable[..., RawClient]

VERSIONS_WITH_LOG_START = [version for version in FETCH_VERSIONS if version >= 5]
FOREVER_MS = 600_000
"""Longer than any test waits for a reply."""


def starts(records: bytes | None) -> list[int]:
    """Give the base offsets of what was fetched."""
    return [each.header.base_offset for each in batches_of(records)]


# What is returned


@pytest.mark.parametrize("offset", [3, 4, 5])
@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_an_offset_inside_a_batch_returns_the_whole_batch(
    client: RawClient, topic: Topic, version: int, offset: int
) -> None:
    """Row 29."""
    append(client, topic, batch(3), batch(3), batch(3))

    reply = fetch(client, topic, offset, version=version)

    read = batches_of(reply.records)
    assert [each.header.base_offset for each in read] == [3, 6]
    assert [record.offset for each in read for record in each.records] == [3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("codec", list(Compression))
def test_an_offset_inside_a_compressed_batch_returns_the_whole_batch(
    client: RawClient, topic: Topic, codec: Compression
) -> None:
    """Row 29."""
    append(client, topic, batch(10, compression=codec))

    reply = fetch(client, topic, 7)

    assert [record.offset for record in batches_of(reply.records)[0].records] == list(range(10))


@pytest.mark.parametrize("version", FETCH_VERSIONS)
@pytest.mark.parametrize("offset", [-1, 0, 3, 7, 2**63 - 1])
def test_an_offset_outside_the_log_is_out_of_range(
    client: RawClient, topic: Topic, version: int, offset: int
) -> None:
    """Row 30."""
    append(client, topic, batch(6))
    assert delete_records(client, topic, 4).error_code == ErrorCode.NONE

    reply = fetch(client, topic, offset, version=version, max_wait_ms=FOREVER_MS)

    assert reply.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert not reply.records


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_at_the_end_there_is_nothing_and_no_error(client: RawClient, topic: Topic, version: int) -> None:
    """Row 30."""
    append(client, topic, batch(6))

    reply = fetch(client, topic, 6, version=version)

    assert (reply.error_code, reply.high_watermark) == (ErrorCode.NONE, 6)
    assert not reply.records


def test_an_empty_log_is_read_from_0(client: RawClient, topic: Topic) -> None:
    """Row 30."""
    at_0, at_1 = fetch(client, topic, 0), fetch(client, topic, 1)

    assert (at_0.error_code, at_0.high_watermark) == (ErrorCode.NONE, 0)
    assert at_1.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("partition_max_bytes", [0, 1, 100])
@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_a_first_batch_above_the_partition_s_limit_is_returned(
    client: RawClient, topic: Topic, version: int, partition_max_bytes: int
) -> None:
    """Row 31."""
    append(client, topic, batch(50), batch(50))

    reply = fetch(client, topic, 0, version=version, partition_max_bytes=partition_max_bytes)

    assert starts(reply.records) == [0]


@pytest.mark.parametrize("max_bytes", [0, 1, 100])
def test_a_first_batch_above_the_request_s_limit_is_returned(
    client: RawClient, topic: Topic, max_bytes: int
) -> None:
    """Row 31."""
    append(client, topic, batch(50), batch(50))
    request = fetch_request({topic: [wanted()]}, max_bytes=max_bytes)

    reply = fetched_of(client.call(FETCH, 18, request))[0]

    assert starts(reply.records) == [0]


def test_only_one_partition_may_exceed_the_limit(client: RawClient, new_topic: NewTopic) -> None:
    """Row 31."""
    topic = new_topic(partitions=3)
    for partition in (1, 2):
        append(client, topic, batch(50), partition=partition)
    request = fetch_request({topic: [wanted(0), wanted(1), wanted(2)]}, max_bytes=100)

    replies = fetched_of(client.call(FETCH, 18, request))

    assert [starts(replies[index].records) for index in (0, 1)] == [[], [0]]
    # A batch may come cut short at its end: clients pass over what is not whole.
    assert len(replies[2].records or b"") < len(batch(50))
    assert [replies[index].high_watermark for index in (0, 1, 2)] == [0, 50, 50]


def test_what_fits_the_limit_is_returned(client: RawClient, topic: Topic) -> None:
    """Row 31."""
    size = len(batch(5))
    append(client, topic, batch(5), batch(5), batch(5))

    reply = fetch(client, topic, 0, partition_max_bytes=2 * size)

    assert starts(reply.records) == [0, 5]


# Waiting


def test_a_fetch_waits_until_its_time_is_up(client: RawClient, connect: Connect, topic: Topic) -> None:
    """Row 32."""
    waiting = connect()
    waiting.send(FETCH, 18, fetch_request({topic: [wanted()]}, max_wait_ms=700))
    client.call(METADATA, 13, messages.MetadataRequest(topics=[]))

    was_silent = is_silent(waiting)
    reply = fetched_of(waiting.receive())[0]

    assert was_silent
    assert (reply.error_code, reply.high_watermark) == (ErrorCode.NONE, 0)
    assert not reply.records


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_new_data_wakes_a_fetch(client: RawClient, connect: Connect, topic: Topic, version: int) -> None:
    """Row 32."""
    waiting = connect()
    waiting.send(FETCH, version, fetch_request({topic: [wanted()]}, max_wait_ms=FOREVER_MS))
    client.call(METADATA, 13, messages.MetadataRequest(topics=[]))

    append(client, topic, batch(2))
    reply = fetched_of(waiting.receive())[0]

    assert reply.high_watermark == 2
    assert starts(reply.records) == [0]


def test_too_little_data_does_not_wake_a_fetch_and_enough_does(
    client: RawClient, connect: Connect, topic: Topic
) -> None:
    """Row 32."""
    waiting = connect()
    enough = 3 * len(batch(2))
    waiting.send(FETCH, 18, fetch_request({topic: [wanted()]}, max_wait_ms=FOREVER_MS, min_bytes=enough))

    append(client, topic, batch(2))
    append(client, topic, batch(2))
    was_silent = is_silent(waiting)
    append(client, topic, batch(2))
    reply = fetched_of(waiting.receive())[0]

    assert was_silent
    assert starts(reply.records) == [0, 2, 4]


def test_too_little_data_is_returned_when_the_time_is_up(
    client: RawClient, connect: Connect, topic: Topic
) -> None:
    """Row 32."""
    waiting = connect()
    append(client, topic, batch(2))
    request = fetch_request({topic: [wanted()]}, max_wait_ms=300, min_bytes=1 << 20)

    reply = fetched_of(waiting.call(FETCH, 18, request))[0]

    assert starts(reply.records) == [0]


def test_data_in_several_partitions_counts_together(
    client: RawClient, connect: Connect, new_topic: NewTopic
) -> None:
    """Row 32."""
    topic = new_topic(partitions=2)
    waiting = connect()
    append(client, topic, batch(2))
    request = fetch_request(
        {topic: [wanted(0), wanted(1)]}, max_wait_ms=FOREVER_MS, min_bytes=2 * len(batch(2))
    )
    waiting.send(FETCH, 18, request)

    append(client, topic, batch(2), partition=1)
    replies = fetched_of(waiting.receive())

    assert [starts(replies[index].records) for index in (0, 1)] == [[0], [0]]


def test_an_error_does_not_wait(client: RawClient, new_topic: NewTopic) -> None:
    """Row 32."""
    topic = new_topic(partitions=2)
    request = fetch_request({topic: [wanted(0), wanted(1, 7)]}, max_wait_ms=FOREVER_MS)

    replies = fetched_of(client.call(FETCH, 18, request))

    assert replies[0].error_code == ErrorCode.NONE
    assert replies[1].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(("max_wait_ms", "min_bytes"), [(0, 1 << 20), (FOREVER_MS, 0)])
def test_without_time_or_need_to_wait_the_reply_comes_at_once(
    client: RawClient, topic: Topic, max_wait_ms: int, min_bytes: int
) -> None:
    """Row 32."""
    reply = fetch(client, topic, max_wait_ms=max_wait_ms, min_bytes=min_bytes)

    assert reply.error_code == ErrorCode.NONE
    assert not reply.records


# The fields of each partition


@pytest.mark.parametrize("version", VERSIONS_WITH_LOG_START)
def test_every_partition_tells_its_marks(client: RawClient, new_topic: NewTopic, version: int) -> None:
    """Row 33."""
    topic = new_topic(partitions=3)
    append(client, topic, batch(5))
    append(client, topic, batch(5), batch(2), partition=1)
    assert delete_records(client, topic, 3, partition=1).error_code == ErrorCode.NONE
    asked = {topic: [wanted(0), wanted(1, 5), wanted(2)]}

    replies = fetched_of(client.call(FETCH, version, fetch_request(asked)))

    marks = {
        index: (each.error_code, each.high_watermark, each.last_stable_offset, each.log_start_offset)
        for index, each in replies.items()
    }
    assert marks == {0: (0, 5, 5, 0), 1: (0, 7, 7, 3), 2: (0, 0, 0, 0)}


@pytest.mark.parametrize("version", VERSIONS_WITH_LOG_START)
def test_every_refused_partition_is_answered_with_empty_marks(
    client: RawClient, new_topic: NewTopic, version: int
) -> None:
    """Row 33."""
    topic = new_topic(partitions=3)
    append(client, topic, batch(5))
    asked = {topic: [wanted(0), wanted(1, 5), wanted(7), wanted(-1)]}

    replies = fetched_of(client.call(FETCH, version, fetch_request(asked)))

    assert {index: each.error_code for index, each in replies.items()} == {
        0: ErrorCode.NONE,
        1: ErrorCode.OFFSET_OUT_OF_RANGE,
        7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        -1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    for index in (1, 7, -1):
        each = replies[index]
        assert (each.high_watermark, each.last_stable_offset, each.log_start_offset) == (-1, -1, -1)
        assert not each.records


@pytest.mark.parametrize("version", [4, 12])
def test_an_unknown_topic_is_answered_for_each_of_its_partitions(
    client: RawClient, topic_name: Callable[[], str], version: int
) -> None:
    """Row 33."""
    nowhere = Topic(topic_name(), bytes(16))
    request = fetch_request({nowhere: [wanted(0), wanted(1)]})

    replies = fetched_of(client.call(FETCH, version, request))

    assert {index: each.error_code for index, each in replies.items()} == {
        0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


# Topic ids


@pytest.mark.parametrize("version", [13, 14, 15, 16, 17, 18])
def test_a_fetch_by_topic_id_is_answered_by_topic_id(client: RawClient, topic: Topic, version: int) -> None:
    """Row 35."""
    append(client, topic, batch(2))
    request = fetch_request({topic: [wanted()]})

    (answered,) = client.call(FETCH, version, request).responses

    assert answered.topic_id == topic.id
    assert starts(answered.partitions[0].records) == [0]


@pytest.mark.parametrize("version", [13, 18])
def test_an_id_that_no_topic_has_is_echoed_with_its_error(
    client: RawClient, topic: Topic, version: int
) -> None:
    """Row 35."""
    unknown = Topic("", bytes(range(16)))
    request = fetch_request({unknown: [wanted(0), wanted(3)], topic: [wanted()]})

    reply = client.call(FETCH, version, request)

    errors = {
        (bytes(answered.topic_id), each.partition_index): each.error_code
        for answered in reply.responses
        for each in answered.partitions
    }
    assert errors == {
        (unknown.id, 0): ErrorCode.UNKNOWN_TOPIC_ID,
        (unknown.id, 3): ErrorCode.UNKNOWN_TOPIC_ID,
        (topic.id, 0): ErrorCode.NONE,
    }


def test_the_id_of_a_topic_s_former_life_is_unknown(client: RawClient, topic: Topic) -> None:
    """Row 35."""
    append(client, topic, batch(5))
    delete_topic(client, topic)
    again = create_again(client, topic.name)
    append(client, again, batch(2))

    (former,) = client.call(FETCH, 18, fetch_request({topic: [wanted()]})).responses
    now_by_id = fetch(client, again, version=FIRST_FETCH_WITH_IDS)
    now_by_name = fetch(client, topic, version=FIRST_FETCH_WITH_IDS - 1)

    assert former.topic_id == topic.id != again.id
    assert former.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert (now_by_id.high_watermark, now_by_name.high_watermark) == (2, 2)


def test_a_produce_to_a_topic_s_former_life_is_refused(client: RawClient, topic: Topic) -> None:
    """Row 35: Produce goes by ids since version 13."""
    delete_topic(client, topic)
    again = create_again(client, topic.name)

    reply = produce(client, topic, batch(1), version=13)

    assert reply.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert fetch(client, again).high_watermark == 0


def test_a_fetch_that_waits_hears_of_its_topic_s_deletion(
    client: RawClient, connect: Connect, topic: Topic
) -> None:
    """Row 35."""
    waiting = connect()
    waiting.send(FETCH, 18, fetch_request({topic: [wanted()]}, max_wait_ms=FOREVER_MS))

    delete_topic(client, topic)
    (reply,) = fetched_of(waiting.receive()).values()

    assert reply.error_code in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
