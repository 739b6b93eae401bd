"""A row: who is measured, what is measured of each, and what is promised of the first of them. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.broker import Broker
from bench.row import Sample

Turns = Mapping[str, Sequence[Sample]]
"""Samples by contender, in the order of the turns."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that is measured of each contender."""

    name: str
    title: str
    unit: str
    digits: int = 2


@dataclass(frozen=True, slots=True)
class Promise:
    """A lower bound: on a figure of the first contender, or on its ratio to the figure of another."""

    figure: str
    bound: float
    against: str | None = None

    def __str__(self) -> str:
        return f"≥ {self.bound:g}" + ("" if self.against is None else f" x {self.against}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """One row.

    `prepare(broker, scale)` fills topics and gives what `measure(broker, prepared, contender, turn)` needs
    for one turn of one contender.
    """

    name: str
    title: str
    contenders: tuple[str, ...]
    figures: tuple[Figure, ...]
    promises: tuple[Promise, ...] = ()
    prepare: Callable[[Broker, float], Any]
    measure: Callable[[Broker, Any, str, int], Sample]
    runs: int = 3


@dataclass(frozen=True, slots=True)
class Line:
    """What the turns say of one figure: a median for each contender, and our ratio to each of the others."""

    figure: Figure
    medians: Mapping[str, float]
    ratios: Mapping[str, tuple[float, float, float]]
    """By the other's name: median of the ratios of neighbouring turns, lowest, highest."""


def line(figure: Figure, contenders: Sequence[str], turns: Turns) -> Line:
    """Sum up one figure."""
    values = {
        name: [sample[figure.name] for sample in turns.get(name, ()) if figure.name in sample]
        for name in contenders
    }
    ours = values[contenders[0]]
    ratios = {}
    for name in contenders[1:]:
        found = [mine / theirs for mine, theirs in zip(ours, values[name], strict=False) if theirs > 0]
        if found:
            ratios[name] = (median(found), min(found), max(found))
    return Line(figure, {name: median(found) for name, found in values.items() if found}, ratios)


def is_met(promise: Promise, contenders: Sequence[str], lines: Sequence[Line]) -> bool | None:
    """Say whether a promise is kept; None where nothing was measured for it."""
    found = next(each for each in lines if each.figure.name == promise.figure)
    if promise.against is None:
        ours = found.medians.get(contenders[0])
        return None if ours is None else ours >= promise.bound
    ratio = found.ratios.get(promise.against)
    return None if ratio is None else ratio[0] >= promise.bound
