"""Compaction by the real executable: helpers, kill -9, damaged data, metrics, the broker's own topics.

A failing run prints its seed; RIVERLOG_TEST_SEED=N repeats the choices (not the scheduling).
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from riverlog.log.cleaning.helper_process import MODULE, HelperDied, HelperProcess
from riverlog.log.cleaning.job import CleaningAborted, Job, Replacement
from riverlog.protocol import messages
from riverlog.protocol.batches import split_batches
from riverlog.protocol.records import Record, build_batch, read_records
from tests.live_broker import LiveBroker
from tests.process.raw_client import INIT_PRODUCER_ID, RawClient
from tests.prometheus_text import Metrics, parse

SECONDS_MAX = 60.0
TOPIC = "table"
SETTINGS = {
    "log.cleaner.backoff.ms": "20",
    "metrics.port": "0",
    "durability": "page-cache",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "1048576",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.segment.bytes": "1048576",
}
COMPACT = {
    "cleanup_policy": "compact",
    "segment_bytes": "1048576",
    "min_cleanable_dirty_ratio": "0.01",
    "file_delete_delay_ms": "50",
}
VALUE_BYTES = 2000
BATCHES_PER_ROUND = 100
"""About eight megabytes. Without a bound there is more to clean in each round than in the one before."""


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, f"not within {SECONDS_MAX:g} s: {what}"
        time.sleep(0.02)


def helpers_of(pid: int) -> list[int]:
    """The helper processes that a broker started, or that are left of one."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and MODULE.encode() in (path / "cmdline").read_bytes():
                stat = (path / "stat").read_text()
                if int(stat[stat.rindex(")") + 2 :].split()[1]) == pid:
                    found.append(int(path.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def is_running(pid: int) -> bool:
    try:
        return MODULE.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def batch_of(pairs: dict[bytes, bytes]) -> bytearray:
    now = int(time.time() * 1000)
    return build_batch([Record(0, now, key, value) for key, value in pairs.items()])


def read_all(client: RawClient, topic: str, partition: int = 0) -> list[Record]:
    offset, end = client.offset(topic, partition, -2), client.offset(topic, partition)
    found: list[Record] = []
    while offset < end:
        data = client.fetch(topic, partition, offset).records or b""
        batches = split_batches(data, 0, len(data)).batches
        assert batches, f"nothing is found from {offset} on, and the log ends at {end}"
        for position, header in batches:
            found += read_records(data, position)
            offset = header.next_offset
    return found


def cleaned_offset(data: Path, topic: str = TOPIC, partition: int = 0) -> int:
    """How far a partition is clean, by the checkpoint file."""
    try:
        lines = (data / "cleaner-offset-checkpoint").read_text().splitlines()[2:]
    except FileNotFoundError:
        return 0
    offsets = {(name, int(number)): int(offset) for name, number, offset in map(str.split, lines)}
    return offsets.get((topic, partition), 0)


def fill(client: RawClient, topic: str, versions: int, keys: int = 100) -> None:
    """Write each of some keys so many times, a few segments in all."""
    for version in range(versions):
        client.produce(
            topic, 0, batch_of({b"%d" % key: b"%d" % version + bytes(VALUE_BYTES) for key in range(keys)})
        )


@pytest.fixture
def seed() -> int:
    given = os.environ.get("RIVERLOG_TEST_SEED")
    chosen = int(given) if given else random.randrange(1 << 32)
    print(f"RIVERLOG_TEST_SEED={chosen}")
    return chosen


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def broker(data: Path) -> Iterator[LiveBroker]:
    with LiveBroker(data, settings=SETTINGS) as running:
        yield running


class Table:
    """What was sent for each key, and what of it was acknowledged."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.number = 0
        self.sent: dict[bytes, int] = {}
        self.acknowledged: dict[bytes, int] = {}
        self.acknowledged_records = 0

    def write(self, bootstrap: str, is_over: threading.Event) -> None:
        """Write random keys, some segments of them, until told to stop or the broker is gone."""
        try:
            with RawClient(bootstrap) as client:
                for _ in range(BATCHES_PER_ROUND):
                    if is_over.is_set():
                        break
                    self.number += 1
                    keys = {b"key-%d" % self.chance.randrange(200) for _ in range(40)}
                    self.sent.update(dict.fromkeys(keys, self.number))
                    value = b"%d " % self.number + bytes(VALUE_BYTES)
                    client.produce(TOPIC, 0, batch_of(dict.fromkeys(keys, value)))
                    self.acknowledged.update(dict.fromkeys(keys, self.number))
                    self.acknowledged_records += len(keys)
        except OSError:
            pass

    def check(self, records: list[Record]) -> None:
        assert [record.offset for record in records] == sorted({record.offset for record in records})
        found = {record.key: int((record.value or b"").split()[0]) for record in records}
        assert found.keys() >= self.acknowledged.keys()
        for key, number in self.acknowledged.items():
            # What was sent and not acknowledged may be there, or not.
            assert number <= found[key] <= self.sent[key]


def run_round(data: Path, chance: random.Random, table: Table) -> None:
    """Look at what the last round left, write, and kill the broker."""
    broker = LiveBroker(data, settings=SETTINGS)
    is_over = threading.Event()
    writer = threading.Thread(target=table.write, args=(broker.bootstrap, is_over))
    helpers: list[int] = []
    try:
        with RawClient(broker.bootstrap) as client:
            if TOPIC not in client.topics():
                client.create_topic(TOPIC, **COMPACT)
            table.check(read_all(client, TOPIC))
        before = cleaned_offset(data)
        writer.start()
        # Some rounds end in the middle of the first cleaning, others later.
        until(lambda: bool(helpers_of(broker.process.pid)), "there is work")
        if chance.random() < 0.7:
            until(lambda: cleaned_offset(data) > before, "a cleaning comes to its end")
        is_over.wait(chance.random() * 0.2)
        helpers = helpers_of(broker.process.pid)
    finally:
        broker.kill()
        is_over.set()
    writer.join()
    until(lambda: not any(map(is_running, helpers)), "helpers end with their broker")


def run_rounds(data: Path, seed: int, rounds: int) -> None:
    chance, table = random.Random(seed), Table(seed)
    for _ in range(rounds):
        run_round(data, chance, table)
    with LiveBroker(data, settings=SETTINGS) as broker, RawClient(broker.bootstrap) as client:
        end = client.offset(TOPIC, 0)
        until(lambda: cleaned_offset(data) > end // 2, "what the last round left is cleaned")
        records = read_all(client, TOPIC)
        table.check(records)
        assert len(records) < table.acknowledged_records


def test_no_key_loses_its_value_when_the_broker_is_killed_while_it_compacts(data: Path, seed: int) -> None:
    run_rounds(data, seed, 5)


@pytest.mark.slow
def test_no_key_loses_its_value_in_a_hundred_kills(data: Path, seed: int) -> None:
    run_rounds(data, seed, 100)


def metrics(broker: LiveBroker) -> Metrics:
    (address,) = re.findall(r"metrics on (\S+)", broker.output())
    with urllib.request.urlopen(address, timeout=10) as answer:
        return parse(answer.read().decode())


def test_a_partition_with_damaged_data_is_named_and_the_others_are_cleaned(data: Path) -> None:
    with LiveBroker(data, settings={**SETTINGS, "log.cleaner.enable": "false"}) as broker:
        with RawClient(broker.bootstrap) as client:
            for topic in ("damaged", "sound"):
                client.create_topic(topic, **COMPACT)
                fill(client, topic, 10)
        assert not helpers_of(broker.process.pid)
    segment = data / "damaged-0" / f"{0:020d}.log"
    content = bytearray(segment.read_bytes())
    content[5000] ^= 1
    segment.write_bytes(content)

    with LiveBroker(data, settings=SETTINGS) as broker:
        until(lambda: cleaned_offset(data, "sound") > 0, "the sound one is cleaned")
        until(lambda: "damaged-0 cannot be compacted" in broker.output(), "the damaged one is named")
        assert str(segment) in broker.output()
        until(
            lambda: metrics(broker).value("riverlog_compaction_uncleanable_partitions") == 1, "it is counted"
        )
        seen = metrics(broker)
        assert seen.value("riverlog_compaction_failures_total") == 1
        assert seen.value("riverlog_compaction_cleaned_logs_total") >= 1
        assert seen.value("riverlog_compaction_read_bytes_total") > 1_000_000
        assert 0 < seen.value("riverlog_compaction_written_bytes_total") < 500_000
        assert abs(seen.value("riverlog_compaction_last_cleaned_timestamp_seconds") - time.time()) < 60
    assert segment.read_bytes() == content


def test_a_helper_that_is_killed_is_replaced(broker: LiveBroker, data: Path) -> None:
    with RawClient(broker.bootstrap) as client:
        client.create_topic(TOPIC, **COMPACT)
        fill(client, TOPIC, 10)
        until(lambda: cleaned_offset(data) > 0, "a helper is there")
        before = cleaned_offset(data)
        (helper,) = helpers_of(broker.process.pid)
        os.kill(helper, signal.SIGKILL)
        until(lambda: not is_running(helper), "it is gone")
        fill(client, TOPIC, 10)
        until(lambda: cleaned_offset(data) > before, "another one goes on")

        found = {record.key: (record.value or b"")[:2] for record in read_all(client, TOPIC)}
        assert found == {b"%d" % key: b"9\0" for key in range(100)}


def job(path: Path, **changes: object) -> Job:
    """A job over segments that are there."""
    fields: dict[str, object] = {
        "directory": str(path),
        "segments": ((0, (path / f"{0:020d}.log").stat().st_size),),
        "first_dirty": 0,
        "end": 1,
        "now_ms": 0,
        "delete_retention_ms": 0,
        "segment_bytes": 1 << 20,
        "segment_index_bytes": 1 << 20,
        "index_interval_bytes": 4096,
        "map_bytes": 1 << 20,
        "map_load_factor": 0.9,
        "io_bytes": 1 << 16,
        "bytes_per_second": 1e18,
    }
    return Job(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    batch = build_batch([Record(0, 0, b"a", bytes(20_000))])
    (tmp_path / f"{0:020d}.log").write_bytes(batch)
    return tmp_path


def test_a_helper_does_one_job_after_the_other(partition: Path) -> None:
    async def run() -> None:
        helper = await HelperProcess.start()
        try:
            for _ in range(2):
                made: list[Replacement] = []
                outcome = await helper.run(job(partition), made.append)
                assert (outcome.end, outcome.keys) == (1, 1)
                assert made == [Replacement((0,), (partition / f"{0:020d}.log.cleaned").stat().st_size)]
        finally:
            await helper.stop()

    asyncio.run(run())


def test_a_job_whose_result_is_refused_is_called_off_and_the_next_one_done(partition: Path) -> None:
    segments = ((0, (partition / f"{0:020d}.log").stat().st_size),) * 2

    def refuse(_replacement: Replacement) -> None:
        # What is left to do would take hours.
        helper_of_test[0].change_rate(1.0)
        raise CleaningAborted("the partition has changed")

    helper_of_test: list[HelperProcess] = []

    async def run() -> None:
        helper = await HelperProcess.start()
        try:
            helper_of_test.append(helper)
            with pytest.raises(CleaningAborted, match="has changed"):
                await helper.run(job(partition, segments=segments, segment_bytes=1), refuse)
            outcome = await helper.run(job(partition), lambda _replacement: None)
            assert outcome.keys == 1
        finally:
            await helper.stop()

    asyncio.run(run())


def test_a_throttled_helper_goes_on_at_the_new_rate_and_can_be_killed(partition: Path) -> None:
    async def run() -> None:
        helper = await HelperProcess.start()
        try:
            slow = asyncio.create_task(
                helper.run(job(partition, bytes_per_second=1.0), lambda _replacement: None)
            )
            done, _ = await asyncio.wait([slow], timeout=0.3)
            assert not done
            helper.change_rate(1e18)
            assert (await slow).keys == 1
            hopeless = asyncio.create_task(
                helper.run(job(partition, bytes_per_second=1.0), lambda _replacement: None)
            )
            await asyncio.wait([hopeless], timeout=0.3)
            os.kill(helper.pid, signal.SIGKILL)
            with pytest.raises(HelperDied):
                await hopeless
        finally:
            await helper.stop()

    asyncio.run(run())


def test_committed_offsets_are_the_same_after_their_topic_was_compacted(data: Path) -> None:
    partitions = 60
    committed: dict[int, int] = {}
    with LiveBroker(data, settings=SETTINGS) as broker:
        with RawClient(broker.bootstrap) as client:
            client.create_topic("read", partitions)
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "readers"})
        number = 0
        while not cleaned_offset(data, "__consumer_offsets"):
            number += 1
            assert number < 3000
            committed = {partition: number * 100 + partition for partition in range(partitions)}
            consumer.commit(
                offsets=[
                    TopicPartition("read", partition, offset, metadata="x" * 200)
                    for partition, offset in committed.items()
                ],
                asynchronous=False,
            )
        consumer.close()
        broker.kill()

    with LiveBroker(data, settings=SETTINGS) as broker:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "readers"})
        asked = [TopicPartition("read", partition) for partition in range(partitions)]
        found = {each.partition: each.offset for each in consumer.committed(asked, timeout=30)}
        consumer.close()

    assert found == committed


def test_transactional_ids_are_the_same_after_their_topic_was_compacted(data: Path) -> None:
    ids = 20
    known: dict[str, tuple[int, int]] = {}

    def init(client: RawClient, name: str) -> tuple[int, int]:
        request = messages.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            reply = client.call(INIT_PRODUCER_ID, 4, request)
            if not reply.error_code:
                return reply.producer_id, reply.producer_epoch
            assert time.monotonic() < deadline, reply

    def names() -> Iterator[str]:
        while True:
            yield from (f"writer-{number}-" + "x" * 400 for number in range(ids))

    with LiveBroker(data, settings=SETTINGS) as broker:
        with RawClient(broker.bootstrap) as client:
            for name in names():
                known[name] = init(client, name)
                if cleaned_offset(data, "__transaction_state"):
                    break
        broker.kill()

    with LiveBroker(data, settings=SETTINGS) as broker, RawClient(broker.bootstrap) as client:
        again = {name: init(client, name) for name in known}

    assert again == {name: (producer_id, epoch + 1) for name, (producer_id, epoch) in known.items()}
