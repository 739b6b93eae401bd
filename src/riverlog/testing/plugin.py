"""Fixtures that pytest finds by itself once riverlog is installed.

    riverlog_broker            one broker for the whole run, started when a test first asks for it
    riverlog_broker_settings   override it to start that broker with other settings
    riverlog_topic             the name of a topic that is this test's own
    riverlog_new_topic         make further ones: riverlog_new_topic(partitions=3, cleanup_policy="compact")

    riverlog_spark             one Spark for the whole run, on this machine; wants `riverlog[spark]`
    riverlog_spark_settings    override it to start that Spark with other settings
    riverlog_streams           streams that a test feeds and pipelines that it starts, its own

pytest loads this file in every project that has riverlog installed: it imports nothing until it is used.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from riverlog.testing.broker_process import BrokerProcess
    from riverlog.testing.pipelines import Streams

NAME_CHARACTERS_MAX = 100
"""A test's name is cut to this in its topic's; topics may have 249."""

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def riverlog_broker_settings() -> Mapping[str, object]:
    """Settings of the run's broker, Kafka's names with `_` for `.`; override it in your conftest.py."""
    return {}


@pytest.fixture(scope="session")
def riverlog_broker(riverlog_broker_settings: Mapping[str, object]) -> Iterator[BrokerProcess]:
    """Run a real broker for the whole run; clients connect to its `bootstrap`."""
    from riverlog.testing import broker

    with broker(**riverlog_broker_settings) as running:
        yield running


@pytest.fixture
def riverlog_new_topic(riverlog_broker: BrokerProcess, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Give a function that creates a topic of this test's own and returns its name."""
    from riverlog.client import Admin

    def create(partitions: int = 1, **settings: object) -> str:
        name = topic_name(request.node.name, next(_numbers))
        texts = {setting.replace("_", "."): str(value) for setting, value in settings.items()}
        with Admin(riverlog_broker.bootstrap) as admin:
            admin.create_topic(name, partitions=partitions, settings=texts)
        return name

    return create


@pytest.fixture
def riverlog_topic(riverlog_new_topic: Callable[..., str]) -> str:
    """Create a topic of this test's own, with one partition, and give its name."""
    return riverlog_new_topic()


@pytest.fixture(scope="session")
def riverlog_spark_settings() -> Mapping[str, str]:
    """Settings of the run's Spark, over those that suit small tests; override it in your conftest.py."""
    return {}


@pytest.fixture(scope="session")
def riverlog_spark(riverlog_spark_settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Run one Spark for the whole run."""
    from riverlog.testing.pipelines import spark

    with spark(riverlog_spark_settings) as running:
        yield running


@pytest.fixture
def riverlog_streams(riverlog_spark: SparkSession) -> Iterator[Streams]:
    """Give a test streams to feed and pipelines to start; all of them end with the test."""
    from riverlog.testing.pipelines import streams

    with streams(riverlog_spark) as made:
        yield made


def topic_name(test_name: str, number: int) -> str:
    """Name a topic after its test, so that a broker's log can be read; the number makes it unique."""
    legal = re.sub(r"[^a-zA-Z0-9._-]+", "-", test_name).strip("-")
    return f"{legal[:NAME_CHARACTERS_MAX]}-{number}"
