"""Apache Kafka's cleaner and riverlog's make the same of the same log, and Kafka's tools read it."""

from __future__ import annotations

import random
import re
import shutil
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.peer import KafkaBroker
from riverlog.log import PartitionLog
from riverlog.protocol.batches import DELETE_HORIZON_BIT
from riverlog.protocol.compression import Compression
from riverlog.protocol.records import Record, build_batch, read_records
from tests import kafka_jars
from tests.compaction import clean
from tests.log_builders import append, new_log, reopened

from .drivers.librdkafka import Librdkafka

pytestmark = pytest.mark.java

TOPIC = "compacted"
COMPACT = frozenset({"compact"})
SEGMENT_BYTES = 20_000
CLEAN_SECONDS_MAX = 60.0
PRODUCERS = (1001, 1002, 1003)
LAST_OF_PRODUCERS = 380
"""The batch of 500 behind which they write no more, and of what they wrote last nothing stays."""


class Survivor(NamedTuple):
    """A batch that cleaning left, as far as both cleaners must agree on it."""

    base_offset: int
    last_offset: int
    attributes: int
    producer_id: int
    base_sequence: int
    max_timestamp: int
    records: tuple[Record, ...]


def write_everything(log: PartitionLog, now_ms: int) -> None:
    """Values, tombstones, no keys at all, transactions that end either way, all codecs, several segments."""
    chance = random.Random(4)
    sequences = dict.fromkeys(PRODUCERS, 0)
    for number in range(500):
        now_ms += 1
        producer_id = chance.choice((-1, -1, -1, *PRODUCERS)) if number < LAST_OF_PRODUCERS else -1
        records = [
            Record(
                0,
                now_ms - chance.randrange(3),
                chance.choice((None, *(b"key-%d" % chance.randrange(150) for _ in range(12)))),
                chance.choice((None, chance.randbytes(chance.randrange(200)), b"." * 100)),
                chance.choice(((), (("name", b"value"), ("null", None)))),
            )
            for _ in range(chance.randrange(1, 8))
        ]
        is_transactional = producer_id >= 0
        append(
            log,
            build_batch(
                records,
                compression=Compression(number % 5),
                producer_id=producer_id,
                producer_epoch=0 if is_transactional else -1,
                base_sequence=sequences[producer_id] if is_transactional else -1,
                is_transactional=is_transactional,
            ),
            now_ms=now_ms,
        )
        if is_transactional:
            sequences[producer_id] += len(records)
        if number == LAST_OF_PRODUCERS:
            for each in PRODUCERS:
                last = build_batch(
                    [Record(0, now_ms, b"soon-replaced", b"1")],
                    producer_id=each,
                    producer_epoch=0,
                    base_sequence=sequences[each],
                    is_transactional=True,
                )
                append(log, last, now_ms=now_ms)
                end_transaction(log, each, now_ms, is_commit=True)
            append(log, build_batch([Record(0, now_ms, b"soon-replaced", b"2")]), now_ms=now_ms)
        elif number < LAST_OF_PRODUCERS and chance.random() < 0.1:
            end_transaction(log, chance.choice(PRODUCERS), now_ms, is_commit=chance.random() < 0.5)


def end_transaction(log: PartitionLog, producer_id: int, now_ms: int, *, is_commit: bool) -> None:
    result = log.append_marker(producer_id, 0, is_commit=is_commit, coordinator_epoch=0, now_ms=now_ms)
    assert result.error_code == 0


def survivors(log: PartitionLog) -> list[Survivor]:
    return [
        Survivor(
            header.base_offset,
            header.last_offset,
            header.attributes,
            header.producer_id,
            header.base_sequence,
            header.max_timestamp,
            tuple(read_records(segment.read_batch(position, header))),
        )
        for segment in log.segments
        for position, header in segment.headers()
    ]


@pytest.fixture(scope="module")
def uncleaned(kafka_jars_present: Path, tmp_path_factory: pytest.TempPathFactory) -> PartitionLog:
    """A partition with a lot to clean; saved as a broker that stops does."""
    log = new_log(tmp_path_factory.mktemp("uncleaned"), segment_bytes=SEGMENT_BYTES, index_interval_bytes=500)
    write_everything(log, int(time.time() * 1000))
    log.save()
    assert log.segment_count > 5
    return log


@pytest.fixture(scope="module")
def by_riverlog(uncleaned: PartitionLog, tmp_path_factory: pytest.TempPathFactory) -> PartitionLog:
    """What riverlog's cleaner makes of it."""
    copy = tmp_path_factory.mktemp("by-riverlog") / "data"
    shutil.copytree(uncleaned.directory.path, copy)
    log = opened(copy)
    clean(log, now_ms=int(time.time() * 1000))
    return log


def opened(data: Path) -> PartitionLog:
    (partition,) = data.glob("*-0")
    empty = new_log(data.with_name("empty"))
    empty.directory.close()
    shutil.rmtree(empty.path)
    shutil.copytree(partition, empty.path)
    return reopened(empty, cleanup_policy=COMPACT, segment_bytes=SEGMENT_BYTES, index_interval_bytes=500)


def cleaned_offset(data: Path) -> int:
    try:
        lines = (data / "cleaner-offset-checkpoint").read_text().splitlines()[2:]
    except FileNotFoundError:
        return 0
    return next((int(offset) for name, _, offset in map(str.split, lines) if name == TOPIC), 0)


@pytest.fixture(scope="module")
def by_kafka(uncleaned: PartitionLog, tmp_path_factory: pytest.TempPathFactory) -> PartitionLog:
    """What Apache Kafka's cleaner makes of it."""
    kept = tmp_path_factory.mktemp("by-kafka") / "data"
    settings = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    with KafkaBroker({"log.cleaner.backoff.ms": "100"}) as broker:
        broker.prepare()
        broker.start()
        Librdkafka(f"127.0.0.1:{broker.port}").create_topic(TOPIC, settings=settings)
        broker.stop()
        partition = broker.data / f"{TOPIC}-0"
        for path in partition.iterdir():
            if path.name != "partition.metadata":
                path.unlink()
        for path in Path(uncleaned.path).iterdir():
            if path.name != "partition.metadata":
                shutil.copy(path, partition)
        broker.start()
        deadline = time.monotonic() + CLEAN_SECONDS_MAX
        while cleaned_offset(broker.data) < uncleaned.segments[-1].base_offset:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        broker.stop()
        shutil.copytree(partition, kept / partition.name)
    return opened(kept)


def test_both_cleaners_leave_the_same_batches_and_records(
    uncleaned: PartitionLog, by_riverlog: PartitionLog, by_kafka: PartitionLog
) -> None:
    ours, theirs = survivors(by_riverlog), survivors(by_kafka)

    assert ours == theirs
    assert len(ours) < 0.8 * len(survivors(uncleaned))
    assert any(each.attributes & DELETE_HORIZON_BIT for each in ours)
    assert any(not each.records for each in ours)


def test_both_cleaners_name_the_same_aborted_transactions(
    by_riverlog: PartitionLog, by_kafka: PartitionLog
) -> None:
    """Byte for byte, as the cleaners left the files: Kafka's topic has room for all in one segment."""
    their_directory = Path(by_kafka.path).parent.parent / "data" / f"{TOPIC}-0"
    ours, theirs = (
        b"".join(path.read_bytes() for path in sorted(directory.glob("*.txnindex")))
        for directory in (Path(by_riverlog.path), their_directory)
    )

    assert ours == theirs
    assert ours


def test_riverlog_cleans_on_where_kafka_did(by_kafka: PartitionLog, tmp_path: Path) -> None:
    """A log that Kafka has cleaned holds each key once already: nothing goes but what may go by now."""
    before = {record.offset for each in survivors(by_kafka) for record in each.records}

    clean(by_kafka, now_ms=int(time.time() * 1000))

    after = {record.offset for each in survivors(by_kafka) for record in each.records}
    assert after == before


def test_kafka_s_dump_log_reads_what_riverlog_cleaned(by_riverlog: PartitionLog) -> None:
    segments = [segment.log_path for segment in by_riverlog.segments]
    indexes = [path for segment in by_riverlog.segments[:-1] for path in segment.index_paths()[:2]]

    dumped = kafka_jars.tool("kafka-dump-log", "--deep-iteration", "--files", ",".join(segments))
    verified = kafka_jars.tool("kafka-dump-log", "--verify-index-only", "--files", ",".join(indexes))

    assert not re.search(r"invalid|corrupt|Exception|mismatch|Could not", dumped, re.IGNORECASE)
    assert re.findall(r"isvalid: (\w+)", dumped) == ["true"] * dumped.count("baseOffset:")
    offsets = [int(offset) for offset in re.findall(r"^\| offset: (\d+)", dumped, re.MULTILINE)]
    assert offsets == [record.offset for each in survivors(by_riverlog) for record in each.records]
    assert "deleteHorizonMs: OptionalLong[" in dumped
    assert not re.search(r"mismatch|out of order|Exception|Indexed offset", verified, re.IGNORECASE)
