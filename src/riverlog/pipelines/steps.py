"""What a pure machine is to `ordered.py`: rows in order go in, results and what it keeps come out."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

Values = tuple[Any, ...]


class Step(NamedTuple):
    """What a machine made of a step."""

    state: list[Values]
    results: list[Values]
    wake_us: int | None = None
    """When the watermark reaches this, step again even without rows: there will be state to drop."""


class Machine(Protocol):
    """The pure part of an operator: it knows neither Spark nor the time of day."""

    def step(self, state: list[Values], rows: list[Values], watermark_us: int) -> Step:
        """Take rows of a key in order, each (time in microseconds, column, column ...); give what is new.

        No later call brings a row whose time is not above `watermark_us`.
        """
