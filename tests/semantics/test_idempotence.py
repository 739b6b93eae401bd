"""Rows 11-15: a producer's batches are stored once and in order, however often it sends them."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import batch
from tests.process.raw_client import INIT_PRODUCER_ID, RawClient

from .asking import (
    PRODUCE_VERSIONS,
    Topic,
    append,
    create_again,
    delete_topic,
    eventually,
    log_end,
    produce,
    stored,
)

NewTopic = Callable[..., Topic]

LAST_SEQUENCE = 2**31 - 1
POLICIES = ["delete", "compact"]


def allotted(client: RawClient, version: int = 4) -> tuple[int, int]:
    """Ask for a producer id and epoch, again while the broker has no block of ids yet."""
    request = messages.InitProducerIdRequest(transactional_id=None)
    replies = []

    def is_allotted() -> bool:
        replies.append(client.call(INIT_PRODUCER_ID, version, request))
        return bool(replies[-1].error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    eventually(is_allotted, "producer ids are given out")
    assert replies[-1].error_code == ErrorCode.NONE
    return replies[-1].producer_id, replies[-1].producer_epoch


class Producer:
    """An idempotent producer that sends what sequence it is told to."""

    def __init__(self, client: RawClient) -> None:
        self.id, self.epoch = allotted(client)

    def batch(self, sequence: int, count: int = 2) -> bytes:
        return bytes(batch(count, producer_id=self.id, producer_epoch=self.epoch, base_sequence=sequence))


@pytest.fixture
def producer(client: RawClient) -> Producer:
    return Producer(client)


@pytest.mark.parametrize("version", range(6))
def test_every_producer_gets_an_id_of_its_own(client: RawClient, version: int) -> None:
    """Row 11."""
    producers = [allotted(client, version) for _ in range(3)]

    assert {epoch for _, epoch in producers} == {0}
    assert len({producer_id for producer_id, _ in producers}) == 3


@pytest.mark.parametrize("again", range(5))
@pytest.mark.parametrize("version", [3, 7, 13])
def test_a_retry_of_any_of_the_last_five_batches_gets_its_first_offset(
    client: RawClient, topic: Topic, producer: Producer, again: int, version: int
) -> None:
    """Row 11."""
    append(client, topic, *(producer.batch(2 * number) for number in range(7)))

    reply = produce(client, topic, producer.batch(2 * (2 + again)), version=version)

    assert (reply.error_code, reply.base_offset) == (ErrorCode.NONE, 2 * (2 + again))
    assert log_end(client, topic) == 14


def test_retries_leave_the_log_as_it_is(client: RawClient, topic: Topic, producer: Producer) -> None:
    """Row 11."""
    append(client, topic, *(producer.batch(2 * number) for number in range(5)))
    before = stored(client, topic)

    for number in (4, 0, 2, 2):
        assert produce(client, topic, producer.batch(2 * number)).error_code == ErrorCode.NONE

    assert stored(client, topic) == before
    assert append(client, topic, producer.batch(10)) == 12


def test_a_retry_older_than_the_last_five_is_out_of_order(
    client: RawClient, topic: Topic, producer: Producer
) -> None:
    """Row 11."""
    append(client, topic, *(producer.batch(2 * number) for number in range(6)))

    reply = produce(client, topic, producer.batch(0))

    assert reply.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log_end(client, topic) == 12


def test_a_retry_under_log_append_time_tells_the_time_of_the_first(
    client: RawClient, new_topic: NewTopic, producer: Producer
) -> None:
    """Row 11."""
    topic = new_topic(message_timestamp_type="LogAppendTime")
    first = produce(client, topic, producer.batch(0))

    again = produce(client, topic, producer.batch(0))

    assert (again.base_offset, again.log_append_time_ms) == (0, first.log_append_time_ms)
    assert log_end(client, topic) == 2


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_a_gap_in_the_sequence_is_refused(
    client: RawClient, topic: Topic, producer: Producer, version: int
) -> None:
    """Row 12."""
    append(client, topic, producer.batch(0))

    reply = produce(client, topic, producer.batch(3), version=version)

    assert (reply.error_code, reply.base_offset) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert log_end(client, topic) == 2


def test_an_overlap_is_no_retry(client: RawClient, topic: Topic, producer: Producer) -> None:
    """Row 12."""
    append(client, topic, producer.batch(0, count=4))

    reply = produce(client, topic, producer.batch(2, count=4))

    assert reply.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log_end(client, topic) == 4


@pytest.mark.parametrize(
    ("first", "count", "following"),
    [(LAST_SEQUENCE - 1, 2, 0), (LAST_SEQUENCE - 1, 4, 2), (LAST_SEQUENCE, 1, 0), (LAST_SEQUENCE, 2, 1)],
)
def test_sequences_go_on_at_0_after_the_last(
    client: RawClient, topic: Topic, producer: Producer, first: int, count: int, following: int
) -> None:
    """Row 12."""
    append(client, topic, producer.batch(first, count))

    gap = produce(client, topic, producer.batch(following + 1))
    next_one = produce(client, topic, producer.batch(following))
    again = produce(client, topic, producer.batch(first, count))

    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (next_one.error_code, next_one.base_offset) == (ErrorCode.NONE, count)
    assert (again.error_code, again.base_offset) == (ErrorCode.NONE, 0)


def test_a_new_epoch_starts_at_sequence_0(client: RawClient, topic: Topic, producer: Producer) -> None:
    """Row 13."""
    append(client, topic, producer.batch(0))
    producer.epoch += 1

    later = produce(client, topic, producer.batch(2))
    at_0 = produce(client, topic, producer.batch(0))

    assert later.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (at_0.error_code, at_0.base_offset) == (ErrorCode.NONE, 2)


@pytest.mark.parametrize("sequence", [0, 2])
def test_a_stale_epoch_is_refused(client: RawClient, topic: Topic, producer: Producer, sequence: int) -> None:
    """Row 13."""
    producer.epoch = 1
    append(client, topic, producer.batch(0))
    producer.epoch = 0

    reply = produce(client, topic, producer.batch(sequence))

    assert (reply.error_code, reply.base_offset) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
    assert log_end(client, topic) == 2


@pytest.mark.parametrize("sequence", [0, 1, 1000, LAST_SEQUENCE])
def test_an_unknown_producer_may_start_anywhere(
    client: RawClient, topic: Topic, producer: Producer, sequence: int
) -> None:
    """Row 14."""
    reply = produce(client, topic, producer.batch(sequence, count=1))

    assert (reply.error_code, reply.base_offset) == (ErrorCode.NONE, 0)


def test_partitions_know_producers_each_for_itself(
    client: RawClient, new_topic: NewTopic, producer: Producer
) -> None:
    """Row 14."""
    topic = new_topic(partitions=2)
    append(client, topic, producer.batch(0), producer.batch(2))

    elsewhere = produce(client, topic, producer.batch(40), partition=1)

    assert (elsewhere.error_code, elsewhere.base_offset) == (ErrorCode.NONE, 0)


def test_a_producer_goes_on_in_a_topic_that_was_created_again(
    client: RawClient, topic: Topic, producer: Producer
) -> None:
    """Row 14."""
    append(client, topic, producer.batch(0), producer.batch(2))
    delete_topic(client, topic)
    again = create_again(client, topic.name)

    reply = produce(client, again, producer.batch(4))

    assert (reply.error_code, reply.base_offset) == (ErrorCode.NONE, 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_retries_gaps_and_stale_epochs_are_found_under_each_policy(
    client: RawClient, new_topic: NewTopic, producer: Producer, policy: str
) -> None:
    """Row 15."""
    topic = new_topic(cleanup_policy=policy)
    append(client, topic, producer.batch(0), producer.batch(2))

    retry = produce(client, topic, producer.batch(0))
    gap = produce(client, topic, producer.batch(6))
    producer.epoch -= 1
    stale = produce(client, topic, producer.batch(4))

    assert (retry.error_code, retry.base_offset) == (ErrorCode.NONE, 0)
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert stale.error_code != ErrorCode.NONE
    assert log_end(client, topic) == 4


def test_two_producers_do_not_disturb_each_other(client: RawClient, topic: Topic) -> None:
    """Row 15."""
    one, other = Producer(client), Producer(client)

    for sequence, producer in itertools.product((0, 2, 4), (one, other)):
        append(client, topic, producer.batch(sequence))

    assert [each.header.producer_id for each in stored(client, topic)] == [one.id, other.id] * 3
