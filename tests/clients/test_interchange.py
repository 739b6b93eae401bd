"""Every writer's every codec, read by every reader: one partition that all of them have written to."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from .conftest import READERS
from .drivers import CODECS, Driver, Message, Reader, kafkajs
from .drivers.librdkafka import Librdkafka
from .wire import stored_batches

T0 = 1_700_000_000_000
PER_BATCH = 20


class Mixed(NamedTuple):
    """The partition and what it must hold."""

    topic: str
    sent: list[Message]


@pytest.fixture(scope="module")
def mixed(open_driver: Callable[..., Driver], new_topic: Callable[..., str]) -> Mixed:
    """A partition with a batch of each writer in each codec."""
    topic = new_topic()
    writers = [*READERS, kafkajs.KafkaJS]
    sent: list[Message] = []
    for writer in writers:
        for codec in CODECS:
            batch = [
                Message(
                    key=f"{writer.name} {codec}".encode(),
                    value=f"{number:05d}".encode() * 100,
                    headers=(("by", writer.name.encode()), ("codec", codec.encode())),
                    timestamp=T0 + len(sent) + number,
                )
                for number in range(PER_BATCH)
            ]
            open_driver(writer).produce(topic, batch, partition=0, codec=codec)
            sent += batch
    return Mixed(topic, sent)


@pytest.mark.node
def test_every_reader_reads_every_writer(reader: Reader, mixed: Mixed) -> None:
    read = reader.consume(mixed.topic, 0, len(mixed.sent))

    assert [record.message() for record in read] == mixed.sent


@pytest.mark.node
def test_every_codec_is_among_the_stored_batches(mixed: Mixed, bootstrap: str, witness: Librdkafka) -> None:
    batches = stored_batches(bootstrap, mixed.topic)

    assert {batch.codec for batch in batches} == set(CODECS)
    assert sum(batch.record_count for batch in batches) == len(mixed.sent)


@pytest.mark.node
@pytest.mark.java
def test_java_reads_every_writer(kafka_tool: Callable[..., str], mixed: Mixed) -> None:
    count = len(mixed.sent)

    printed = kafka_tool(
        *("kafka-console-consumer", "--topic", mixed.topic, "--partition", "0", "--offset", "earliest"),
        *("--max-messages", str(count), "--timeout-ms", "20000"),
        *("--command-property", "check.crcs=true"),
        *("--formatter-property", "print.key=true", "--formatter-property", "print.headers=true"),
        *("--formatter-property", "print.timestamp=true", "--formatter-property", "print.offset=true"),
    )

    lines = [line for line in printed.splitlines() if line.startswith("CreateTime:")]
    expected = [
        f"CreateTime:{message.timestamp}\tOffset:{offset}\t"
        f"by:{message.headers[0][1].decode()},codec:{message.headers[1][1].decode()}\t"
        f"{message.key.decode()}\t{message.value.decode()}"
        for offset, message in enumerate(mixed.sent)
    ]
    assert lines == expected
