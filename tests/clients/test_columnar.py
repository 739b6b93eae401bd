"""Topics read as Arrow: what other clients wrote comes out as columns, the same as another client reads."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from riverlog.columnar import Source, read
from riverlog.errors import ConfigError, RequestRefused
from riverlog.protocol.records import Record
from tests.columns import as_records, rows

from .drivers import CODECS, Message, Reader
from .drivers.librdkafka import Librdkafka
from .test_transactions import TIMEOUT_S, transactional

NOON = 1_738_324_800_000


@pytest.fixture(scope="module")
def filled(new_topic: Callable[..., str], witness: Librdkafka) -> str:
    """A topic of two partitions: in each ten records of every codec."""
    topic = new_topic(partitions=2)
    for partition in range(2):
        for number, codec in enumerate(CODECS):
            messages = [
                Message(
                    key=None if each == 0 else b"key-%d" % each,
                    value=None if each == 1 else b"%d" % partition * each * 50,
                    headers=(("codec", codec.encode()), ("nothing", None)) if each % 2 else (),
                    timestamp=NOON + 1000 * (10 * number + each),
                )
                for each in range(10)
            ]
            witness.produce(topic, messages, partition=partition, codec=codec)
    return topic


def offsets(reader: Any) -> list[int]:
    return [record.offset for record in rows(reader)]


def test_every_client_reads_the_same(bootstrap: str, filled: str, reader: Reader) -> None:
    for partition in range(2):
        stored = reader.consume(filled, partition, 50)
        expected = [
            Record(each.offset, each.timestamp, each.key, each.value, each.headers) for each in stored
        ]

        assert rows(read(filled, bootstrap=bootstrap, partitions=[partition])) == expected


def test_partitions_come_one_after_the_other(bootstrap: str, filled: str) -> None:
    table = read(filled, bootstrap=bootstrap, columns=["topic", "partition", "offset"]).read_all()

    assert table.to_pylist() == [
        {"topic": filled, "partition": partition, "offset": offset}
        for partition in range(2)
        for offset in range(50)
    ]


def test_a_range_by_offset_and_by_time(bootstrap: str, filled: str) -> None:
    at = datetime.fromtimestamp(NOON / 1000 + 30, UTC)

    assert offsets(read(filled, bootstrap=bootstrap, start=45, end={0: 47, 1: 46})) == [45, 46, 45]
    assert offsets(read(filled, bootstrap=bootstrap, start=at, end=32, partitions=[1])) == [30, 31]
    assert offsets(read(filled, bootstrap=bootstrap, start=1000, end=2000)) == []


def test_splits_can_be_read_elsewhere(bootstrap: str, filled: str) -> None:
    source = Source(bootstrap=bootstrap, columns=["partition", "offset"])
    plan = pickle.loads(pickle.dumps((source, source.splits(filled, start=20, end=40))))

    def count(split: Any) -> int:
        return sum(batch.num_rows for batch in plan[0].batches(split))

    with ThreadPoolExecutor(2) as workers:
        assert list(workers.map(count, plan[1])) == [20, 20]


def test_small_fetches_bring_everything_and_large_records_whole(
    bootstrap: str, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    for size in (10, 200_000, 10, 500_000):
        witness.produce(topic, [Message(value=bytes(size))], partition=0)

    read_back = rows(read(topic, bootstrap=bootstrap, fetch_bytes=1000))

    assert [len(record.value or b"") for record in read_back] == [10, 200_000, 10, 500_000]


def test_an_empty_topic_has_no_rows_but_columns(bootstrap: str, new_topic: Callable[..., str]) -> None:
    table = read(new_topic(partitions=3), bootstrap=bootstrap, columns=["offset", "value"]).read_all()

    assert (table.num_rows, table.column_names) == (0, ["offset", "value"])


def test_deleted_records_are_not_there(
    bootstrap: str, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, [Message(value=b"%d" % number) for number in range(20)], partition=0)
    planned = Source(bootstrap=bootstrap).splits(topic)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for deleted in admin.delete_records([TopicPartition(topic, 0, 15)]).values():
        deleted.result(TIMEOUT_S)

    assert offsets(read(topic, bootstrap=bootstrap)) == [15, 16, 17, 18, 19]
    assert offsets(read(topic, bootstrap=bootstrap, start=3, end=17)) == [15, 16]
    with pytest.raises(Exception, match="from offset 0 up to 15 were deleted"):
        list(Source(bootstrap=bootstrap).batches(planned[0]))
    left = Source(bootstrap=bootstrap, skip_lost=True).batches(planned[0])
    assert [record.offset for batch in left for record in as_records(batch)] == [15, 16, 17, 18, 19]


def test_log_append_time_is_told(bootstrap: str, new_topic: Callable[..., str], witness: Librdkafka) -> None:
    topic = new_topic(message_timestamp_type="LogAppendTime")
    witness.produce(topic, [Message(value=b"v", timestamp=NOON)], partition=0)

    found = read(topic, bootstrap=bootstrap).read_all().to_pylist()[0]

    assert found["timestamp_type"] == 1
    assert found["timestamp"] > datetime.fromtimestamp(NOON / 1000, UTC)


@pytest.fixture
def mixed(bootstrap: str, new_topic: Callable[..., str]) -> Iterator[str]:
    """A topic with a committed, an aborted and an open transaction, and plain records between them."""
    topic = new_topic()
    plain = Producer({"bootstrap.servers": bootstrap})

    def produce(producer: Producer, *values: bytes) -> None:
        for value in values:
            producer.produce(topic, value, partition=0)
        assert producer.flush(TIMEOUT_S) == 0

    ended = transactional(bootstrap, f"ended-{topic}")
    still_open = transactional(bootstrap, f"open-{topic}")
    produce(plain, b"plain 1")
    ended.begin_transaction()
    produce(ended, b"committed 1", b"committed 2")
    ended.commit_transaction(TIMEOUT_S)
    ended.begin_transaction()
    produce(ended, b"aborted 1")
    produce(plain, b"plain 2")
    produce(ended, b"aborted 2")
    ended.abort_transaction(TIMEOUT_S)
    still_open.begin_transaction()
    produce(still_open, b"open")
    produce(plain, b"plain 3")
    yield topic
    still_open.abort_transaction(TIMEOUT_S)


def test_only_what_was_committed_is_read(bootstrap: str, mixed: str) -> None:
    def values(**options: Any) -> list[bytes | None]:
        return [record.value for record in rows(read(mixed, bootstrap=bootstrap, **options))]

    assert values() == [b"plain 1", b"committed 1", b"committed 2", b"plain 2"]
    assert values(isolation="read_uncommitted") == [
        *(b"plain 1", b"committed 1", b"committed 2", b"aborted 1", b"plain 2", b"aborted 2"),
        *(b"open", b"plain 3"),
    ]
    assert values(start=5) == [b"plain 2"]


def test_what_is_not_there_is_refused(bootstrap: str, filled: str, topic_name: Callable[[], str]) -> None:
    with pytest.raises(RequestRefused, match="UNKNOWN_TOPIC_OR_PARTITION"):
        read(topic_name(), bootstrap=bootstrap)
    with pytest.raises(ConfigError, match=r"those of topic .*: 0, 1"):
        read(filled, bootstrap=bootstrap, partitions=[0, 2])
    with pytest.raises(ConfigError, match="an offset of 0 or more"):
        read(filled, bootstrap=bootstrap, start=-1)
