"""Consumer groups, as far as any client needs them to read at all: join, read, commit, come back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .drivers import CODECS, Driver, Message
from .drivers.librdkafka import Librdkafka

T0 = 1_700_000_000_000


def numbered(count: int, *, start: int = 0) -> list[Message]:
    return [Message(key=b"k", value=str(n).encode(), timestamp=T0 + n) for n in range(start, start + count)]


def test_a_member_reads_what_was_sent(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    sent = [
        Message(b"key", b"value", (("a", b"1"), ("b", b"\x00\xff")), T0),
        Message(None, b"no key", (), T0 + 1),
        Message(b"no value", None, (), T0 + 2),
    ]
    witness.produce(topic, sent, partition=0)

    read = client.consume_in_group(topic, f"group-{topic}", 3)

    assert [record.message() for record in read] == sent
    assert [record.offset for record in read] == [0, 1, 2]


def test_a_group_goes_on_where_it_committed(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, numbered(5), partition=0)

    first = client.consume_in_group(topic, f"group-{topic}", 5)
    witness.produce(topic, numbered(3, start=5), partition=0)
    second = client.consume_in_group(topic, f"group-{topic}", 3)

    assert [record.offset for record in first + second] == list(range(8))


def test_one_client_s_commit_is_every_client_s(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, numbered(5), partition=0)

    client.consume_in_group(topic, f"group-{topic}", 5)
    witness.produce(topic, numbered(2, start=5), partition=0)
    read = witness.consume_in_group(topic, f"group-{topic}", 2)

    assert [record.offset for record in read] == [5, 6]


def test_a_lone_member_reads_all_partitions(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic(partitions=3)
    for partition in range(3):
        witness.produce(topic, numbered(4, start=10 * partition), partition=partition)

    read = client.consume_in_group(topic, f"group-{topic}", 12)

    for partition in range(3):
        values = [record.value for record in read if record.partition == partition]
        assert values == [str(n).encode() for n in range(10 * partition, 10 * partition + 4)]


def test_every_codec_reaches_a_member(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    for index, codec in enumerate(CODECS):
        witness.produce(topic, numbered(20, start=20 * index), partition=0, codec=codec)

    read = client.consume_in_group(topic, f"group-{topic}", 100)

    assert [record.message() for record in read] == numbered(100)


@pytest.mark.java
def test_java_s_consumer_joins_a_group_and_its_lag_is_shown(
    kafka_tool: Callable[..., str], new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    group = f"group-{topic}"
    witness.produce(topic, numbered(10), partition=0)

    printed = kafka_tool(
        *("kafka-console-consumer", "--topic", topic, "--group", group, "--from-beginning"),
        *("--max-messages", "10", "--timeout-ms", "20000"),
    )
    witness.produce(topic, numbered(4, start=10), partition=0)
    described = kafka_tool("kafka-consumer-groups", "--describe", "--group", group)

    assert [line for line in printed.splitlines() if line.isdigit()] == [str(n) for n in range(10)]
    (row,) = [line.split() for line in described.splitlines() if topic in line.split()]
    assert row[:6] == [group, topic, "0", "10", "14", "4"]


@pytest.mark.java
def test_java_s_consumer_perf_test_reads_everything(
    kafka_tool: Callable[..., str], new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic(partitions=2)
    for partition in range(2):
        witness.produce(topic, numbered(500), partition=partition, codec="lz4")

    printed = kafka_tool(
        "kafka-consumer-perf-test", "--topic", topic, "--num-records", "1000", "--hide-header"
    )

    fields = printed.splitlines()[-1].split(", ")
    assert fields[4] == "1000"
