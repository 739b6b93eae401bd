"""The broker that commands speak to, and a topic for each test.

RIVERLOG_TEST_BOOTSTRAP names another cluster to run the same tests against, such as Apache Kafka.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator

import pytest

from tests.live_broker import LiveBroker
from tests.process.command import Riverlog

_numbers = itertools.count()


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running broker."""
    given = os.environ.get("RIVERLOG_TEST_BOOTSTRAP")
    if given:
        yield given
        return
    data = tmp_path_factory.mktemp("broker") / "data"
    with LiveBroker(data, settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap


@pytest.fixture
def riverlog(bootstrap: str) -> Riverlog:
    """The command, pointed at the broker."""
    return Riverlog(bootstrap)


@pytest.fixture
def new_topic(bootstrap: str) -> Callable[..., str]:
    """Create a topic that no other test uses."""
    from riverlog.client import Admin

    def create(partitions: int = 1, **settings: str) -> str:
        name = f"test-{os.getpid()}-{next(_numbers)}"
        with Admin(bootstrap) as admin:
            admin.create_topic(
                name,
                partitions=partitions,
                settings={setting.replace("_", "."): value for setting, value in settings.items()},
            )
        return name

    return create


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    """A topic with one partition."""
    return new_topic()


@pytest.fixture
def seed() -> int:
    """What a test's choices follow from: RIVERLOG_TEST_SEED, or chance; a failing run shows it."""
    given = os.environ.get("RIVERLOG_TEST_SEED")
    chosen = int(given) if given else random.randrange(1 << 32)
    print(f"RIVERLOG_TEST_SEED={chosen}")
    return chosen
