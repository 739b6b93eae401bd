"""Patterns over sequences: each rule by an example, and all beside a search through every possibility."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverlog.errors import RiverlogError
from riverlog.pipelines.nfa import PatternMachine
from riverlog.pipelines.patterns import Pattern, PatternRefused, Step, absent, step

TEN = timedelta(microseconds=10)


def events(text: str) -> list[tuple[int, str]]:
    """`a b . c` -> events at 1, 2 and 4; a group such as `(ab)` satisfies several steps."""
    return [(time, word) for time, word in enumerate(text.split(), 1) if word != "."]


def rows(pattern: Pattern, of: list[tuple[int, str]]) -> list[tuple[int, int, str]]:
    names = [each.name for each in pattern.steps]
    return [
        (time, sum(1 << place for place, name in enumerate(names) if name in word), f"{word}{time}")
        for time, word in of
    ]


def matches(pattern: Pattern, text: str, until: int = 1000) -> list[tuple[Any, ...]]:
    return PatternMachine(pattern).step([], rows(pattern, events(text)), until).results


A, B, C = (step(name, "true") for name in "abc")


def test_steps_are_taken_in_order_and_what_satisfies_none_is_passed_over() -> None:
    assert matches(Pattern([A, B], TEN), "b a x b") == [(4, 2, ["a2"], ["b4"])]


def test_a_match_lies_within_its_time_the_end_included() -> None:
    assert matches(Pattern([A, B], TEN), "a . . . . . . . . . b") == [(11, 1, ["a1"], ["b11"])]
    assert matches(Pattern([A, B], TEN), "a . . . . . . . . . . b") == []


def test_an_optional_step_is_taken_if_it_comes() -> None:
    pattern = Pattern([A, step("b", "true", at_least=0), C], TEN)

    assert matches(pattern, "a c") == [(2, 1, ["a1"], [], ["c2"])]
    assert matches(pattern, "a b c") == [(3, 1, ["a1"], ["b2"], ["c3"])]


def test_a_repeated_step_takes_as_many_as_it_may() -> None:
    pattern = Pattern([A, step("b", "true", at_least=2, at_most=3), C], TEN)

    assert matches(pattern, "a b c") == []
    assert matches(pattern, "a b b b b c") == [(6, 1, ["a1"], ["b2", "b3", "b4"], ["c6"])]


def test_an_event_that_is_absent_ends_the_run_only_after_the_step_before_it() -> None:
    pattern = Pattern([A, B, absent("x", "true"), C], TEN)

    assert matches(pattern, "a x b c") == [(4, 1, ["a1"], ["b3"], ["c4"])]
    assert matches(pattern, "a b x c") == []
    assert matches(pattern, "a b xc") == []


def test_an_absence_at_the_end_is_a_match_when_the_time_is_over() -> None:
    pattern = Pattern([A, absent("b", "true")], TEN)

    assert matches(pattern, "a", until=10) == []
    assert matches(pattern, "a", until=11) == [(11, 1, ["a1"])]
    assert matches(pattern, "a . . b") == []


def test_a_match_uses_up_what_began_before_its_end_unless_overlapping() -> None:
    assert matches(Pattern([A, B], TEN), "a a b b") == [(3, 1, ["a1"], ["b3"])]
    assert matches(Pattern([A, B], TEN, overlapping=True), "a a b b") == [
        (3, 1, ["a1"], ["b3"]),
        (3, 2, ["a2"], ["b3"]),
    ]


def test_an_event_that_satisfies_two_steps_is_followed_both_ways() -> None:
    pattern = Pattern([A, step("b", "true", at_most=5), C], TEN)

    assert matches(pattern, "a b bc") == [(3, 1, ["a1"], ["b2"], ["bc3"])]
    assert matches(pattern, "a bc c") == [(3, 1, ["a1"], ["bc2"], ["c3"])]


def test_of_ways_to_the_same_end_the_one_that_took_most_stands() -> None:
    pattern = Pattern([A, step("b", "true", at_least=0), C, step("d", "true")], TEN)

    assert matches(pattern, "a bc c d") == [(4, 1, ["a1"], ["bc2"], ["c3"], ["d4"])]


def test_a_single_step_matches_each_of_its_events() -> None:
    assert matches(Pattern([A], TEN), "a b a") == [(1, 1, ["a1"]), (3, 3, ["a3"])]


def test_state_is_gone_when_the_machine_is_woken_as_it_asked() -> None:
    machine = PatternMachine(Pattern([A, B], TEN))

    kept = machine.step([], [(5, 1, "a"), (7, 1, "a")], 8)
    assert kept.wake_us == 15
    later = machine.step(kept.state, [], 15)
    assert (len(later.state), later.wake_us) == (1, 17)

    assert machine.step(later.state, [], 17).state == []


# Every possibility, without an automaton.


def every_way(
    pattern: Pattern, of: list[tuple[int, int, str]], start: int
) -> list[tuple[int, tuple[int, ...], tuple[str, ...]]]:
    """Give (end time, steps, events) of all complete ways from the event at `start`, in no order."""
    steps = pattern.steps
    deadline = of[start][0] + pattern.within // timedelta(microseconds=1)
    taking = [place for place, each in enumerate(steps) if not each.is_absent]
    found = []

    def follow(place: int, at: int, taken: int, path: tuple[int, ...], took: tuple[str, ...]) -> None:
        full = at == taking[-1] and taken >= steps[at].at_least
        if full and not steps[-1].is_absent:
            found.append((of[place - 1][0], path, took))
            return
        if place == len(of) or of[place][0] > deadline:
            if full:
                found.append((deadline, path, took))
            return
        _, hits, event = of[place]
        if at + 1 < len(steps) and steps[at + 1].is_absent and hits >> (at + 1) & 1:
            return
        ways = [(at, taken + 1)] if hits >> at & 1 and taken < steps[at].at_most else []
        if taken >= steps[at].at_least:
            for later in taking[taking.index(at) + 1 :]:
                if hits >> later & 1:
                    ways.append((later, 1))
                if steps[later].at_least:
                    break
        for next_at, next_taken in ways:
            follow(place + 1, next_at, next_taken, (*path, next_at), (*took, event))
        if not ways:
            follow(place + 1, at, taken, path, took)

    follow(start + 1, 0, 1, (0,), (of[start][2],))
    return found


def by_hand(pattern: Pattern, of: list[tuple[int, int, str]]) -> list[tuple[Any, ...]]:
    chosen = []
    for start, (time, hits, _) in enumerate(of):
        ways = every_way(pattern, of, start) if hits & 1 else []
        if ways:
            end, path, took = min(ways, key=lambda way: (way[0], -len(way[1]), way[1]))
            last = (
                len(of)
                if pattern.steps[-1].is_absent
                else of.index(next(row for row in of if row[2] == took[-1]))
            )
            chosen.append((end, last, start, time, path, took))
    chosen.sort()
    taking = [place for place, each in enumerate(pattern.steps) if not each.is_absent]
    results = []
    used: tuple[int, int] = (-1, -1)
    for end, last, start, time, path, took in chosen:
        if not pattern.overlapping and (time, start) <= used:
            continue
        used = (end, last)
        taken = [[event for at, event in zip(path, took, strict=True) if at == place] for place in taking]
        results.append((end, time, *taken))
    return results


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    steps: list[Step] = []
    names = iter("abcdefghi")
    for place in range(draw(st.integers(1, 4))):
        last_is_definite = not steps or steps[-1].at_least > 0
        if steps and last_is_definite and draw(st.booleans()):
            steps.append(absent(next(names), "true"))
            steps.append(step(next(names), "true"))
            continue
        least = draw(st.integers(0 if place else 1, 2))
        steps.append(
            step(next(names), "true", at_least=least, at_most=max(1, least) + draw(st.integers(0, 1)))
        )
    last = steps[-1]
    steps[-1] = step(last.name, "true", at_least=max(1, last.at_least))
    if draw(st.booleans()):
        steps.append(absent(next(names), "true"))
    return Pattern(steps, timedelta(microseconds=draw(st.integers(1, 12))), overlapping=draw(st.booleans()))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Pattern, list[tuple[int, set[str]]]]:
    """A pattern, and events that satisfy one or more of its steps."""
    pattern = draw(patterns())
    names = [each.name for each in pattern.steps if not each.is_absent]
    words = st.sets(st.sampled_from(names), min_size=1)
    events = draw(st.lists(st.tuples(st.integers(1, 20), words), min_size=2, max_size=12))
    forbidden = [each.name for each in pattern.steps if each.is_absent]
    if forbidden and draw(st.booleans()):
        events.append((draw(st.integers(1, 20)), {draw(st.sampled_from(forbidden))}))
    return pattern, events


@settings(max_examples=1000)
@given(case=cases(), watermarks=st.lists(st.integers(0, 25), max_size=4))
def test_any_pattern_finds_what_a_search_through_every_possibility_finds(
    case: tuple[Pattern, list[tuple[int, set[str]]]], watermarks: list[int]
) -> None:
    pattern, of = case
    # Times are told apart, so that a beginning is known by its time.
    named = [(time, "".join(sorted(word))) for time, word in dict(of).items()]
    ordered = rows(pattern, sorted(named))
    machine = PatternMachine(pattern)
    state: list[tuple[Any, ...]] = []
    results: list[tuple[Any, ...]] = []
    before = 0
    for watermark in [*sorted(watermarks), 100]:
        made = machine.step(state, [row for row in ordered if before < row[0] <= watermark], watermark)
        state, before = made.state, watermark
        results += made.results

    assert sorted(results) == sorted(by_hand(pattern, ordered))
    assert state == []


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([], "1 to 60 steps"),
        ([A, A], "'a' is there twice"),
        ([step("a", "true", at_least=0), B], "'a' is the first"),
        ([absent("a", "true"), B], "'a' is the first"),
        ([A, step("b", "true", at_least=3, at_most=2)], "'b' takes 3 to 2"),
        ([A, step("b", "true", at_least=0, at_most=0), C], "'b' takes no event"),
        ([A, step("b", "true", at_most=9)], "'b' is the last"),
        ([A, step("b", "true", at_least=0), absent("c", "true")], "'c' is absent"),
        ([A, absent("b", "true"), absent("c", "true")], "'b' is absent"),
        ([A, step("b", "true", at_most=100000), C], "'b' takes 1 to 100000"),
    ],
)
def test_a_pattern_that_is_not_clear_is_refused_by_the_name_of_the_step(steps: list[Step], why: str) -> None:
    with pytest.raises(PatternRefused, match=why):
        Pattern(steps, TEN)


def test_a_pattern_without_end_is_refused() -> None:
    with pytest.raises(RiverlogError, match="within="):
        Pattern([A], timedelta(0))
