"""The client room against a running broker: what its callers may rely on."""

from collections.abc import Callable, Iterator

import pytest

from riverlog.client import (
    Admin,
    BrokerUnreachable,
    ConsumedRecord,
    DeliveryFailed,
    Producer,
    Span,
    SpanReader,
    TopicExists,
    UnknownTopic,
)
from riverlog.client.positions import Bounds
from riverlog.errors import RequestRefused
from riverlog.testing import broker


@pytest.fixture
def admin(bootstrap: str) -> Iterator[Admin]:
    with Admin(bootstrap) as admin:
        yield admin


def read(
    bootstrap: str, topic: str, spans: dict[int, Span], limit: int | None = None
) -> list[ConsumedRecord]:
    reader = SpanReader(bootstrap, topic, spans)
    try:
        return [record for batch in reader.batches(limit) for record in batch]
    finally:
        reader.close()


# Admin


def test_a_topic_can_be_used_as_soon_as_it_is_created(admin: Admin, bootstrap: str) -> None:
    for number in range(5):
        name = f"usable-at-once-{number}"
        admin.create_topic(name, partitions=2)

        topic = admin.topic(name)
        assert [partition.partition for partition in topic.partitions] == [0, 1]
        assert all(partition.leader is not None for partition in topic.partitions)
        assert admin.bounds(name) == {0: Bounds(0, 0), 1: Bounds(0, 0)}

        admin.delete_topic(name)
        assert name not in admin.topic_names()


def test_refusals_have_their_own_types(admin: Admin, topic: str) -> None:
    with pytest.raises(TopicExists):
        admin.create_topic(topic)
    with pytest.raises(UnknownTopic):
        admin.delete_topic("no-such-topic")
    with pytest.raises(UnknownTopic, match="has no partition 7"):
        admin.bounds(topic, [7])
    with pytest.raises(RequestRefused):
        admin.add_partitions(topic, 1)


def test_offsets_are_found_by_time(admin: Admin, bootstrap: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    with Producer(bootstrap) as producer:
        for time_ms in (1000, 3000, 2000):
            producer.send(topic, b"x", partition=1, timestamp_ms=time_ms)

    assert admin.bounds(topic) == {0: Bounds(0, 0), 1: Bounds(0, 3)}
    assert admin.offsets_at(topic, 1500) == {0: None, 1: 1}
    assert admin.offsets_at(topic, 9999, [1]) == {1: None}
    assert admin.newest(topic) == {0: None, 1: (1, 3000)}


def test_records_are_deleted_up_to_an_offset_or_all(admin: Admin, bootstrap: str, topic: str) -> None:
    with Producer(bootstrap) as producer:
        for _ in range(5):
            producer.send(topic, b"x")

    assert admin.delete_records(topic, {0: 3}) == {0: 3}
    assert admin.bounds(topic) == {0: Bounds(3, 5)}
    assert admin.delete_records(topic, {0: -1}) == {0: 5}


def test_the_cluster_names_its_brokers(admin: Admin, bootstrap: str) -> None:
    cluster = admin.cluster()

    [only] = cluster.brokers
    assert f"{only.host}:{only.port}" == bootstrap
    assert cluster.controller == only.broker_id
    assert cluster.cluster_id


# Producer


def test_every_part_of_a_record_arrives(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap, compression="zstd") as producer:
        producer.send(topic, b"v", key=b"k", headers=[("a", b"1"), ("a", None)], timestamp_ms=1234)
        producer.send(topic, None)

    first, second = read(bootstrap, topic, {0: Span(0, 2)})
    assert first == ConsumedRecord(topic, 0, 0, 1234, False, b"k", b"v", [("a", b"1"), ("a", None)])
    assert (second.key, second.value, second.headers) == (None, None, [])


def test_more_records_than_the_queue_holds_wait_for_room(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap, properties={"queue.buffering.max.messages": "1000"}) as producer:
        for number in range(5000):
            producer.send(topic, b"%d" % number)
        producer.flush()

        assert (producer.sent, producer.delivered, producer.failed, producer.waiting) == (5000, 5000, 0, 0)

    assert [record.value for record in read(bootstrap, topic, {0: Span(4998, 5000)})] == [b"4998", b"4999"]


def test_failures_are_counted_by_topic_and_reason(bootstrap: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic(max_message_bytes="1000")

    def send() -> None:
        with Producer(bootstrap, properties={"batch.num.messages": "1"}) as producer:
            producer.send(topic, b"x" * 5000)
            producer.send(topic, b"small")
            producer.send(topic, b"x" * 5000)
            producer.send(topic, b"small", partition=9)

    with pytest.raises(DeliveryFailed, match="3 records were not delivered") as caught:
        send()

    assert sorted(caught.value.reasons.values()) == [1, 2]
    assert {name for name, _ in caught.value.reasons} == {topic}
    assert [record.value for record in read(bootstrap, topic, {0: Span(0, 1)})] == [b"small"]


def test_an_error_in_the_block_is_not_hidden_by_waiting_for_delivery() -> None:
    with broker() as running:
        producer = Producer(running.bootstrap)
        producer.send("orders", b"x")
        producer.flush()
        running.pause()

        def send_and_fail() -> None:
            with producer:
                producer.send("orders", b"y")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            send_and_fail()

        assert producer.waiting == 0
        running.resume()


# SpanReader


def test_spans_end_where_they_say(bootstrap: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic(3)
    with Producer(bootstrap) as producer:
        for partition in range(3):
            for number in range(10):
                producer.send(topic, b"%d" % number, partition=partition)

    records = read(bootstrap, topic, {0: Span(2, 4), 1: Span(5, 5), 2: Span(9, 10)})

    assert sorted((record.partition, record.offset) for record in records) == [(0, 2), (0, 3), (2, 9)]


def test_a_limit_ends_an_endless_span(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number)

    assert len(read(bootstrap, topic, {0: Span(0, None)}, limit=7)) == 7


def test_a_span_ends_although_compaction_or_markers_left_its_last_offsets_empty(
    bootstrap: str, topic: str
) -> None:
    from confluent_kafka import Producer as Librdkafka

    transactional = Librdkafka({"bootstrap.servers": bootstrap, "transactional.id": topic})
    try:
        transactional.init_transactions(3)
    except Exception as exception:
        pytest.skip(f"the broker has no transactions: {exception}")
    transactional.begin_transaction()
    transactional.produce(topic, b"x")
    transactional.commit_transaction(10)

    # offset 0 is the record, 1 the marker that ends the transaction
    records = read(bootstrap, topic, {0: Span(0, 2)})

    assert [record.offset for record in records] == [0]


def test_a_reader_that_hears_nothing_gives_up_if_its_span_has_an_end() -> None:
    with broker() as running:
        with Producer(running.bootstrap) as producer:
            producer.send("orders", b"x")
        reader = SpanReader(running.bootstrap, "orders", {0: Span(0, 5)}, timeout_seconds=1)
        batches = reader.batches()
        assert [record.value for record in next(batch for batch in batches if batch)] == [b"x"]

        running.pause()
        with pytest.raises(BrokerUnreachable, match="lost contact while reading"):
            for _ in batches:
                pass

        running.kill()
        reader.close()


def test_an_endless_reader_says_what_is_wrong_and_goes_on_when_the_broker_is_back() -> None:
    with broker() as running:
        with Producer(running.bootstrap) as producer:
            producer.send("orders", b"before")
        reader = SpanReader(running.bootstrap, "orders", {0: Span(0, None)})
        batches = reader.batches()
        assert [record.value for record in next(batch for batch in batches if batch)] == [b"before"]

        running.kill()
        next(None for _ in batches if reader.trouble)
        running.start()
        with Producer(running.bootstrap) as producer:
            producer.send("orders", b"after")

        assert [record.value for record in next(batch for batch in batches if batch)] == [b"after"]
        assert reader.trouble is None
        reader.close()
