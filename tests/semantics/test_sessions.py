"""Row 34: sessions of fetches, in which both sides name only what has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import batch
from tests.process.raw_client import FETCH, METADATA, RawClient

from .asking import (
    Topic,
    append,
    batches_of,
    create_again,
    create_partitions,
    delete_records,
    delete_topic,
    eventually,
    fetch_request,
    fetched_of,
    is_silent,
    wanted,
)

NewTopic = Callable[..., Topic]
Connect = Callable[..., RawClient]

VERSIONS_WITH_SESSIONS = (7, 11, 12, 13, 18)
FOREVER_MS = 600_000
"""Longer than any test waits for a reply."""


class Session:
    """A consumer's side of a session: its id, and the epoch of the next request."""

    def __init__(self, client: RawClient, *, version: int = 18) -> None:
        self.client = client
        self.version = version
        self.id = 0
        self.epoch = 0

    def send(
        self,
        partitions: Mapping[Topic, list[messages.FetchRequestFetchPartition]] | None = None,
        *,
        forgotten: Mapping[Topic, list[int]] | None = None,
        max_wait_ms: int = 0,
    ) -> None:
        """Send the next request of the session."""
        request = fetch_request(
            partitions or {},
            forgotten=forgotten,
            max_wait_ms=max_wait_ms,
            session_id=self.id,
            session_epoch=self.epoch,
        )
        self.client.send(FETCH, self.version, request)

    def receive(self) -> dict[int, Any]:
        """Read its reply, which has to be a good one: the partitions of the topic, by index."""
        response = self.client.receive()
        assert response.error_code == ErrorCode.NONE
        self.id = response.session_id
        self.epoch += 1
        return fetched_of(response)

    def fetch(
        self,
        partitions: Mapping[Topic, list[messages.FetchRequestFetchPartition]] | None = None,
        *,
        forgotten: Mapping[Topic, list[int]] | None = None,
    ) -> dict[int, Any]:
        """Fetch what is there now."""
        self.send(partitions, forgotten=forgotten)
        return self.receive()


def starts(records: bytes | None) -> list[int]:
    """Give the base offsets of what was fetched."""
    return [each.header.base_offset for each in batches_of(records)]


@pytest.mark.parametrize("version", VERSIONS_WITH_SESSIONS)
def test_a_session_begins_with_every_partition_and_goes_on_with_none(
    client: RawClient, new_topic: NewTopic, version: int
) -> None:
    """Row 34."""
    topic = new_topic(partitions=2)
    session = Session(client, version=version)

    first = session.fetch({topic: [wanted(0), wanted(1)]})
    second = session.fetch()

    assert sorted(first) == [0, 1]
    assert session.id != 0
    assert second == {}


@pytest.mark.parametrize("version", VERSIONS_WITH_SESSIONS)
def test_a_fetch_that_names_nothing_waits_for_the_session_s_partitions(
    client: RawClient, connect: Connect, new_topic: NewTopic, version: int
) -> None:
    """Row 34."""
    topic = new_topic(partitions=2)
    session = Session(connect(), version=version)
    session.fetch({topic: [wanted(0), wanted(1)]})

    session.send(max_wait_ms=FOREVER_MS)
    client.call(METADATA, 13, messages.MetadataRequest(topics=[]))
    was_silent = is_silent(session.client)
    append(client, topic, batch(2), partition=1)
    replies = session.receive()

    assert was_silent
    assert {index: starts(each.records) for index, each in replies.items()} == {1: [0]}


def test_a_fetch_that_names_nothing_is_empty_when_its_time_is_up(client: RawClient, topic: Topic) -> None:
    """Row 34."""
    session = Session(client)
    session.fetch({topic: [wanted()]})

    session.send(max_wait_ms=200)

    assert session.receive() == {}


def test_what_a_session_was_told_is_told_again_until_its_position_moves(
    client: RawClient, topic: Topic
) -> None:
    """Row 34: data counts as news each time."""
    append(client, topic, batch(2))
    session = Session(client)

    first = session.fetch({topic: [wanted()]})
    again = session.fetch()
    moved = session.fetch({topic: [wanted(offset=2)]})

    assert starts(first[0].records) == starts(again[0].records) == [0]
    assert moved == {}


def test_a_new_log_start_is_news(client: RawClient, topic: Topic) -> None:
    """Row 34."""
    append(client, topic, batch(5))
    session = Session(client)
    session.fetch({topic: [wanted(offset=5)]})

    assert delete_records(client, topic, 3).error_code == ErrorCode.NONE
    told, later = session.fetch(), session.fetch()

    assert {index: each.log_start_offset for index, each in told.items()} == {0: 3}
    assert later == {}


def test_an_error_is_told_each_time_and_its_end_once(client: RawClient, new_topic: NewTopic) -> None:
    """Row 34."""
    topic = new_topic(partitions=1)
    session = Session(client)

    first = session.fetch({topic: [wanted(0), wanted(1)]})
    second = session.fetch()
    (grown,) = create_partitions(client, (topic.name, 2))
    cleared: dict[int, Any] = {}

    def is_cleared() -> bool:
        nonlocal cleared
        cleared = session.fetch()
        return cleared[1].error_code == ErrorCode.NONE

    eventually(is_cleared, "partition 1 is there")

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {index: each.error_code for index, each in first.items()} == {0: 0, 1: unknown}
    assert {index: each.error_code for index, each in second.items()} == {1: unknown}
    assert grown.error_code == ErrorCode.NONE
    assert cleared[1].high_watermark == 0
    assert session.fetch() == {}


def test_a_forgotten_partition_leaves(client: RawClient, new_topic: NewTopic) -> None:
    """Row 34."""
    topic = new_topic(partitions=2)
    session = Session(client)
    session.fetch({topic: [wanted(0), wanted(1)]})

    session.fetch(forgotten={topic: [0]})
    for partition in (0, 1):
        append(client, topic, batch(2), partition=partition)

    assert sorted(session.fetch()) == [1]


def test_a_partition_may_join_later(client: RawClient, new_topic: NewTopic) -> None:
    """Row 34."""
    topic = new_topic(partitions=2)
    session = Session(client)
    session.fetch({topic: [wanted(0)]})

    joined = session.fetch({topic: [wanted(1)]})
    append(client, topic, batch(2))

    assert sorted(joined) == [1]
    assert sorted(session.fetch()) == [0]


@pytest.mark.parametrize("version", VERSIONS_WITH_SESSIONS)
def test_a_session_that_nobody_began_is_not_found(client: RawClient, topic: Topic, version: int) -> None:
    """Row 34."""
    request = fetch_request({topic: [wanted()]}, session_id=1_234_567_890, session_epoch=1)

    response = client.call(FETCH, version, request)

    assert (response.error_code, response.session_id) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
    assert list(response.responses) == []


@pytest.mark.parametrize("epoch", [2, 7, 2**31 - 1])
@pytest.mark.parametrize("version", VERSIONS_WITH_SESSIONS)
def test_an_epoch_out_of_turn_is_refused(client: RawClient, topic: Topic, version: int, epoch: int) -> None:
    """Row 34."""
    session = Session(client, version=version)
    session.fetch({topic: [wanted()]})

    request = fetch_request({}, session_id=session.id, session_epoch=epoch)
    response = client.call(FETCH, version, request)

    assert (response.error_code, response.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0)
    assert list(response.responses) == []


def test_a_session_outlives_a_request_that_was_out_of_turn(client: RawClient, topic: Topic) -> None:
    """Row 34."""
    session = Session(client)
    session.fetch({topic: [wanted()]})
    client.call(FETCH, 18, fetch_request({}, session_id=session.id, session_epoch=9))

    append(client, topic, batch(2))

    assert starts(session.fetch()[0].records) == [0]


def test_a_session_goes_on_over_another_connection(client: RawClient, connect: Connect, topic: Topic) -> None:
    """Row 34."""
    session = Session(connect())
    session.fetch({topic: [wanted()]})
    append(client, topic, batch(2))

    session.client.close()
    session.client = connect()

    assert starts(session.fetch()[0].records) == [0]


def test_the_final_epoch_ends_a_session_and_still_fetches(client: RawClient, topic: Topic) -> None:
    """Row 34."""
    append(client, topic, batch(2))
    session = Session(client)
    session.fetch({topic: [wanted()]})

    last = client.call(FETCH, 18, fetch_request({topic: [wanted()]}, session_id=session.id, session_epoch=-1))
    after = client.call(FETCH, 18, fetch_request({}, session_id=session.id, session_epoch=1))

    assert (last.error_code, last.session_id) == (ErrorCode.NONE, 0)
    assert starts(fetched_of(last)[0].records) == [0]
    assert after.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_may_be_exchanged_for_a_new_one(client: RawClient, topic: Topic) -> None:
    """Row 34."""
    session = Session(client)
    session.fetch({topic: [wanted()]})
    former = session.id

    session.epoch = 0
    session.fetch({topic: [wanted()]})
    after = client.call(FETCH, 18, fetch_request({}, session_id=former, session_epoch=1))

    assert session.id not in (0, former)
    assert after.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize(("began", "goes_on"), [(12, 13), (13, 12)])
def test_a_session_of_names_and_one_of_ids_do_not_mix(
    client: RawClient, topic: Topic, began: int, goes_on: int
) -> None:
    """Row 34."""
    session = Session(client, version=began)
    session.fetch({topic: [wanted()]})

    request = fetch_request({}, session_id=session.id, session_epoch=session.epoch)
    response = client.call(FETCH, goes_on, request)

    assert response.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_hears_that_its_topic_was_created_again(client: RawClient, topic: Topic) -> None:
    """Rows 34 and 35."""
    session = Session(client)
    session.fetch({topic: [wanted()]})
    delete_topic(client, topic)
    again = create_again(client, topic.name)

    former = session.fetch()
    replaced = session.fetch({again: [wanted()]}, forgotten={topic: [0]})

    # Apache Kafka's sessions remember the name as well, and find that another id has it.
    assert former[0].error_code in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID)
    assert {index: each.error_code for index, each in replaced.items()} == {0: ErrorCode.NONE}
