"""The broker under test, and a driver for every client.

A program that is absent (Node.js, a JVM) skips its tests by name on a developer's machine; where CI is
set it fails them, so that nothing passes by not being run.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import kafka_jars
from tests.absence import stand_down
from tests.live_broker import LiveBroker

from .drivers import Driver, Reader, await_that, kafkajs
from .drivers.aio import Aiokafka
from .drivers.kafka_python import KafkaPython
from .drivers.librdkafka import Librdkafka
from .faults import LossyProxy

READERS = [Librdkafka, Aiokafka, KafkaPython]
DRIVERS = [*READERS, pytest.param(kafkajs.KafkaJS, marks=pytest.mark.node)]

BROKER_SETTINGS = {
    "num.partitions": "3",
    # nobody waits for members that do not come
    "group.initial.rebalance.delay.ms": "0",
    # nor for the next heartbeat, by which members learn what is new
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
}


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a driver in a test's id by its client."""
    return val.name if isinstance(val, type) and issubclass(val, Driver) else None


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the broker under test."""
    given = os.environ.get("RIVERLOG_TEST_BOOTSTRAP")
    if given:
        yield given
        return
    with LiveBroker(tmp_path_factory.mktemp("broker") / "data", settings=BROKER_SETTINGS) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def open_driver(bootstrap: str) -> Iterator[Callable[..., Driver]]:
    """Open a driver on the broker under test or on another address; each is opened once and kept."""
    kept: dict[tuple[type[Driver], str], Driver] = {}

    def opened(kind: type[Driver], address: str = bootstrap) -> Driver:
        if kind is kafkajs.KafkaJS:
            missing = kafkajs.what_is_missing()
            if missing is not None:
                stand_down(missing)
        if (kind, address) not in kept:
            kept[kind, address] = kind(address)
        return kept[kind, address]

    yield opened
    for driver in kept.values():
        driver.close()


@pytest.fixture(params=DRIVERS)
def client(request: pytest.FixtureRequest, open_driver: Callable[..., Driver]) -> Driver:
    """Each client in turn."""
    return open_driver(request.param)


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest, open_driver: Callable[..., Driver]) -> Reader:
    """Each client that reads without a group, in turn."""
    driver = open_driver(request.param)
    assert isinstance(driver, Reader)
    return driver


@pytest.fixture(scope="session")
def witness(open_driver: Callable[..., Driver]) -> Librdkafka:
    """The one client that sets the scene and looks at the outcome where another one is under test."""
    driver = open_driver(Librdkafka)
    assert isinstance(driver, Librdkafka)
    return driver


@pytest.fixture(scope="session")
def topic_name() -> Callable[[], str]:
    """A name that no other test, nor an earlier run against the same broker, has used."""
    numbers = itertools.count()
    run = f"{time.time_ns() // 1_000_000:x}"
    return lambda: f"t-{run}-{next(numbers)}"


@pytest.fixture(scope="session")
def new_topic(witness: Librdkafka, topic_name: Callable[[], str]) -> Callable[..., str]:
    """Create a topic with these settings (names with `_` for `.`) and wait until it has leaders."""

    def create(partitions: int = 1, **settings: str) -> str:
        topic = topic_name()
        dotted = {name.replace("_", "."): value for name, value in settings.items()}
        witness.create_topic(topic, partitions=partitions, settings=dotted)
        await_that(lambda: witness.topics().get(topic) == partitions, f"{topic} has {partitions} partitions")
        return topic

    return create


@pytest.fixture
def lossy(bootstrap: str) -> Iterator[LossyProxy]:
    """A proxy in front of the broker that can lose answers."""
    with LossyProxy(bootstrap) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def kafka_tool(bootstrap: str) -> Callable[..., str]:
    """Run one of Apache Kafka's tools; `kafka_tool("kafka-topics", "--list")` knows the broker's address."""
    missing = kafka_jars.what_is_missing()
    if missing is not None:
        stand_down(missing)

    def run(name: str, *arguments: str, **how: object) -> str:
        return kafka_jars.tool(name, "--bootstrap-server", bootstrap, *arguments, **how)

    return run


@pytest.fixture(scope="session")
def kafka_jars_present() -> Path:
    """Apache Kafka's jars, for tests that start a broker of Kafka's or a tool that needs none."""
    missing = kafka_jars.what_is_missing()
    if missing is not None:
        stand_down(missing)
    return kafka_jars.jars()
