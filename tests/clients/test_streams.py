"""Kafka Streams counts words exactly once, although it and its broker are killed.

What it uses of a broker: groups with an assignor of its own, topics that it creates for itself, compacted
ones among them, and transactions over its output, its changelog, its repartitioned input and its offsets.
Its counts are not cached: each word's output must be 1, 2, 3 and so on, with nothing left out or repeated.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests import kafka_jars
from tests.absence import stand_down
from tests.committed_reader import CommittedReader, committed
from tests.live_broker import LiveBroker

from .drivers.librdkafka import Librdkafka
from .word_count import Lines, WordCount

pytestmark = pytest.mark.java

SOURCE = Path(__file__).parents[1] / "java" / "WordCount.java"
LINES, COUNTS, APPLICATION = "lines", "counts", "word-count"
CHANGELOG = f"{APPLICATION}-counts-changelog"
PARTITIONS = 2
PROGRESS = 300
"""So many more counts must come out before the next crash."""
SECONDS_MAX = 60.0
SEED = 1

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "300",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """The command that counts words."""
    missing = kafka_jars.what_streams_miss()
    if missing is not None:
        stand_down(missing)
    return kafka_jars.compiled(SOURCE, tmp_path_factory.mktemp("classes"))


class Scene:
    """A broker, the application's topics, and all that has come out of it."""

    def __init__(self, directory: Path, program: Sequence[str]) -> None:
        self._directory = directory
        self._program = program
        self.broker = LiveBroker(directory / "data", settings=SETTINGS)
        admin = Librdkafka(self.broker.bootstrap)
        for topic in (LINES, COUNTS):
            admin.create_topic(topic, partitions=PARTITIONS)
        self.reader = CommittedReader(self.broker.bootstrap, COUNTS, PARTITIONS)
        self.feed = Lines(self.broker.bootstrap, LINES, SEED)
        self.feed.start()
        self.seen: Counter[str] = Counter()
        """By word: the count that came out last."""

    def application(self, machine: str) -> WordCount:
        """Start an instance of the application, with this machine's disk."""
        state = str(self._directory / machine)
        return WordCount(self._program, self.broker.bootstrap, (LINES, COUNTS), APPLICATION, state)

    def restart_broker(self) -> None:
        """Kill the broker; it is back at once."""
        port = self.broker.port
        self.broker.kill()
        self.broker = LiveBroker(self._directory / "data", port=port, settings=SETTINGS)

    def await_progress(self, count: int = PROGRESS) -> None:
        """Wait until so many more counts have come out."""
        wanted = self.seen.total() + count
        self._read_until(lambda: self.seen.total() >= wanted, f"{count} more words are counted")

    def await_all(self) -> None:
        """Write no more, and wait until everything is counted."""
        self.feed.finish()
        expected = self.feed.counts
        self._read_until(lambda: self.seen.total() >= expected.total(), "every word is counted")
        assert self.seen == expected

    def _read_until(self, holds: Callable[[], bool], claim: str) -> None:
        deadline = time.monotonic() + SECONDS_MAX
        while not holds():
            assert time.monotonic() < deadline, f"not within {SECONDS_MAX} s: {claim}"
            for record in self.reader.read(0.1):
                word, count = record.key.decode(), int(record.value)
                assert count == self.seen[word] + 1, f"{word} is counted {count} after {self.seen[word]}"
                self.seen[word] = count

    def close(self) -> None:
        self.reader.close()
        if self.broker.process.poll() is None:
            self.broker.kill()


@pytest.fixture
def scene(tmp_path: Path, program: Sequence[str]) -> Iterator[Scene]:
    prepared = Scene(tmp_path, program)
    yield prepared
    prepared.close()


def check(scene: Scene) -> None:
    """Nothing is counted twice or left out: in the output as a whole, and in the changelog."""
    bootstrap = scene.broker.bootstrap
    expected = scene.feed.counts
    everything = committed(bootstrap, COUNTS, PARTITIONS)
    by_word: dict[str, list[int]] = {}
    for record in everything:
        by_word.setdefault(record.key.decode(), []).append(int(record.value))
    assert by_word == {word: list(range(1, count + 1)) for word, count in expected.items()}
    changelog = {
        record.key.decode(): int.from_bytes(record.value)
        for record in committed(bootstrap, CHANGELOG, PARTITIONS)
    }
    assert changelog == expected


def test_words_are_counted_exactly_once_by_an_application_that_is_killed_twice(scene: Scene) -> None:
    with scene.application("machine") as application:
        scene.await_progress()
        application.restart()
        scene.await_progress()
        application.restart()
        scene.await_progress()
        scene.await_all()

    check(scene)


@pytest.mark.slow
def test_words_are_counted_exactly_once_when_the_broker_is_killed_as_well(scene: Scene) -> None:
    with scene.application("machine") as application:
        for _ in range(3):
            scene.await_progress()
            scene.restart_broker()
            scene.await_progress()
            application.restart()
        scene.await_progress()
        scene.await_all()

    check(scene)


@pytest.mark.slow
def test_words_are_counted_exactly_once_when_machines_come_and_go(scene: Scene) -> None:
    """Another machine knows only what the changelog says, and waits for what the lost one left open."""
    with scene.application("first"):
        scene.await_progress()
        with scene.application("second") as second:
            second.await_running()
            scene.await_progress()
        scene.await_progress()
        scene.restart_broker()
        scene.await_progress()
    with scene.application("third") as third:
        third.await_running()
        scene.await_progress()
        scene.await_all()

    check(scene)
