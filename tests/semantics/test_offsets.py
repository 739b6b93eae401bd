"""Rows 36, 37, 39, 42 and 44-47: offsets by time, by leader epoch, and where a log starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.records import Record, build_batch
from tests.batch_builders import BATCH_TIME_MS, batch
from tests.process.raw_client import RawClient

from .asking import (
    FETCH_VERSIONS,
    Topic,
    append,
    batches_of,
    delete_records,
    end_of_epoch,
    eventually,
    fetch,
    list_offset,
    log_end,
    topics_described,
)
from .conftest import BrokerUnderTest, GivenBroker, await_topic

NewTopic = Callable[..., Topic]

EARLIEST, LATEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = (
    -2,
    -1,
    -3,
    -4,
    -5,
    -6,
)
LIST_OFFSETS_VERSIONS = (1, 4, 7, 11)
FIRST_WITH_LEADER_EPOCH = 4
NOT_EARLIER, NOT_LATER, NOWHERE = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH, (-1, -1)


def at_times(*times: int, codec: Compression = Compression.NONE) -> bytearray:
    """A batch of records with these times, counted from the time that batches have in tests."""
    return build_batch(
        [Record(index, BATCH_TIME_MS + time, b"key", b"value") for index, time in enumerate(times)],
        compression=codec,
    )


def found(client: RawClient, topic: Topic, time: int, version: int = 11) -> tuple[int, int]:
    """Look up a time; give offset and time of what was found, the time counted likewise."""
    reply = list_offset(client, topic, BATCH_TIME_MS + time, version=version)
    assert reply.error_code == ErrorCode.NONE
    return (reply.offset, reply.timestamp - BATCH_TIME_MS if reply.timestamp >= 0 else -1)


# By time


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("version", LIST_OFFSETS_VERSIONS)
def test_a_time_leads_to_the_first_record_with_at_least_that_time(
    client: RawClient, topic: Topic, version: int, codec: Compression
) -> None:
    """Row 42."""
    append(client, topic, at_times(0, 10, 20, codec=codec), at_times(30, 40, 50, codec=codec))

    looked_up = {time: found(client, topic, time, version) for time in (-5, 0, 1, 10, 11, 30, 45, 50)}

    assert looked_up == {
        -5: (0, 0),
        0: (0, 0),
        1: (1, 10),
        10: (1, 10),
        11: (2, 20),
        30: (3, 30),
        45: (5, 50),
        50: (5, 50),
    }


@pytest.mark.parametrize("version", LIST_OFFSETS_VERSIONS)
def test_a_time_after_all_records_leads_nowhere(client: RawClient, topic: Topic, version: int) -> None:
    """Row 42."""
    empty = found(client, topic, 0, version)
    append(client, topic, at_times(0, 10))

    assert empty == found(client, topic, 11, version) == NOWHERE


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
def test_times_out_of_order_lead_to_the_first_by_offset(
    client: RawClient, topic: Topic, codec: Compression
) -> None:
    """Row 42."""
    append(client, topic, at_times(50, 20, 60, codec=codec), at_times(10, 70, codec=codec))

    assert [found(client, topic, time) for time in (0, 15, 51, 61)] == [(0, 50), (0, 50), (2, 60), (4, 70)]


def test_a_time_never_leads_before_the_log_s_start(client: RawClient, topic: Topic) -> None:
    """Row 42."""
    append(client, topic, at_times(0, 10, 20, 30))
    assert delete_records(client, topic, 2).error_code == ErrorCode.NONE

    assert found(client, topic, 0) == (2, 20)


# Special times


@pytest.mark.parametrize("version", LIST_OFFSETS_VERSIONS)
def test_earliest_and_latest_are_start_and_end_without_a_time(
    client: RawClient, topic: Topic, version: int
) -> None:
    """Row 44."""
    append(client, topic, batch(5))
    assert delete_records(client, topic, 2).error_code == ErrorCode.NONE

    replies = [list_offset(client, topic, special, version=version) for special in (EARLIEST, LATEST)]

    assert [(each.error_code, each.offset, each.timestamp) for each in replies] == [(0, 2, -1), (0, 5, -1)]


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
@pytest.mark.parametrize("version", [7, 11])
def test_the_largest_time_has_the_offset_of_its_first_record(
    client: RawClient, topic: Topic, version: int, codec: Compression
) -> None:
    """Row 44."""
    append(client, topic, at_times(0, 90, 90, 5, codec=codec), at_times(20, 90, codec=codec))

    reply = list_offset(client, topic, MAX_TIMESTAMP, version=version)

    assert (reply.error_code, reply.offset, reply.timestamp) == (0, 1, BATCH_TIME_MS + 90)


def test_an_empty_log_has_no_largest_time(client: RawClient, topic: Topic) -> None:
    """Row 44."""
    reply = list_offset(client, topic, MAX_TIMESTAMP)

    assert (reply.error_code, reply.offset, reply.timestamp) == (0, -1, -1)


@pytest.mark.parametrize("version", [8, 11])
def test_what_is_here_starts_where_the_log_starts(client: RawClient, topic: Topic, version: int) -> None:
    """Row 44."""
    append(client, topic, batch(5))
    assert delete_records(client, topic, 3).error_code == ErrorCode.NONE

    reply = list_offset(client, topic, EARLIEST_LOCAL, version=version)

    assert (reply.error_code, reply.offset, reply.timestamp) == (0, 3, -1)


@pytest.mark.parametrize(
    ("special", "version"), [(LATEST_TIERED, 9), (LATEST_TIERED, 11), (EARLIEST_PENDING_UPLOAD, 11)]
)
def test_nothing_is_in_tiered_storage(client: RawClient, topic: Topic, special: int, version: int) -> None:
    """Row 44: what holds where there is none."""
    append(client, topic, batch(5))

    reply = list_offset(client, topic, special, version=version)

    assert (reply.error_code, reply.offset, reply.timestamp) == (0, -1, -1)


@pytest.mark.parametrize(
    ("special", "version"),
    [
        (MAX_TIMESTAMP, 6),
        (EARLIEST_LOCAL, 7),
        (LATEST_TIERED, 8),
        (EARLIEST_PENDING_UPLOAD, 10),
        (-7, 11),
        (-(2**63), 11),
    ],
)
def test_a_special_time_that_the_version_does_not_know_is_refused(
    client: RawClient, topic: Topic, special: int, version: int
) -> None:
    """Row 44."""
    reply = list_offset(client, topic, special, version=version)

    assert (reply.error_code, reply.offset) == (ErrorCode.UNSUPPORTED_VERSION, -1)


# Leader epochs


class Epochs(NamedTuple):
    """A topic with three records of one leader epoch and two of a later one."""

    topic: Topic
    former: int
    current: int


@pytest.fixture(scope="module")
def led_twice(broker: BrokerUnderTest | GivenBroker, topic_name: Callable[[], str]) -> Epochs:
    """A topic whose leader crashed between two appends; the tests only read it."""
    name = topic_name()
    with RawClient(broker.bootstrap) as client:
        topic = Topic(name, client.create_topic(name, retention_ms="-1"))
        await_topic(client, name, 1)
        append(client, topic, batch(3))
        (told,) = topics_described(client, name)
        former = told.partitions[0].leader_epoch
    broker.restart()
    with RawClient(broker.bootstrap) as client:
        await_topic(client, name, 1)
        append(client, topic, batch(2, timestamp=BATCH_TIME_MS + 100))
        (told,) = topics_described(client, name)
    return Epochs(topic, former, told.partitions[0].leader_epoch)


def test_a_crash_begins_a_new_leader_epoch_and_keeps_what_was_acknowledged(
    client: RawClient, led_twice: Epochs
) -> None:
    """Row 37."""
    read = batches_of(fetch(client, led_twice.topic).records)

    assert led_twice.former < led_twice.current
    assert [(each.header.base_offset, each.header.leader_epoch) for each in read] == [
        (0, led_twice.former),
        (3, led_twice.current),
    ]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_epoch_ends_where_the_next_begins_and_the_last_at_the_log_s_end(
    client: RawClient, led_twice: Epochs, version: int
) -> None:
    """Row 37."""
    topic, former, current = led_twice

    ends = {
        epoch: end_of_epoch(client, topic, epoch, version=version) for epoch in range(former, current + 1)
    }

    assert all(each.error_code == ErrorCode.NONE for each in ends.values())
    # An epoch without records ends where the last one before it does.
    assert {epoch: (each.leader_epoch, each.end_offset) for epoch, each in ends.items()} == {
        **dict.fromkeys(range(former, current), (former, 3)),
        current: (current, 5),
    }


def test_the_end_of_an_epoch_that_is_not_known_is_nowhere(client: RawClient, led_twice: Epochs) -> None:
    """Row 37."""
    for epoch in (led_twice.current + 1, 2**31 - 1, -1):
        reply = end_of_epoch(client, led_twice.topic, epoch)
        assert (reply.error_code, reply.leader_epoch, reply.end_offset) == (ErrorCode.NONE, -1, -1)


def test_the_epoch_of_an_empty_log_ends_at_0(client: RawClient, topic: Topic) -> None:
    """Row 37."""
    reply = end_of_epoch(client, topic, 0)

    assert (reply.error_code, reply.leader_epoch, reply.end_offset) == (ErrorCode.NONE, 0, 0)


def test_a_partition_that_is_not_there_has_no_epochs(client: RawClient, topic: Topic) -> None:
    """Rows 37 and 80."""
    for partition in (1, -1):
        reply = end_of_epoch(client, topic, 0, partition=partition)
        assert reply.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (reply.leader_epoch, reply.end_offset) == NOWHERE


@pytest.mark.parametrize("version", [version for version in FETCH_VERSIONS if version >= 9])
def test_a_fetch_in_another_leader_epoch_is_refused(
    client: RawClient, led_twice: Epochs, version: int
) -> None:
    """Row 36."""
    topic, former, current = led_twice

    errors = [
        fetch(client, topic, version=version, current_leader_epoch=epoch).error_code
        for epoch in (former, current + 1, current, -1)
    ]

    assert errors == [NOT_EARLIER, NOT_LATER, ErrorCode.NONE, ErrorCode.NONE]


@pytest.mark.parametrize("version", [4, 11])
@pytest.mark.parametrize("special", [EARLIEST, LATEST, BATCH_TIME_MS])
def test_a_look_up_in_another_leader_epoch_is_refused(
    client: RawClient, led_twice: Epochs, version: int, special: int
) -> None:
    """Row 36."""
    topic, former, current = led_twice

    errors = [
        list_offset(client, topic, special, version=version, current_leader_epoch=epoch).error_code
        for epoch in (former, current + 1, current, -1)
    ]

    assert errors == [NOT_EARLIER, NOT_LATER, ErrorCode.NONE, ErrorCode.NONE]


@pytest.mark.parametrize("version", [2, 4])
def test_a_question_after_epochs_in_another_leader_epoch_is_refused(
    client: RawClient, led_twice: Epochs, version: int
) -> None:
    """Row 36."""
    topic, former, current = led_twice

    errors = [
        end_of_epoch(client, topic, former, version=version, current_leader_epoch=epoch).error_code
        for epoch in (former, current + 1, current, -1)
    ]

    assert errors == [NOT_EARLIER, NOT_LATER, ErrorCode.NONE, ErrorCode.NONE]


@pytest.mark.parametrize("version", [12, 13, 18])
def test_a_fetch_after_records_that_the_log_does_not_have_is_told_where_they_part(
    client: RawClient, led_twice: Epochs, version: int
) -> None:
    """Row 39."""
    topic, former, _ = led_twice

    reply = fetch(client, topic, 5, version=version, last_fetched_epoch=former)

    assert reply.error_code == ErrorCode.NONE
    assert (reply.diverging_epoch.epoch, reply.diverging_epoch.end_offset) == (former, 3)
    assert not reply.records


@pytest.mark.parametrize("version", [12, 18])
def test_a_fetch_that_agrees_with_the_log_goes_on(client: RawClient, led_twice: Epochs, version: int) -> None:
    """Row 39."""
    topic, former, current = led_twice

    inside = fetch(client, topic, 3, version=version, last_fetched_epoch=former)
    at_end = fetch(client, topic, 5, version=version, last_fetched_epoch=current)

    assert [each.header.base_offset for each in batches_of(inside.records)] == [3]
    assert (at_end.error_code, at_end.high_watermark) == (ErrorCode.NONE, 5)
    assert inside.diverging_epoch.end_offset == at_end.diverging_epoch.end_offset == -1


def test_a_fetch_after_an_epoch_from_the_future_is_out_of_range(client: RawClient, led_twice: Epochs) -> None:
    """Row 39."""
    reply = fetch(client, led_twice.topic, 5, last_fetched_epoch=led_twice.current + 1)

    assert reply.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_before_the_log_s_start_nothing_parts(client: RawClient, topic: Topic) -> None:
    """Row 39."""
    append(client, topic, batch(5))
    assert delete_records(client, topic, 3).error_code == ErrorCode.NONE

    reply = fetch(client, topic, 2, last_fetched_epoch=0)

    assert reply.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("version", [4, 7, 11])
def test_a_look_up_tells_the_leader_epoch_of_what_it_found(
    client: RawClient, led_twice: Epochs, version: int
) -> None:
    """Row 45."""
    topic, former, current = led_twice

    def epoch_at(special: int) -> int:
        return int(list_offset(client, topic, special, version=version).leader_epoch)

    assert epoch_at(EARLIEST) == epoch_at(BATCH_TIME_MS) == former
    assert epoch_at(LATEST) == epoch_at(BATCH_TIME_MS + 50) == current
    assert epoch_at(BATCH_TIME_MS + 1000) == -1


def test_a_look_up_of_the_largest_time_tells_its_leader_epoch(client: RawClient, led_twice: Epochs) -> None:
    """Row 45."""
    reply = list_offset(client, led_twice.topic, MAX_TIMESTAMP)

    assert (reply.offset, reply.leader_epoch) == (4, led_twice.current)


# Where a log starts


@pytest.mark.parametrize("version", [0, 1, 2])
def test_records_before_an_offset_are_deleted(client: RawClient, topic: Topic, version: int) -> None:
    """Row 46."""
    append(client, topic, batch(3), batch(3))

    reply = delete_records(client, topic, 4, version=version)

    assert (reply.error_code, reply.low_watermark) == (ErrorCode.NONE, 4)
    assert list_offset(client, topic, EARLIEST).offset == 4
    assert log_end(client, topic) == 6


def test_minus_1_deletes_up_to_the_high_watermark(client: RawClient, topic: Topic) -> None:
    """Row 46."""
    append(client, topic, batch(6))

    reply = delete_records(client, topic, -1)

    assert (reply.error_code, reply.low_watermark) == (ErrorCode.NONE, 6)
    assert list_offset(client, topic, EARLIEST).offset == log_end(client, topic) == 6


@pytest.mark.parametrize("offset", [7, 2**63 - 1, -2, -(2**63)])
def test_a_deletion_beyond_the_end_or_before_all_offsets_is_out_of_range(
    client: RawClient, topic: Topic, offset: int
) -> None:
    """Row 46."""
    append(client, topic, batch(6))

    reply = delete_records(client, topic, offset)

    assert (reply.error_code, reply.low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert list_offset(client, topic, EARLIEST).offset == 0


@pytest.mark.parametrize("offset", [0, 2, 4])
def test_a_deletion_at_or_below_the_start_changes_nothing(
    client: RawClient, topic: Topic, offset: int
) -> None:
    """Row 46."""
    append(client, topic, batch(6))
    delete_records(client, topic, 4)

    reply = delete_records(client, topic, offset)

    assert (reply.error_code, reply.low_watermark) == (ErrorCode.NONE, 4)


def test_a_topic_that_only_compacts_keeps_its_records(client: RawClient, new_topic: NewTopic) -> None:
    """Row 46."""
    compacts, does_both = new_topic(cleanup_policy="compact"), new_topic(cleanup_policy="compact,delete")
    for topic in (compacts, does_both):
        append(client, topic, batch(6))

    replies = [delete_records(client, topic, 3) for topic in (compacts, does_both)]

    assert [(each.error_code, each.low_watermark) for each in replies] == [
        (ErrorCode.POLICY_VIOLATION, -1),
        (ErrorCode.NONE, 3),
    ]


def test_a_partition_that_is_not_there_has_no_records_to_delete(client: RawClient, topic: Topic) -> None:
    """Rows 46 and 80."""
    for partition in (1, -1):
        reply = delete_records(client, topic, 0, partition=partition)
        assert (reply.error_code, reply.low_watermark) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_the_start_after_retention_can_be_fetched_at_once(client: RawClient, new_topic: NewTopic) -> None:
    """Row 47."""
    topic = new_topic(retention_ms="1000")
    append(client, topic, batch(3), batch(3))

    eventually(lambda: list_offset(client, topic, EARLIEST).offset == 6, "retention deletes old records")
    at_start = fetch(client, topic, 6)
    before_start = fetch(client, topic, 5)

    assert (at_start.error_code, at_start.log_start_offset, at_start.high_watermark) == (ErrorCode.NONE, 6, 6)
    assert before_start.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
