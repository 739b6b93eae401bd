"""Versions of a table's row: the newest, and the one valid at a time."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from riverlog.pipelines.versions import CHANGE, EVENT, TemporalMachine, Version, newest


def by_hand(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Give each event the last change, in order, that is not after it."""
    changes = [row for row in rows if row[1] == CHANGE]
    results = []
    for time, side, event, _ in rows:
        if side == EVENT:
            valid = [change[3] for change in changes if change[0] <= time]
            results.append((time, event, valid[-1] if valid else None))
    return results


ROWS = st.lists(
    st.tuples(st.integers(1, 30), st.just(CHANGE), st.none(), st.none() | st.integers(0, 99))
    | st.tuples(st.integers(1, 30), st.just(EVENT), st.integers(0, 99), st.none())
)


@given(rows=ROWS, watermarks=st.lists(st.integers(0, 30)))
def test_each_event_gets_the_version_of_its_time_in_any_steps(
    rows: list[tuple[Any, ...]], watermarks: list[int]
) -> None:
    rows = sorted(rows, key=lambda row: (row[0], repr(row)))
    machine = TemporalMachine(keeps_unmatched=True)
    state: list[tuple[Any, ...]] = []
    results: list[tuple[Any, ...]] = []
    before = 0
    for watermark in [*sorted(watermarks), 99]:
        step = machine.step(state, [row for row in rows if before < row[0] <= watermark], watermark)
        state, before = step.state, watermark
        results += step.results
        assert len(state) <= 1

    assert results == by_hand(rows)


def test_unmatched_events_are_left_out_of_an_inner_join() -> None:
    step = TemporalMachine(keeps_unmatched=False).step([], [(1, EVENT, "e", None)], 5)

    assert step.results == []


def test_a_change_that_arrives_late_holds_unless_a_newer_one_is_there() -> None:
    machine = TemporalMachine(keeps_unmatched=True)
    state = machine.step([], [(10, CHANGE, None, "ten")], 20).state

    state = machine.step(state, [(5, CHANGE, None, "five")], 30).state
    assert machine.step(state, [(31, EVENT, "e", None)], 40).results == [(31, "e", "ten")]

    state = machine.step(state, [(15, CHANGE, None, "fifteen")], 40).state
    assert machine.step(state, [(41, EVENT, "e", None)], 50).results == [(41, "e", "fifteen")]


def test_an_older_change_does_not_bring_back_what_was_deleted() -> None:
    deleted = newest(Version(1, "row"), [Version(3, None)])

    assert newest(deleted, [Version(2, "older")]) == Version(3, None)
    assert newest(deleted, [Version(4, "newer")]) == Version(4, "newer")


@given(st.permutations([Version(order, f"row {order}") for order in range(6)]))
def test_the_newest_is_the_same_in_any_order_of_arrival(changes: list[Version]) -> None:
    assert newest(None, changes) == Version(5, "row 5")
    assert newest(newest(None, changes[:3]), changes[3:]) == Version(5, "row 5")
