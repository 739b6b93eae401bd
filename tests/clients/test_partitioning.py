"""One key, one partition, whichever client writes it: all hash with murmur2, as Java's producer does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .drivers import Driver, Message
from .drivers.librdkafka import Librdkafka

PARTITIONS = 12
KEYS = [
    *(f"user-{n}" for n in range(30)),
    "a",
    "ab",
    "abc",
    "abcd",
    "größe",
    "日本語",
    "x" * 1000,
]

# What Java's producer does with these keys and twelve partitions; `test_java_agrees` keeps it honest.
PARTITION_OF_EACH = [
    *(7, 8, 8, 11, 7, 10, 5, 8, 9, 11, 2, 10, 6, 7, 5, 8, 6, 0, 2, 10, 7, 4, 3, 4, 9, 10, 6, 1, 1, 11),
    *(4, 2, 3, 8, 8, 10, 6),
]
JAVA_S_CHOICE = dict(zip(KEYS, PARTITION_OF_EACH, strict=True))


def test_a_key_goes_where_java_would_send_it(client: Driver, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=PARTITIONS)

    placed = client.produce(topic, [Message(key=key.encode(), value=b"x") for key in KEYS])

    assert {key: place.partition for key, place in zip(KEYS, placed, strict=True)} == JAVA_S_CHOICE


@pytest.mark.java
def test_java_agrees(
    kafka_tool: Callable[..., str], new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic(partitions=PARTITIONS)
    lines = "".join(f"{key}:x\n" for key in KEYS)

    kafka_tool(
        *("kafka-console-producer", "--topic", topic, "--reader-property", "parse.key=true"),
        *("--reader-property", "key.separator=:"),
        stdin=lines,
    )
    read = [
        record
        for partition in range(PARTITIONS)
        for record in witness.consume(topic, partition, witness.offset_range(topic, partition)[1])
    ]

    assert {record.key.decode(): record.partition for record in read if record.key} == JAVA_S_CHOICE


def test_records_without_a_key_use_several_partitions(client: Driver, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=3)

    used: set[int] = set()
    for _ in range(30):
        used |= {place.partition for place in client.produce(topic, [Message(value=b"x")])}
        if len(used) > 1:
            break

    assert len(used) > 1
