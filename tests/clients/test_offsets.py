"""Offsets by time and by name: the first record at or after a time, the earliest, the next."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from .drivers import CODECS, DEADLINE_S, Driver, Message
from .drivers.librdkafka import Librdkafka
from .wire import stored_batches

T0 = 1_700_000_000_000


def at(*seconds: int) -> list[Message]:
    return [Message(value=str(second).encode(), timestamp=T0 + 1000 * second) for second in seconds]


def test_a_time_between_records_finds_the_later_one(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    for second in (10, 20, 30):
        witness.produce(topic, at(second), partition=0)

    found = {second: client.offset_at(topic, 0, T0 + 1000 * second) for second in (0, 10, 11, 20, 29, 30)}

    assert found == {0: 0, 10: 0, 11: 1, 20: 1, 29: 2, 30: 2}


@pytest.mark.parametrize("codec", CODECS)
def test_a_time_is_looked_up_inside_a_batch(
    codec: str, new_topic: Callable[..., str], bootstrap: str, witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, at(*range(100)), partition=0, codec=codec)

    found = [witness.offset_at(topic, 0, T0 + 1000 * second - 1) for second in (0, 1, 50, 99)]

    assert len(stored_batches(bootstrap, topic)) < 100
    assert found == [0, 1, 50, 99]


def test_times_out_of_order_find_the_first_record_young_enough(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, at(50, 10, 60, 20, 70), partition=0)
    witness.produce(topic, at(5, 65), partition=0)

    found = {second: client.offset_at(topic, 0, T0 + 1000 * second) for second in (1, 50, 51, 61, 66)}

    assert found == {1: 0, 50: 0, 51: 2, 61: 4, 66: 4}


def test_a_time_after_the_last_record_finds_nothing(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, at(1, 2), partition=0)

    found = client.offset_at(topic, 0, T0 + 3000)

    assert found is None


def test_a_time_in_an_empty_partition_finds_nothing(client: Driver, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    found = client.offset_at(topic, 0, T0)

    assert found is None


def test_the_range_grows_with_the_log_and_shrinks_from_its_start(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()

    empty = client.offset_range(topic, 0)
    witness.produce(topic, at(1, 2, 3, 4), partition=0)
    filled = client.offset_range(topic, 0)
    witness.delete_records(topic, 0, 3)
    shortened = client.offset_range(topic, 0)

    assert [empty, filled, shortened] == [(0, 0), (0, 4), (3, 4)]


def test_the_youngest_record_is_found_by_its_time(new_topic: Callable[..., str], witness: Librdkafka) -> None:
    topic = new_topic()
    witness.produce(topic, at(10, 90, 30), partition=0)
    witness.produce(topic, at(40, 80), partition=0)
    place = TopicPartition(topic, 0)

    youngest = witness.admin.list_offsets({place: OffsetSpec.max_timestamp()})[place].result(DEADLINE_S)

    assert (youngest.offset, youngest.timestamp) == (1, T0 + 90_000)
