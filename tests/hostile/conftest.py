"""Chance, repeatable: RIVERLOG_TEST_SEED=N makes the same frames again."""

from __future__ import annotations

import os
import random

import pytest


@pytest.fixture
def seed() -> int:
    given = os.environ.get("RIVERLOG_TEST_SEED")
    chosen = int(given) if given else random.randrange(1 << 32)
    print(f"RIVERLOG_TEST_SEED={chosen}")
    return chosen
