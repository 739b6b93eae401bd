"""A row of the budget table: what is measured, and what is promised about it.

Pure: no process, no clock. A row names its figures; each turn of a row gives one number per figure; the
schedule collects turns and the report compares them with the budgets.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from statistics import median

from bench.broker import Broker

Sample = Mapping[str, float]
"""One turn's numbers, by figure name."""


class System(Enum):
    """Who is measured. The value is the heading of its column."""

    PEER = "Kafka"
    SUBJECT = "riverlog"
    SUBJECT_FSYNC = "riverlog fsync"


@dataclass(frozen=True, slots=True)
class Budget:
    """A bound on the ratio subject / peer, or on the subject's own value when `is_ratio` is false."""

    bound: float
    is_upper: bool
    is_ratio: bool = True

    def is_met_by(self, value: float) -> bool:
        """Tell whether the value, a ratio or an absolute one as `is_ratio` says, keeps the promise."""
        return value <= self.bound if self.is_upper else value >= self.bound

    def __str__(self) -> str:
        return f"{'≤' if self.is_upper else '≥'} {self.bound:g}{' x' if self.is_ratio else ''}"


def at_most(bound: float) -> Budget:
    """Promise a ratio no larger than `bound`."""
    return Budget(bound, is_upper=True)


def at_least(bound: float) -> Budget:
    """Promise a ratio no smaller than `bound`."""
    return Budget(bound, is_upper=False)


def no_more_than(bound: float) -> Budget:
    """Promise an absolute value no larger than `bound`."""
    return Budget(bound, is_upper=True, is_ratio=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that a row measures."""

    name: str
    title: str
    unit: str
    budget: Budget | None = None
    digits: int = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table.

    `measure(broker, scale)` takes one turn; scale 1 is the full load, less is quicker and noisier. The
    schedule starts the broker and takes turns that do not count, for compilers and caches, unless
    `starts_broker` says that the row measures the start itself: then the broker comes stopped, with a new
    data directory, and is left to the schedule to end. `settings` are given to every broker, beside its
    defaults.
    """

    name: str
    title: str
    figures: tuple[Figure, ...]
    measure: Callable[[Broker, float], Sample]
    systems: tuple[System, ...] = (System.PEER, System.SUBJECT)
    starts_broker: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the turns say about one figure: medians per system, the ratio, and whether the budget is met.

    `ratio` is the median of the ratios of neighbouring turns, not the quotient of the medians: a machine that
    slows down halfway moves both neighbours.
    """

    figure: Figure
    medians: Mapping[System, float]
    ratio: float | None
    ratio_min: float | None
    ratio_max: float | None
    is_met: bool | None


def judge(figure: Figure, turns: Mapping[System, list[Sample]]) -> Verdict:
    """Compare the turns of a row with the budget of one of its figures."""
    values = {
        system: [sample[figure.name] for sample in samples if figure.name in sample]
        for system, samples in turns.items()
    }
    medians = {system: median(found) for system, found in values.items() if found}
    pairs = zip(values.get(System.PEER, []), values.get(System.SUBJECT, []), strict=False)
    ratios = [ours / theirs for theirs, ours in pairs if theirs > 0]
    ratio = median(ratios) if ratios else None
    judged = None
    if figure.budget is not None:
        judged = ratio if figure.budget.is_ratio else medians.get(System.SUBJECT)
    return Verdict(
        figure=figure,
        medians=medians,
        ratio=ratio,
        ratio_min=min(ratios, default=None),
        ratio_max=max(ratios, default=None),
        is_met=None if figure.budget is None or judged is None else figure.budget.is_met_by(judged),
    )
