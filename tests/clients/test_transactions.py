"""Transactions as clients know them: exactly once from topic to topic, aborts, zombies that are fenced."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from aiokafka.errors import KafkaError as AioError
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.committed_reader import committed

from .drivers import DEADLINE_S, Message
from .drivers.librdkafka import Librdkafka

TIMEOUT_S = 20.0


def transactional(bootstrap: str, transactional_id: str, **settings: Any) -> Producer:
    """A producer of librdkafka's that has its identity."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 30_000,
            **settings,
        }
    )
    producer.init_transactions(TIMEOUT_S)
    return producer


def committed_values(bootstrap: str, topic: str) -> list[bytes]:
    """Read a topic of one partition to its end as a reader of committed data."""
    return [record.value for record in committed(bootstrap, topic)]


def fill(witness: Librdkafka, topic: str, count: int) -> None:
    witness.produce(topic, [Message(value=b"%d" % number) for number in range(count)], partition=0)


# librdkafka: the older flow


def test_what_is_committed_is_read_and_what_is_aborted_is_not(
    bootstrap: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    producer = transactional(bootstrap, f"id-of-{topic}")
    for number in range(6):
        producer.begin_transaction()
        for index in range(3):
            producer.produce(topic, b"%d.%d" % (number, index))
        producer.flush()
        if number % 2:
            producer.abort_transaction(TIMEOUT_S)
        else:
            producer.commit_transaction(TIMEOUT_S)

    expected = [b"%d.%d" % (number, index) for number in (0, 2, 4) for index in range(3)]
    assert committed_values(bootstrap, topic) == expected


def test_records_go_from_topic_to_topic_exactly_once(
    bootstrap: str, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    """Half of the transactions are aborted, and their work is done again."""
    source, sink = new_topic(), new_topic()
    fill(witness, source, 30)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"copies-{source}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([source])
    producer = transactional(bootstrap, f"id-of-{sink}")
    copied = attempts = 0
    deadline = time.monotonic() + 60
    while copied < 30:
        assert time.monotonic() < deadline
        records = [each for each in consumer.consume(5, 0.5) if each.error() is None]
        if not records:
            continue
        attempts += 1
        producer.begin_transaction()
        for record in records:
            producer.produce(sink, (record.value() or b"") + b"!")
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), TIMEOUT_S
        )
        if attempts % 2:
            producer.abort_transaction(TIMEOUT_S)
            for place in consumer.committed(consumer.assignment(), TIMEOUT_S):
                consumer.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))
        else:
            producer.commit_transaction(TIMEOUT_S)
            copied += len(records)

    committed = consumer.committed(consumer.assignment(), TIMEOUT_S)
    consumer.close()
    assert attempts > 1
    assert committed_values(bootstrap, sink) == [b"%d!" % number for number in range(30)]
    assert [place.offset for place in committed] == [30]


def test_a_successor_fences_a_zombie_and_aborts_what_it_left_open(
    bootstrap: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    zombie = transactional(bootstrap, f"id-of-{topic}")
    zombie.begin_transaction()
    zombie.produce(topic, b"of the zombie")
    zombie.flush(TIMEOUT_S)

    successor = transactional(bootstrap, f"id-of-{topic}")
    successor.begin_transaction()
    successor.produce(topic, b"of the successor")
    with pytest.raises(KafkaException) as fenced:
        zombie.commit_transaction(TIMEOUT_S)
    successor.commit_transaction(TIMEOUT_S)

    error = fenced.value.args[0]
    assert (error.code(), error.fatal()) == (KafkaError._FENCED, True)
    assert committed_values(bootstrap, topic) == [b"of the successor"]


# aiokafka


def test_aiokafka_commits_aborts_and_sends_offsets(
    bootstrap: str, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    source, sink = new_topic(), new_topic()
    fill(witness, source, 10)

    async def work() -> int:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"id-of-{sink}")
        consumer = AIOKafkaConsumer(
            source,
            bootstrap_servers=bootstrap,
            group_id=f"group-of-{source}",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        )
        await producer.start()
        await consumer.start()
        try:
            async with producer.transaction():
                for _ in range(10):
                    record = await asyncio.wait_for(consumer.getone(), DEADLINE_S)
                    await producer.send_and_wait(sink, record.value)
                await producer.send_offsets_to_transaction(
                    {AioPartition(source, 0): 10}, f"group-of-{source}"
                )
            await producer.begin_transaction()
            await producer.send_and_wait(sink, b"aborted")
            await producer.abort_transaction()
            return int(await consumer.committed(AioPartition(source, 0)))
        finally:
            await consumer.stop()
            await producer.stop()

    committed = asyncio.run(asyncio.wait_for(work(), 60))

    assert committed == 10
    assert committed_values(bootstrap, sink) == [b"%d" % number for number in range(10)]


def test_aiokafka_s_zombie_is_fenced(bootstrap: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    async def work() -> None:
        zombie = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"id-of-{topic}")
        await zombie.start()
        await zombie.begin_transaction()
        await zombie.send_and_wait(topic, b"of the zombie")
        successor = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"id-of-{topic}")
        await successor.start()
        try:
            with pytest.raises(AioError):
                await zombie.commit_transaction()
            async with successor.transaction():
                await successor.send_and_wait(topic, b"of the successor")
        finally:
            await successor.stop()
            await zombie.stop()

    asyncio.run(asyncio.wait_for(work(), 60))

    assert committed_values(bootstrap, topic) == [b"of the successor"]


# Java: the newer flow


@pytest.mark.java
def test_java_s_producer_commits_in_the_newer_flow_and_its_tools_see_it(
    bootstrap: str, kafka_tool: Callable[..., str], new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    transactional_id = f"id-of-{topic}"

    printed = kafka_tool(
        *("kafka-producer-perf-test", "--topic", topic, "--num-records", "500", "--record-size", "10"),
        *("--throughput", "-1", "--transactional-id", transactional_id, "--transaction-duration-ms", "20"),
    )
    listed = kafka_tool("kafka-transactions", "list")
    described = kafka_tool("kafka-transactions", "describe", "--transactional-id", transactional_id)

    assert "500 records sent" in printed
    assert len(committed_values(bootstrap, topic)) == 500
    assert re.search(rf"{transactional_id}\s+\d+\s+\d+\s+CompleteCommit", listed)
    row = described.splitlines()[-1].split()
    assert row[1] == transactional_id
    assert int(row[3]) > 0, "the epoch rises with each transaction"
    assert "CompleteCommit" in row


@pytest.mark.java
def test_java_s_tools_find_and_abort_a_transaction(
    bootstrap: str, kafka_tool: Callable[..., str], new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    producer = transactional(bootstrap, f"id-of-{topic}")
    producer.begin_transaction()
    producer.produce(topic, b"left open", partition=0)
    producer.flush(TIMEOUT_S)

    producers = kafka_tool("kafka-transactions", "describe-producers", "--topic", topic, "--partition", "0")
    kafka_tool("kafka-transactions", "abort", "--topic", topic, "--partition", "0", "--start-offset", "0")

    assert producers.splitlines()[-1].split()[-1] == "0", "where its open transaction begins"
    assert committed_values(bootstrap, topic) == []
