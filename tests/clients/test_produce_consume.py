"""What is produced is what is consumed: bytes, nulls, headers, times, offsets, codecs, acknowledgements."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .drivers import CODECS, Driver, Message, Reader
from .drivers.librdkafka import Librdkafka
from .wire import stored_batches

T0 = 1_700_000_000_000


def numbered(count: int, *, start: int = 0, size: int = 20) -> list[Message]:
    """Messages that tell their number, `start` first."""
    return [
        Message(key=f"key-{n}".encode(), value=str(n).encode().ljust(size, b"."), timestamp=T0 + n)
        for n in range(start, start + count)
    ]


def test_offsets_start_at_zero_and_rise_by_one(client: Driver, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    first = client.produce(topic, numbered(3), partition=0)
    second = client.produce(topic, numbered(2, start=3), partition=0)

    assert [place.offset for place in first + second] == [0, 1, 2, 3, 4]


def test_keys_values_and_times_come_back_as_sent(reader: Reader, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    sent = numbered(50)

    reader.produce(topic, sent, partition=0)
    read = reader.consume(topic, 0, 50)

    assert [record.message() for record in read] == sent
    assert [record.offset for record in read] == list(range(50))


def test_null_and_empty_are_told_apart(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    sent = [
        Message(key=None, value=b"no key", timestamp=T0),
        Message(key=b"no value", value=None, timestamp=T0),
        Message(key=b"", value=b"empty key", timestamp=T0),
        Message(key=b"empty value", value=b"", timestamp=T0),
        Message(key=b"\x00\xff\xfe", value=bytes(range(256)), timestamp=T0),
    ]

    client.produce(topic, sent, partition=0)
    read = witness.consume(topic, 0, len(sent))

    assert [record.message() for record in read] == sent


def test_a_null_key_with_a_null_value_is_a_record(
    reader: Reader, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    nothing = Message(key=None, value=None, timestamp=T0)

    witness.produce(topic, [nothing, nothing], partition=0)
    read = reader.consume(topic, 0, 2)

    assert [record.message() for record in read] == [nothing, nothing]


def test_headers_keep_order_repeats_and_bytes(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    headers = (
        ("trace", b"1"),
        ("trace", b"2"),
        ("über", "größe".encode()),
        ("empty", b""),
        ("raw", b"\x00\xff"),
    )
    sent = [Message(value=b"with", headers=headers, timestamp=T0), Message(value=b"without", timestamp=T0)]

    client.produce(topic, sent, partition=0)
    read = witness.consume(topic, 0, 2)

    assert [record.message() for record in read] == sent


def test_a_header_without_a_value_is_not_an_empty_one(
    reader: Reader, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    sent = Message(value=b"x", headers=(("null", None), ("empty", b"")), timestamp=T0)

    witness.produce(topic, [sent], partition=0)
    (read,) = reader.consume(topic, 0, 1)

    assert read.headers == (("null", None), ("empty", b""))


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_stays_compressed_as_its_producer_did_it(
    client: Driver, codec: str, new_topic: Callable[..., str], bootstrap: str, witness: Librdkafka
) -> None:
    topic = new_topic()
    sent = numbered(100, size=200)

    client.produce(topic, sent, partition=0, codec=codec)
    batches = stored_batches(bootstrap, topic)
    read = witness.consume(topic, 0, 100)

    assert {batch.codec for batch in batches} == {codec}
    assert sum(batch.record_count for batch in batches) == 100
    assert [record.message() for record in read] == sent


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_a_topic_with_a_codec_of_its_own_recompresses(
    codec: str, new_topic: Callable[..., str], bootstrap: str, witness: Librdkafka
) -> None:
    topic = new_topic(compression_type=codec)
    sent = numbered(100, size=200)
    produced_as = "gzip" if codec != "gzip" else "lz4"

    witness.produce(topic, sent, partition=0, codec=produced_as)
    batches = stored_batches(bootstrap, topic)
    read = witness.consume(topic, 0, 100)

    assert {batch.codec for batch in batches} == {"none" if codec == "uncompressed" else codec}
    assert [record.message() for record in read] == sent


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_every_kind_of_acknowledgement_stores_once(
    client: Driver, acks: int, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    sent = numbered(10)

    client.produce(topic, sent, partition=0, acks=acks)
    read = witness.consume(topic, 0, 10)

    assert [record.message() for record in read] == sent
    assert witness.offset_range(topic, 0) == (0, 10)


def test_one_replica_is_enough_for_any_minimum(new_topic: Callable[..., str], witness: Librdkafka) -> None:
    """A minimum above the number of replicas counts as that number (Kafka 4, KIP-966)."""
    topic = new_topic(min_insync_replicas="2")

    (place,) = witness.produce(topic, numbered(1), partition=0, acks=-1)

    assert place.offset == 0


def test_reading_starts_inside_a_batch(reader: Reader, new_topic: Callable[..., str], bootstrap: str) -> None:
    topic = new_topic()
    sent = numbered(100)
    reader.produce(topic, sent, partition=0, codec="gzip")

    read = reader.consume(topic, 0, 5, start=42)

    assert len(stored_batches(bootstrap, topic)) < 100
    assert [record.message() for record in read] == sent[42:47]
    assert [record.offset for record in read] == [42, 43, 44, 45, 46]


def test_a_small_fetch_limit_still_makes_progress(reader: Reader, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    sent = numbered(5, size=50_000)
    for message in sent:
        reader.produce(topic, [message], partition=0)

    read = reader.consume(topic, 0, 5, fetch_bytes_max=10_000)

    assert [record.message() for record in read] == sent


def test_a_reader_past_the_end_goes_where_it_was_told(
    reader: Reader, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    sent = numbered(3)
    witness.produce(topic, sent, partition=0)

    read = reader.consume(topic, 0, 3, start=1000, reset="earliest")

    assert [record.message() for record in read] == sent


def test_producing_to_an_unknown_topic_creates_it_with_the_default_partitions(
    client: Driver, topic_name: Callable[[], str], witness: Librdkafka
) -> None:
    topic = topic_name()

    (place,) = client.produce(topic, [Message(value=b"first", timestamp=T0)])
    (read,) = witness.consume(topic, place.partition, 1)

    assert read.value == b"first"
    assert witness.topics()[topic] == 3


def test_log_append_time_replaces_the_producer_s(
    reader: Reader, new_topic: Callable[..., str], bootstrap: str
) -> None:
    topic = new_topic(message_timestamp_type="LogAppendTime")
    sent = numbered(3)

    reader.produce(topic, sent, partition=0, codec="lz4")
    read = reader.consume(topic, 0, 3)

    assert all(batch.is_log_append_time for batch in stored_batches(bootstrap, topic))
    assert all(record.timestamp > T0 + 1_000_000 for record in read)
    assert [record.value for record in read] == [message.value for message in sent]


def test_several_partitions_are_read_independently(reader: Reader, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=3)
    for partition in range(3):
        reader.produce(topic, numbered(4, start=10 * partition), partition=partition)

    read = {partition: reader.consume(topic, partition, 4) for partition in range(3)}

    for partition, records in read.items():
        assert [record.message() for record in records] == numbered(4, start=10 * partition)
        assert {record.partition for record in records} == {partition}
