"""A broker to ask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.unit.broker.apis.asking import AskedBroker


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedBroker]:
    with closing(AskedBroker(tmp_path)) as asked:
        yield asked
