"""Records read from the files of a live broker on this machine, and from the broker when files do not do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from riverlog.columnar import RecordsLost, Source, reading
from riverlog.testing import broker
from riverlog.testing.broker_process import BrokerProcess

WAIT_SECONDS = 60
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.fixture
def topic(riverlog_broker: BrokerProcess, riverlog_new_topic: Callable[..., str]) -> str:
    """A topic with records of all codecs, an aborted and a committed transaction."""
    name = riverlog_new_topic()
    for codec in CODECS:
        producer = Producer(
            {"bootstrap.servers": riverlog_broker.bootstrap, "compression.type": codec, "log_level": 0}
        )
        for number in range(30):
            producer.produce(
                name, b"%s-%d " % (codec.encode(), number) * 100, headers=[("n", b"%d" % number)]
            )
        assert producer.flush(WAIT_SECONDS) == 0
    writer = Producer(
        {"bootstrap.servers": riverlog_broker.bootstrap, "transactional.id": name, "log_level": 0}
    )
    writer.init_transactions(WAIT_SECONDS)
    for value, end in (("no", writer.abort_transaction), ("yes", writer.commit_transaction)):
        writer.begin_transaction()
        writer.produce(name, value)
        assert writer.flush(WAIT_SECONDS) == 0
        end(WAIT_SECONDS)
    return name


@pytest.fixture
def source(riverlog_broker: BrokerProcess) -> Source:
    return Source(bootstrap=riverlog_broker.bootstrap, directories=[str(riverlog_broker.data)])


def rows(source: Source, topic: str) -> list[Any]:
    return list(source.read(source.splits(topic)).read_all().to_pylist())


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("the broker was asked for records")


def test_files_give_the_records_that_the_broker_gives(
    topic: str, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = rows(replace(source, directories=()), topic)
    monkeypatch.setattr(reading, "PartitionFetcher", never)

    assert len(fetched) == 151
    assert rows(source, topic) == fetched
    values = [
        row["value"] for row in rows(replace(source, isolation="read_uncommitted", columns=["value"]), topic)
    ]
    assert values[-2:] == [b"no", b"yes"]


@pytest.mark.parametrize("trouble", [FileNotFoundError("gone"), RecordsLost.__new__(RecordsLost)])
def test_where_files_are_taken_away_the_broker_gives_the_rest(
    topic: str, source: Source, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    whole = reading.read_segments

    def cut_short(*given: Any, **named: Any) -> Iterator[pa.RecordBatch]:
        yield next(iter(whole(*given, **named))).slice(0, 70)
        raise trouble

    fetched = rows(replace(source, directories=()), topic)
    monkeypatch.setattr(reading, "read_segments", cut_short)

    assert rows(source, topic) == fetched


def test_the_directory_of_another_broker_is_not_read(
    topic: str, source: Source, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with broker() as other:
        producer = Producer({"bootstrap.servers": other.bootstrap, "log_level": 0})
        producer.produce(topic, b"other", partition=0)
        assert producer.flush(WAIT_SECONDS) == 0
        assert (other.data / f"{topic}-0").is_dir()
        monkeypatch.setattr(reading, "read_segments", never)

        found = rows(replace(source, directories=[str(tmp_path), str(other.data)]), topic)

    assert len(found) == 151
