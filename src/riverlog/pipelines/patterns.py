"""Patterns over the events of a key, declared. Pure.

    Pattern(
        [
            step("trial", "cents <= 100", at_least=2, at_most=5),
            absent("reversal", "kind = 'reversal'"),
            step("haul", "cents > 50000"),
        ],
        within=timedelta(minutes=10),
    )

What it means, per key and in the order of event time:

- Each event that satisfies the first step begins a run. A run takes the next event that satisfies where it
  stands; events that satisfy nothing there are passed over.
- `at_least=0` makes a step optional; `at_most` above one lets it take several events.
- An `absent` step forbids: once the step before it has taken an event, an event that satisfies it ends the
run,
  even one that would be taken. At the end of a pattern it must stay away for the rest of `within`.
- All events of a match lie in [first, first + within]. A match is complete at the earliest event that can
  complete it; of several ways to get there the one that took most events stands, then the one that took them
  for earlier steps.
- After a match the runs that began up to its end are given up, unless `overlapping`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from riverlog.errors import RiverlogError
from riverlog.pipelines.columns import microseconds

STEPS_MAX = 60
"""What a step's condition says of an event is one bit of a long."""
TIMES_MAX = 1000
"""Events that one step may take: a run is kept in state with all that it took."""


class PatternRefused(RiverlogError):
    """A pattern that says nothing clear: names the step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a name, a condition in SQL over the columns of an event, and how many events it takes."""

    name: str
    where: str
    at_least: int = 1
    at_most: int = 1
    is_absent: bool = False


def step(name: str, where: str, *, at_least: int = 1, at_most: int | None = None) -> Step:
    """Take events that satisfy a condition: one of them, unless `at_least` and `at_most` say other."""
    return Step(name, where, at_least, max(1, at_least) if at_most is None else at_most)


def absent(name: str, where: str) -> Step:
    """Forbid events that satisfy a condition, between the step before and the step after."""
    return Step(name, where, 0, 0, is_absent=True)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Steps in their order, and the time that a match may take."""

    steps: Sequence[Step]
    within: timedelta
    overlapping: bool = False

    def __post_init__(self) -> None:
        microseconds("within", self.within)
        if not 1 <= len(self.steps) <= STEPS_MAX:
            raise PatternRefused(f"a pattern has 1 to {STEPS_MAX} steps, this one has {len(self.steps)}")
        names = [each.name for each in self.steps]
        for each in self.steps:
            if names.count(each.name) > 1:
                raise PatternRefused(f"step {each.name!r} is there twice: give each step a name of its own")
            if not 0 <= each.at_least <= each.at_most <= TIMES_MAX:
                raise PatternRefused(
                    f"step {each.name!r} takes {each.at_least} to {each.at_most} events: expected "
                    f"0 <= at_least <= at_most <= {TIMES_MAX}"
                )
            if not each.is_absent and each.at_most == 0:
                raise PatternRefused(f"step {each.name!r} takes no event: use `absent` to forbid one")
        first = self.steps[0]
        if first.is_absent or first.at_least == 0:
            raise PatternRefused(f"step {first.name!r} is the first: it must take an event, to begin a run")
        self._check_absences()
        last = [each for each in self.steps if not each.is_absent][-1]
        if last.at_least != last.at_most:
            raise PatternRefused(
                f"step {last.name!r} is the last: a match is complete as soon as it can be, so it takes "
                f"exactly as many events as it must (at_least={last.at_least}, at_most={last.at_most})"
            )

    def _check_absences(self) -> None:
        for place, each in enumerate(self.steps):
            beside = self.steps[max(0, place - 1) : place + 2]
            if each.is_absent and any(other is not each and other.at_least == 0 for other in beside):
                raise PatternRefused(
                    f"step {each.name!r} is absent: the steps beside it can be neither optional nor absent, "
                    "or it would not be clear between which events it is"
                )
