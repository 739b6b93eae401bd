"""A directory is the way in and the way out: Kafka reads what riverlog wrote, riverlog what Kafka wrote.

    riverlog --> DIRECTORY --> Kafka's dump-log: every batch, record, index and snapshot without a complaint
    riverlog --> DIRECTORY --> Kafka, as a partition of its own: the same records, offsets and times
    Kafka (stopped, or killed) --> DIRECTORY --> riverlog: the same again

These tests start brokers of their own: the one under test elsewhere lives on through the session.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.peer import KafkaBroker
from riverlog.columnar import read_segments
from tests import kafka_jars
from tests.columns import rows
from tests.live_broker import LiveBroker
from tests.log_builders import append, new_log

from .drivers import CODECS, Message, Stored
from .drivers.kafka_python import KafkaPython
from .drivers.librdkafka import Librdkafka

pytestmark = pytest.mark.java

T0 = 1_700_000_000_000
SEGMENTED = {"segment.bytes": "1048576", "index.interval.bytes": "1000"}
"""As small as Kafka allows a segment to be."""


def varied(count: int, *, start: int = 0) -> list[Message]:
    """Records with everything that a record may have or lack."""
    return [
        Message(
            key=None if n % 7 == 0 else f"key-{n % 10}".encode(),
            # noise, which fills segments whatever the codec, and dots, so that each codec is worth its use
            value=None if n % 11 == 0 else random.Random(n).randbytes(4000) + b"." * 1000,
            headers=(("n", str(n).encode()), ("n", b"again"), ("null", None)) if n % 3 == 0 else (),
            timestamp=T0 + 10 * n,
        )
        for n in range(start, start + count)
    ]


def write_everything(bootstrap: str, topic: str) -> list[Message]:
    """Fill a topic of small segments: each codec, plain and idempotent, one batch or several at a time."""
    librdkafka = Librdkafka(bootstrap)
    librdkafka.create_topic(topic, settings=SEGMENTED)
    sent: list[Message] = []
    for codec in CODECS:
        for idempotent in (False, True):
            messages = varied(100, start=len(sent))
            librdkafka.produce(topic, messages, partition=0, codec=codec, idempotent=idempotent)
            sent += messages
    for codec in CODECS:
        messages = [message._replace(headers=()) for message in varied(50, start=len(sent)) if message.value]
        KafkaPython(bootstrap).produce(topic, messages, partition=0, codec=codec, idempotent=True)
        sent += messages
    return sent


class Written(NamedTuple):
    """A partition's directory after its broker has gone."""

    data: Path
    topic: str
    read: list[Stored]

    @property
    def partition(self) -> Path:
        return self.data / f"{self.topic}-0"


@pytest.fixture(scope="module")
def by_riverlog(kafka_jars_present: Path, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """What riverlog leaves behind when it is stopped."""
    data = tmp_path_factory.mktemp("by-riverlog") / "data"
    with LiveBroker(data) as broker:
        sent = write_everything(broker.bootstrap, "exchange")
        read = Librdkafka(broker.bootstrap).consume("exchange", 0, len(sent))
    assert [record.message() for record in read] == sent
    return Written(data, "exchange", read)


def files(written: Written, ending: str) -> list[str]:
    return sorted(str(path) for path in written.partition.glob(f"*.{ending}"))


def test_kafka_s_dump_log_reads_every_record_that_riverlog_wrote(by_riverlog: Written) -> None:
    segments = files(by_riverlog, "log")

    dumped = kafka_jars.tool("kafka-dump-log", "--deep-iteration", "--files", ",".join(segments))

    assert len(segments) >= 4
    complaints = r"invalid|Found|corrupt|Exception|mismatch|Could not"
    assert not re.search(complaints, dumped, re.IGNORECASE), dumped[-2000:]
    assert re.findall(r"isvalid: (\w+)", dumped) == ["true"] * dumped.count("baseOffset:")
    offsets = [int(offset) for offset in re.findall(r"^\| offset: (\d+)", dumped, re.MULTILINE)]
    times = [int(time) for time in re.findall(r"^\| offset: .*CreateTime: (\d+)", dumped, re.MULTILINE)]
    assert offsets == [record.offset for record in by_riverlog.read]
    assert times == [record.timestamp for record in by_riverlog.read]
    assert set(re.findall(r"compresscodec: (\w+)", dumped)) == set(CODECS)


def test_kafka_finds_riverlog_s_indexes_sane(by_riverlog: Written) -> None:
    indexes = files(by_riverlog, "index") + files(by_riverlog, "timeindex")

    checked = kafka_jars.tool("kafka-dump-log", "--index-sanity-check", "--files", ",".join(indexes))
    # reads each index entry and looks whether the segment holds what the entry says
    verified = kafka_jars.tool("kafka-dump-log", "--verify-index-only", "--files", ",".join(indexes))

    assert len(indexes) >= 8
    assert checked.count("passed sanity check.") == len(indexes)
    assert not re.search(r"mismatch|out of order|Exception|Indexed offset", verified, re.IGNORECASE), verified


def test_kafka_reads_riverlog_s_producer_snapshots(by_riverlog: Written) -> None:
    snapshots = files(by_riverlog, "snapshot")

    dumped = kafka_jars.tool("kafka-dump-log", "--files", ",".join(snapshots))

    assert snapshots
    # five idempotent producers of each client
    latest = dumped.split("Dumping ")[-1]
    assert len(set(re.findall(r"producerId: (\d+)", latest))) == 10
    assert "Exception" not in dumped


def test_kafka_s_dump_log_reads_riverlog_s_transactions(kafka_jars_present: Path, tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for producer_id, is_commit in ((7, False), (8, True), (9, False)):
        append(log, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
        log.append_marker(producer_id, 1, is_commit=is_commit, coordinator_epoch=4, now_ms=T0)
    log.save()
    (segment,) = Path(log.path).glob("*.log")

    batches = kafka_jars.tool("kafka-dump-log", "--deep-iteration", "--files", str(segment))
    index = kafka_jars.tool("kafka-dump-log", "--files", str(segment.with_suffix(".txnindex")))

    markers = re.findall(r"endTxnMarker: (\w+) coordinatorEpoch: (\d+)", batches)
    assert markers == [("ABORT", "4"), ("COMMIT", "4"), ("ABORT", "4")]
    aborted = re.findall(
        r"producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)", index
    )
    assert aborted == [("7", "0", "3", "4"), ("9", "8", "11", "12")]


class Peer(NamedTuple):
    """Directories that one Apache Kafka left behind, and what it had served from them."""

    stopped: Path
    killed: Path
    read: dict[str, list[Stored]]


def replace_partition(written: Written, into: Path) -> None:
    """Put riverlog's files in the place of Kafka's; the topic keeps the id that Kafka's metadata know."""
    for path in into.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    for path in written.partition.iterdir():
        if path.name != "partition.metadata":
            shutil.copy(path, into)


@pytest.fixture(scope="module")
def by_kafka(by_riverlog: Written, tmp_path_factory: pytest.TempPathFactory) -> Peer:
    """Kafka's directory after a clean stop, and the same one after more writes and kill -9.

    Between the two a partition of riverlog's is put into it, as one Kafka serves both sides of the exchange.
    """
    kept = tmp_path_factory.mktemp("by-kafka")
    read: dict[str, list[Stored]] = {}

    def fill(bootstrap: str, topic: str) -> None:
        sent = write_everything(bootstrap, topic)
        read[topic] = Librdkafka(bootstrap).consume(topic, 0, len(sent))
        assert [record.message() for record in read[topic]] == sent

    with KafkaBroker() as broker:
        address = f"127.0.0.1:{broker.port}"
        broker.prepare()
        broker.start()
        fill(address, "before")
        Librdkafka(address).delete_records("before", 0, 30)
        Librdkafka(address).create_topic(by_riverlog.topic, settings=SEGMENTED)
        broker.stop()
        shutil.copytree(broker.data, kept / "stopped")

        replace_partition(by_riverlog, broker.data / by_riverlog.partition.name)
        broker.start()
        read[by_riverlog.topic] = Librdkafka(address).consume(by_riverlog.topic, 0, len(by_riverlog.read))
        fill(address, "after")
        os.kill(broker.pid, signal.SIGKILL)
        broker.stop()
        shutil.copytree(broker.data, kept / "killed")
    return Peer(kept / "stopped", kept / "killed", read)


def test_kafka_serves_what_riverlog_wrote(by_riverlog: Written, by_kafka: Peer) -> None:
    assert by_kafka.read[by_riverlog.topic] == by_riverlog.read


@pytest.mark.parametrize(("state", "topics"), [("stopped", ["before"]), ("killed", ["before", "after"])])
def test_riverlog_serves_what_kafka_wrote(
    state: str, topics: list[str], by_kafka: Peer, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(getattr(by_kafka, state), data)

    with LiveBroker(data) as broker:
        librdkafka = Librdkafka(broker.bootstrap)
        served = {}
        for topic in topics:
            start, end = librdkafka.offset_range(topic, 0)
            served[topic] = librdkafka.consume(topic, 0, end - start, start=start)

    # the first thirty were deleted; what deleting left in the segment is not to be served
    expected = {topic: by_kafka.read[topic][30 if topic == "before" else 0 :] for topic in topics}
    assert served == expected


@pytest.mark.parametrize(("state", "topics"), [("stopped", ["before"]), ("killed", ["before", "after"])])
def test_what_kafka_wrote_is_read_as_arrow_without_a_broker(
    state: str, topics: list[str], by_kafka: Peer
) -> None:
    for topic in topics:
        expected = by_kafka.read[topic][30 if topic == "before" else 0 :]

        found = rows(read_segments(getattr(by_kafka, state) / f"{topic}-0"))

        assert [Stored(0, *record) for record in found] == expected


def test_riverlog_goes_on_where_kafka_stopped(by_kafka: Peer, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(by_kafka.killed, data)
    count = len(by_kafka.read["after"])

    with LiveBroker(data) as broker:
        librdkafka = Librdkafka(broker.bootstrap)
        settings = librdkafka.topic_settings("after")
        at_a_time = librdkafka.offset_at("after", 0, by_kafka.read["after"][77].timestamp)
        (place,) = librdkafka.produce("after", [Message(value=b"from riverlog")], partition=0)
        (read,) = librdkafka.consume("after", 0, 1, start=place.offset)

    assert place.offset == count
    assert read.value == b"from riverlog"
    assert at_a_time == 77
    assert set(settings) >= {"retention.ms", "segment.bytes"}


def test_new_producers_get_ids_that_kafka_has_not_given_out(by_kafka: Peer, tmp_path: Path) -> None:
    """Were an id given twice, its first batch would look like a repeated or a missing one."""
    data = tmp_path / "data"
    shutil.copytree(by_kafka.stopped, data)

    with LiveBroker(data) as broker:
        librdkafka = Librdkafka(broker.bootstrap)
        start = librdkafka.offset_range("before", 0)[1]
        for _ in range(3):
            librdkafka.produce("before", [Message(value=b"new")], partition=0, idempotent=True)
        read = librdkafka.consume("before", 0, 3, start=start)

    assert [(record.offset, record.value) for record in read] == [(start + n, b"new") for n in range(3)]
