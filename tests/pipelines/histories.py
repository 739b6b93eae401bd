"""Histories of events as the network brings them: out of order, twice, some of them too late."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest

from riverlog.testing.pipelines import DAY

Event = tuple[Any, ...]
"""(key, time, value ...)"""


def seeds(*quick: int) -> list[Any]:
    """Give seeds for every run, and more of them for a thorough one."""
    return [*quick, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1000, 1008))]


class History(NamedTuple):
    """Events by batch, and which of them are not too late for a watermark `delay` behind."""

    batches: list[list[Event]]
    punctual: list[Event]
    late: list[Event]


def history(
    seed: int, make: Callable[[random.Random, datetime], Event], *, delay: timedelta, count: int = 60
) -> History:
    """Make a history whose events wander up to `delay` from their place, and a few far more.

    Spark's watermark for a batch is the largest time of earlier batches, less `delay`; it drops what is not
    above the watermark of the batch before. Late ones here are hours behind, so that both agree on them.
    """
    print(f"history of seed {seed}")
    chance = random.Random(seed)
    events = [make(chance, DAY + timedelta(hours=12, seconds=chance.randrange(900))) for _ in range(count)]
    events += chance.sample(events, count // 10)
    wander = delay.total_seconds() * 0.99
    events.sort(key=lambda event: event[1] + timedelta(seconds=chance.uniform(0, wander)))
    cuts = sorted(chance.sample(range(1, len(events)), 2))
    batches = [events[: cuts[0]], events[cuts[0] : cuts[1]], events[cuts[1] :]]
    late = [make(chance, DAY + timedelta(hours=1, seconds=chance.randrange(900))) for _ in range(3)]
    batches[-1] = batches[-1] + late
    chance.shuffle(batches[-1])
    return History(batches, events, late)
