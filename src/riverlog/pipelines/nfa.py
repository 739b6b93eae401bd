"""A pattern as a nondeterministic automaton, run over the events of a key in order. Pure.

    step      0 trial {2,5}        1 not reversal       2 haul
    run       (0, 1) ─▶ (0, 2) ─▶ (0, 3) ...            (2, 1) = complete
                            └────────────────────────────▶

A run stands at (step, events taken there) and branches where an event satisfies both its own step and a
later one. Of branches of one beginning that stand at the same place only the better is kept, since their
future is the same; so a beginning has at most as many runs as the pattern can take events, and state is
bounded by that, times the beginnings within `within`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from riverlog.pipelines.columns import microseconds
from riverlog.pipelines.patterns import Pattern
from riverlog.pipelines.steps import Step, Values


class Run(NamedTuple):
    """A match that may become one."""

    began_us: int
    number: int
    """Which of the key's beginnings this is: branches share it, and it tells equal times apart."""
    at: int
    """The step that took the last event."""
    taken_there: int
    steps: tuple[int, ...]
    """Which step took each event."""
    events: tuple[Any, ...]

    @property
    def rank(self) -> tuple[int, tuple[int, ...]]:
        """The better of two ways to the same place is the smaller: more events, then for earlier steps."""
        return -len(self.steps), self.steps


class Match(NamedTuple):
    """A complete run and the time at which it became so."""

    ended_us: int
    run: Run


class PatternMachine:
    """Rows are (time, hits, event): bit i of `hits` says that the event satisfies step i.

    Results are (time of completion, time of the first event, [events of step 0], [events of step 1] ...),
    with absent steps left out. State is a row per run and event that it took.
    """

    def __init__(self, pattern: Pattern) -> None:
        self._steps = list(pattern.steps)
        self._within = microseconds("within", pattern.within)
        self._overlapping = pattern.overlapping
        taking = [place for place, each in enumerate(self._steps) if not each.is_absent]
        self._taking = taking
        self._last = taking[-1]
        self._ends_absent = self._steps[-1].is_absent
        self._next = [self._reachable(place) for place in range(len(self._steps))]
        self._forbidden = [
            1 << (place + 1) if place + 1 < len(self._steps) and self._steps[place + 1].is_absent else 0
            for place in range(len(self._steps))
        ]

    def step(self, state: list[Values], rows: list[Values], watermark_us: int) -> Step:
        """Run over the rows, then settle what the watermark has decided."""
        runs = _load(state)
        matches: list[Match] = []
        number = max((run.number for run in runs), default=-1) + 1
        for time_us, hits, event in rows:
            runs = self._expire(runs, time_us - 1, matches)
            runs = self._advance(runs, time_us, hits, event, matches)
            if hits & 1 and not self._just_ended(matches, time_us, event):
                first = Run(time_us, number, 0, 1, (0,), (event,))
                number += 1
                runs = self._begin(runs, first, time_us, matches)
        runs = self._expire(runs, watermark_us, matches)
        deadline = min((run.began_us + self._within for run in runs), default=None)
        return Step(_stored(runs), [self._result(match) for match in matches], deadline)

    def _just_ended(self, matches: list[Match], time_us: int, event: Any) -> bool:
        """Say whether this very event completed a match, in which case it begins no other one."""
        if self._overlapping or not matches:
            return False
        latest = matches[-1]
        return latest.ended_us == time_us and latest.run.events[-1] is event

    def _begin(self, runs: list[Run], run: Run, time_us: int, matches: list[Match]) -> list[Run]:
        if not self._is_complete(run):
            return [*runs, run]
        return self._ended([*runs], [Match(time_us, run)], matches)

    def _advance(
        self, runs: list[Run], time_us: int, hits: int, event: Any, matches: list[Match]
    ) -> list[Run]:
        """Let every run take the event, pass it over, or end by it."""
        best: dict[tuple[int, int, int], Run] = {}
        for run in runs:
            if hits & self._forbidden[run.at]:
                continue
            for after in self._branches(run, hits, event):
                place = (after.number, after.at, after.taken_there)
                best[place] = min(best[place], after, key=_rank) if place in best else after
        # All complete runs of one beginning stand at the same place, so there is one of them at most.
        complete = {run.number: run for run in best.values() if self._is_complete(run)}
        kept = [run for run in best.values() if run.number not in complete]
        return self._ended(kept, [Match(time_us, run) for run in complete.values()], matches)

    def _branches(self, run: Run, hits: int, event: Any) -> Iterable[Run]:
        taking = []
        here = self._steps[run.at]
        if hits >> run.at & 1 and run.taken_there < here.at_most:
            taking.append((run.at, run.taken_there + 1))
        if run.taken_there >= here.at_least:
            taking += [(place, 1) for place in self._next[run.at] if hits >> place & 1]
        if not taking:
            return [run]
        return [
            Run(run.began_us, run.number, at, taken, (*run.steps, at), (*run.events, event))
            for at, taken in taking
        ]

    def _expire(self, runs: list[Run], until_us: int, matches: list[Match]) -> list[Run]:
        """End the runs whose time is over; a pattern that ends with an absence has its match by that."""
        over = [run for run in runs if run.began_us + self._within <= until_us]
        if not over:
            return runs
        alive = [run for run in runs if run.began_us + self._within > until_us]
        if not self._ends_absent:
            return alive
        held = {run.number: run for run in sorted(over, key=_rank, reverse=True) if self._has_all(run)}
        while held:
            run = min(held.values(), key=lambda each: (each.began_us, each.number))
            ended = run.began_us + self._within
            matches.append(Match(ended, run))
            del held[run.number]
            if not self._overlapping:
                held = {number: each for number, each in held.items() if each.began_us > ended}
                alive = [each for each in alive if each.began_us > ended]
        return alive

    def _ended(self, runs: list[Run], ended: list[Match], matches: list[Match]) -> list[Run]:
        """Note matches that one event completed, and give the runs that go on."""
        ended.sort(key=lambda match: match.run.number)
        if not ended:
            return runs
        if self._overlapping:
            matches += ended
            return runs
        matches.append(ended[0])
        return []

    def _has_all(self, run: Run) -> bool:
        return run.at == self._last and run.taken_there >= self._steps[self._last].at_least

    def _is_complete(self, run: Run) -> bool:
        return not self._ends_absent and self._has_all(run)

    def _reachable(self, place: int) -> list[int]:
        """Give the steps that may take the next event once `place` has enough."""
        reachable = []
        for later in range(place + 1, len(self._steps)):
            if self._steps[later].is_absent:
                continue
            reachable.append(later)
            if self._steps[later].at_least > 0:
                break
        return reachable

    def _result(self, match: Match) -> Values:
        run = match.run
        taken: list[list[Any]] = [
            [event for at, event in zip(run.steps, run.events, strict=True) if at == place]
            for place in self._taking
        ]
        return (match.ended_us, run.began_us, *taken)


def _rank(run: Run) -> tuple[int, tuple[int, ...]]:
    return run.rank


def _stored(runs: list[Run]) -> list[Values]:
    """Flatten runs: (run, number, began, at, taken there, step, event) for each event that a run took."""
    return [
        (place, run.number, run.began_us, run.at, run.taken_there, at, event)
        for place, run in enumerate(runs)
        for at, event in zip(run.steps, run.events, strict=True)
    ]


def _load(state: list[Values]) -> list[Run]:
    runs: dict[int, Run] = {}
    for place, number, began_us, at, taken_there, by, event in state:
        before = runs.get(place)
        steps, events = (before.steps, before.events) if before else ((), ())
        runs[place] = Run(began_us, number, at, taken_there, (*steps, by), (*events, event))
    return list(runs.values())
