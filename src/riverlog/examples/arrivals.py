"""How a network brings events: somewhat out of order, and some of them twice. Pure, from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta

from riverlog.examples.example import Arrival

TWICE = 0.05
"""The share of events that are delivered again."""
WANDER = 0.5
"""How far an event strays from its place, in delays: what is left of the delay is for the way it is fed."""


def disordered(
    chance: random.Random, events: Sequence[tuple[datetime, Arrival]], delay: timedelta
) -> list[Arrival]:
    """Put events, each with the time at which it was sent, in an order of arrival; some of them twice.

    None comes when one more than half of `delay` later has come before it, so none is late for a watermark
    that lies `delay` behind.
    """
    placed = [
        (sent + chance.random() * WANDER * delay, arrival)
        for sent, arrival in events
        for _ in range(2 if chance.random() < TWICE else 1)
    ]
    placed.sort(key=lambda each: each[0])
    return [arrival for _, arrival in placed]


def milliseconds(seconds: float) -> timedelta:
    """Give a duration in whole milliseconds, as the topics carry times."""
    return timedelta(milliseconds=round(seconds * 1000))
