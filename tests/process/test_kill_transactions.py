"""kill -9 between any two steps of a transaction: all of it is there or nothing, offsets with outputs.

A failing run prints its seed; RIVERLOG_TEST_SEED=N repeats the choices (not the scheduling).
"""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from riverlog.protocol import messages
from riverlog.protocol.records import Record, build_batch
from tests.committed_reader import committed
from tests.live_broker import LiveBroker
from tests.process.raw_client import RawClient
from tests.semantics.asking import Topic
from tests.semantics.transactional import NEWER, OLDER, Flow, TransactionalProducer

OFFSET_FETCH = 9
PARTITIONS = 2
KILLS = 10
SECONDS_MAX = 120.0
GIVE_UP_SECONDS = 10.0

SETTINGS = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
}


def committed_keys(bootstrap: str, topic: str) -> dict[int, list[bytes]]:
    """Read the topic to its end as a reader of committed data does; give the keys by partition."""
    found: dict[int, list[bytes]] = {index: [] for index in range(PARTITIONS)}
    for record in committed(bootstrap, topic, PARTITIONS):
        found[record.partition].append(record.key)
    return found


def committed_offset(client: RawClient, group: str, topic: str) -> int:
    request = messages.OffsetFetchRequest(
        require_stable=True,
        groups=[
            messages.OffsetFetchRequestGroup(
                group_id=group,
                topics=[messages.OffsetFetchRequestTopics(name=topic, partition_indexes=[0])],
            )
        ],
    )
    deadline = time.monotonic() + 10
    while True:
        (answered,) = client.call(OFFSET_FETCH, 9, request).groups
        if not answered.error_code and not answered.topics[0].partitions[0].error_code:
            return int(answered.topics[0].partitions[0].committed_offset)
        assert time.monotonic() < deadline, "the group's offsets stay undecided"
        time.sleep(0.05)


STEPS = ("identity", "first partition", "second partition", "offset", "end sent", "end answered")


class Steps:
    """One producer of transactions: each writes its number to all partitions, and commits it as an offset."""

    def __init__(self, name: str, flow: Flow, topic: Topic) -> None:
        self.name = name
        self.flow = flow
        self.topic = topic
        self.producer: TransactionalProducer | None = None
        self.identity = (-1, -1)

    def connect(self, client: RawClient) -> None:
        """Go on with the same identity and sequences, on another connection."""
        former = self.producer
        self.producer = KeyedProducer(client, self.name, self.flow)
        self.producer.become(*self.identity)
        if former is not None:
            self.producer.sequences = former.sequences

    def init(self, client: RawClient) -> None:
        self.producer = KeyedProducer(client, self.name, self.flow).init()
        self.identity = (self.producer.id, self.producer.epoch)

    def write(self, number: int, partition: int) -> None:
        assert isinstance(self.producer, KeyedProducer)
        self.producer.key = b"%s:%d" % (self.name.encode(), number)
        self.producer.send(self.topic, partition=partition)

    def commit_offset(self, number: int) -> None:
        assert self.producer is not None
        self.producer.send_offset(f"group-{self.name}", self.topic, number)

    def walk(self, number: int, steps: Sequence[str]) -> None:
        """Take these steps of a transaction that is to be committed."""
        for step in steps:
            match step:
                case "first partition":
                    self.write(number, 0)
                case "second partition":
                    self.write(number, 1)
                case "offset":
                    self.commit_offset(number)
                case "end sent" if steps[-1] == "end sent":
                    assert self.producer is not None
                    self.producer.begin_end(is_commit=True)
                case "end answered":
                    self.end(is_commit=True)

    def end(self, *, is_commit: bool) -> None:
        assert self.producer is not None
        self.producer.end(is_commit=is_commit)
        self.identity = (self.producer.id, self.producer.epoch)


class KeyedProducer(TransactionalProducer):
    """Its records have the key that was set last."""

    key = b""

    def records(self, count: int, sequence: int) -> bytes:
        """Build so many records."""
        now_ms = int(time.time() * 1000)
        return bytes(
            build_batch(
                [Record(0, now_ms, self.key, b"")] * count,
                producer_id=self.id,
                producer_epoch=self.epoch,
                base_sequence=sequence,
                is_transactional=True,
            )
        )


@pytest.mark.parametrize("flow", [OLDER, NEWER], ids=["older", "newer"])
def test_a_transaction_is_whole_whichever_step_the_broker_dies_after(tmp_path: Path, flow: Flow) -> None:
    """Who comes back with the same identity goes on where it was; what was decided stays decided."""
    data = tmp_path / "data"
    broker = LiveBroker(data, settings=SETTINGS)
    port = broker.port
    try:
        with RawClient(broker.bootstrap) as client:
            topic = Topic("transactions", client.create_topic("transactions", PARTITIONS))
            steps = Steps("worker", flow, topic)
            steps.init(client)
        for number, dies_after in enumerate(STEPS, 1):
            with RawClient(broker.bootstrap) as client:
                steps.connect(client)
                steps.walk(number, STEPS[1 : STEPS.index(dies_after) + 1])
                broker.kill()
            broker = LiveBroker(data, port=port, settings=SETTINGS)
            with RawClient(broker.bootstrap) as client:
                steps.connect(client)
                steps.walk(number, STEPS[STEPS.index(dies_after) + 1 :])

        expected = [b"worker:%d" % number for number in range(1, len(STEPS) + 1)]
        with RawClient(broker.bootstrap) as client:
            steps.connect(client)
            assert steps.producer is not None
            steps.producer.await_state("CompleteCommit")
            assert committed_offset(client, "group-worker", topic.name) == len(STEPS)
        assert committed_keys(broker.bootstrap, topic.name) == {0: expected, 1: expected}
        assert "Traceback" not in broker.output(10_000), broker.output()
    finally:
        broker.kill()


class Worker(threading.Thread):
    """Commits and aborts transactions until told to stop, whatever happens to the broker."""

    def __init__(self, name: str, flow: Flow, topic: Topic, bootstrap: str, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.steps = Steps(name, flow, topic)
        self.bootstrap = bootstrap
        self.chance = random.Random(seed)
        self.stopping = threading.Event()
        self.told: dict[int, bool] = {}
        """By number of a transaction: whether it was committed, as the broker said."""
        self.number = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                try:
                    with RawClient(self.bootstrap, deadline=GIVE_UP_SECONDS) as client:
                        self._work(client)
                except OSError:
                    time.sleep(0.02)
        except BaseException as error:
            self.failure = error

    def _work(self, client: RawClient) -> None:
        self.steps.init(client)
        while not self.stopping.is_set():
            self.number += 1
            number, is_commit = self.number, self.chance.random() < 0.7
            for partition in range(PARTITIONS):
                self.steps.write(number, partition)
            self.steps.commit_offset(number)
            self.steps.end(is_commit=is_commit)
            self.told[number] = is_commit


def test_transactions_are_atomic_through_ten_kills_under_load(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    data = tmp_path / "data"
    broker = LiveBroker(data, settings=SETTINGS)
    port = broker.port
    try:
        with RawClient(broker.bootstrap) as client:
            topic = Topic("transactions", client.create_topic("transactions", PARTITIONS))
        workers = [
            Worker(f"worker-{index}", flow, topic, broker.bootstrap, seed + index)
            for index, flow in enumerate((OLDER, NEWER, OLDER, NEWER))
        ]
        for worker in workers:
            worker.start()
        for _ in range(KILLS):
            time.sleep(chance.choice((0.2, 0.5, 1.0)) * (0.5 + chance.random()))
            broker.kill()
            broker = LiveBroker(data, port=port, settings=SETTINGS)
            assert "Traceback" not in broker.output(10_000), broker.output()
        for worker in workers:
            worker.stopping.set()
        for worker in workers:
            worker.join(SECONDS_MAX)
            assert not worker.is_alive()
            assert worker.failure is None, worker.failure
        with RawClient(broker.bootstrap) as client:
            for worker in workers:
                worker.steps.init(client)  # aborts what was left open

        found = committed_keys(broker.bootstrap, topic.name)
        with RawClient(broker.bootstrap) as client:
            for worker in workers:
                _check(worker, found, client)
        told = [each for worker in workers for each in worker.told.values()]
        print(f"{sum(told)} committed, {len(told) - sum(told)} aborted")
        assert sum(told) > KILLS
        assert "Traceback" not in broker.output(10_000), broker.output()
    finally:
        broker.kill()


def _check(worker: Worker, found: dict[int, list[bytes]], client: RawClient) -> None:
    """Every transaction is in all partitions or in none, once, as its producer was told."""
    counts: dict[int, dict[int, int]] = {}
    for partition, keys in found.items():
        counts[partition] = defaultdict(int)
        for key in keys:
            name, _, number = key.decode().partition(":")
            if name == worker.name:
                counts[partition][int(number)] += 1
    whole = counts[0]
    assert all(each == whole for each in counts.values()), f"{worker.name}: halves of transactions"
    assert set(whole.values()) <= {1}, f"{worker.name}: repeated transactions"
    for number, is_commit in worker.told.items():
        assert (number in whole) == is_commit, f"{worker.name}:{number} was told {is_commit}"
    offset = committed_offset(client, f"group-{worker.name}", worker.steps.topic.name)
    assert offset == max(whole, default=-1), f"{worker.name}: offsets and outputs have parted"
