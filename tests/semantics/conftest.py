"""The broker under test, connections to it, and topics of a test's own."""

from __future__ import annotations

import itertools
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live_broker import LiveBroker
from tests.process.raw_client import RawClient

from .asking import Topic, eventually, list_offset, topics_described

NewTopic = Callable[..., Topic]
Connect = Callable[..., RawClient]

RESTART_SECONDS_MAX = 120

BROKER_SETTINGS = {
    "num.partitions": "3",
    # Retention is to be seen by a test, not by the next day.
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
    "log.cleaner.backoff.ms": "100",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


class BrokerUnderTest:
    """A broker of riverlog's that can crash and come back at the same address."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._live = LiveBroker(data, settings=BROKER_SETTINGS)

    @property
    def bootstrap(self) -> str:
        return self._live.bootstrap

    def restart(self) -> None:
        """Crash, and come back."""
        port = self._live.port
        self._live.kill()
        self._live = LiveBroker(self._data, port=port, settings=BROKER_SETTINGS)

    def stop(self) -> None:
        self._live.stop()


class GivenBroker:
    """A broker that somebody else started."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def restart(self) -> None:
        """Crash it by the command given for that, and wait until it has come back."""
        command = os.environ.get("RIVERLOG_TEST_RESTART")
        if not command:
            pytest.skip("RIVERLOG_TEST_RESTART does not say how this broker is restarted")
        subprocess.run(
            shlex.split(command), check=True, timeout=RESTART_SECONDS_MAX, stdout=subprocess.DEVNULL
        )

    def stop(self) -> None:
        """Leave it to those who started it."""


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerUnderTest | GivenBroker]:
    """The broker under test."""
    given = os.environ.get("RIVERLOG_TEST_BOOTSTRAP")
    running = GivenBroker(given) if given else BrokerUnderTest(tmp_path_factory.mktemp("semantics") / "data")
    yield running
    running.stop()


@pytest.fixture
def connect(broker: BrokerUnderTest | GivenBroker) -> Iterator[Connect]:
    """Open connections that last as long as the test."""
    opened: list[RawClient] = []

    def connection(*, deadline: float = 30.0) -> RawClient:
        opened.append(RawClient(broker.bootstrap, deadline=deadline))
        return opened[-1]

    yield connection
    for each in opened:
        each.close()


@pytest.fixture
def client(connect: Connect) -> RawClient:
    """A connection."""
    return connect()


@pytest.fixture(scope="session")
def topic_name() -> Callable[[], str]:
    """Give a name that no other test, nor an earlier run against the same broker, has used."""
    numbers = itertools.count()
    run = f"{time.time_ns() // 1_000_000:x}"
    return lambda: f"semantics-{run}-{next(numbers)}"


@pytest.fixture
def new_topic(client: RawClient, topic_name: Callable[[], str]) -> NewTopic:
    """Create topics (settings with `_` for `.`) that are ready when they are given.

    They keep their records, which are years old, unless a test sets how long.
    """

    def create(partitions: int = 1, **settings: str) -> Topic:
        name = topic_name()
        topic_id = client.create_topic(name, partitions, **{"retention_ms": "-1", **settings})
        await_topic(client, name, partitions)
        return Topic(name, topic_id)

    return create


@pytest.fixture
def topic(new_topic: NewTopic) -> Topic:
    """A topic of one partition."""
    return new_topic()


def await_topic(client: RawClient, name: str, partitions: int) -> None:
    """Wait until all partitions are led, by a leader that knows it."""

    def is_led() -> bool:
        (told,) = topics_described(client, name)
        leaders = [each.leader_id for each in told.partitions if not each.error_code]
        if len(leaders) != partitions or min(leaders) < 0:
            return False
        topic = Topic(name, told.topic_id)
        replies = [list_offset(client, topic, -1, partition=index) for index in range(partitions)]
        return not any(each.error_code for each in replies)

    eventually(is_led, f"{name} has {partitions} partitions with leaders")
