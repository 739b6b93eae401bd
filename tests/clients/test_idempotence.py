"""Lost answers: an idempotent producer tries again and the log holds each record once, in order.

The proxy lets the broker store a batch and then breaks the connection instead of passing the answer on,
so that each retry sends what is stored already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from .conftest import DRIVERS, READERS
from .drivers import DEADLINE_S, Driver, Message, await_that
from .drivers.librdkafka import Librdkafka
from .faults import INIT_PRODUCER_ID, PRODUCE, LossyProxy
from .wire import stored_batches

T0 = 1_700_000_000_000


def numbered(count: int) -> list[Message]:
    return [Message(key=b"k", value=str(n).encode(), timestamp=T0 + n) for n in range(count)]


@pytest.fixture(params=DRIVERS)
def behind_proxy(
    request: pytest.FixtureRequest, lossy: LossyProxy, open_driver: Callable[..., Driver]
) -> Iterator[Driver]:
    """Each client in turn, sure that it reaches the broker only through the proxy."""
    return open_driver(request.param, lossy.bootstrap)


def test_lost_answers_neither_lose_nor_repeat_a_record(
    behind_proxy: Driver, lossy: LossyProxy, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    lossy.lose_answers(PRODUCE, 3)

    placed = behind_proxy.produce(topic, numbered(20), partition=0, idempotent=True)
    read = witness.consume(topic, 0, 20)

    assert lossy.lost[PRODUCE] == 3
    assert [record.value for record in read] == [str(n).encode() for n in range(20)]
    assert witness.offset_range(topic, 0) == (0, 20)
    assert [place.offset for place in placed] == list(range(20))


@pytest.mark.parametrize("kind", READERS)  # KafkaJS gives up at once
def test_a_lost_answer_with_the_producer_s_id_is_asked_for_again(
    kind: type[Driver],
    open_driver: Callable[..., Driver],
    lossy: LossyProxy,
    new_topic: Callable[..., str],
    witness: Librdkafka,
) -> None:
    topic = new_topic()
    lossy.lose_answers(INIT_PRODUCER_ID, 1)

    open_driver(kind, lossy.bootstrap).produce(topic, numbered(5), partition=0, idempotent=True)

    assert lossy.lost[INIT_PRODUCER_ID] == 1
    assert witness.offset_range(topic, 0) == (0, 5)


def test_without_idempotence_a_lost_answer_stores_twice(
    lossy: LossyProxy, open_driver: Callable[..., Driver], new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    """Shows that the loss is real: what the tests above claim does not come for free."""
    topic = new_topic()
    lossy.lose_answers(PRODUCE, 1)

    open_driver(Librdkafka, lossy.bootstrap).produce(topic, numbered(5), partition=0)

    assert witness.offset_range(topic, 0) == (0, 10)


def test_batches_carry_their_producer_and_unbroken_sequences(
    client: Driver, new_topic: Callable[..., str], bootstrap: str
) -> None:
    topic = new_topic()

    client.produce(topic, numbered(30), partition=0, idempotent=True, codec="gzip")
    batches = stored_batches(bootstrap, topic)

    assert {batch.producer_epoch for batch in batches} == {0}
    assert len({batch.producer_id for batch in batches}) == 1
    assert [batch.base_sequence for batch in batches] == [batch.base_offset for batch in batches]


def test_two_producers_get_two_ids(client: Driver, new_topic: Callable[..., str], bootstrap: str) -> None:
    topic = new_topic()

    for _ in range(2):
        client.produce(topic, numbered(1), partition=0, idempotent=True)
    batches = stored_batches(bootstrap, topic)

    assert len({batch.producer_id for batch in batches}) == 2
    assert [batch.base_sequence for batch in batches] == [0, 0]


def test_a_producer_outlives_its_topic_s_re_creation(
    new_topic: Callable[..., str], bootstrap: str, witness: Librdkafka
) -> None:
    """The new log knows nothing of the producer, whose sequence goes on: that is no gap."""
    topic = new_topic()
    reports: list[tuple[object, int]] = []
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0})

    def send(value: bytes) -> None:
        producer.produce(topic, value, on_delivery=lambda error, at: reports.append((error, at.offset())))
        assert producer.flush(DEADLINE_S) == 0

    send(b"old 0")
    send(b"old 1")
    witness.delete_topic(topic)
    await_that(lambda: topic not in witness.topics(), "the topic is gone")
    witness.create_topic(topic)
    await_that(lambda: topic in witness.topics(), "the topic is back")
    send(b"new 0")

    assert reports == [(None, 0), (None, 1), (None, 0)]
    assert [record.value for record in witness.consume(topic, 0, 1)] == [b"new 0"]
