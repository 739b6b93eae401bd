"""Aggregates of a moving span, beside a list that is aggregated anew for each row."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverlog.errors import RiverlogError
from riverlog.pipelines.aggregates import FUNCTIONS, Aggregate, SlidingMachine, Span, parse

ALL = [(function, 1, None) for function in FUNCTIONS]


def by_hand(rows: list[tuple[Any, ...]], preceding: int) -> list[tuple[Any, ...]]:
    results = []
    for row in rows:
        inside = [each[1] for each in rows if row[0] - preceding <= each[0] <= row[0] and each[1] is not None]
        total = sum(inside) if inside else None
        mean = total / len(inside) if total is not None else None
        results.append((*row, len(inside), total, mean, min(inside, default=None), max(inside, default=None)))
    return results


@given(
    rows=st.lists(st.tuples(st.integers(1, 40), st.none() | st.integers(-9, 9))),
    preceding=st.integers(1, 15),
    watermarks=st.lists(st.integers(0, 45)),
)
def test_any_rows_in_any_steps_are_aggregated_as_if_each_span_were_computed_anew(
    rows: list[tuple[Any, ...]], preceding: int, watermarks: list[int]
) -> None:
    rows = sorted(rows, key=repr)
    rows.sort(key=lambda row: row[0])
    machine = SlidingMachine(preceding, ALL, [0, 1])
    state: list[tuple[Any, ...]] = []
    results: list[tuple[Any, ...]] = []
    before = 0
    for watermark in [*sorted(watermarks), 100]:
        due = [row for row in rows if before < row[0] <= watermark]
        step = machine.step(state, due, watermark)
        state, before = step.state, watermark
        results += step.results
        assert all(kept[0] > watermark - preceding for kept in state)
        assert (step.wake_us is not None) == bool(state)

    assert results == by_hand(rows, preceding)
    assert state == []


def test_state_is_gone_when_the_machine_is_woken_as_it_asked() -> None:
    machine = SlidingMachine(10, ALL, [0, 1])

    step = machine.step([], [(5, 1), (8, 2)], 8)
    assert step.wake_us == 18

    assert machine.step(step.state, [], 17).state == [(8, 8, 2)]
    assert machine.step(step.state, [], 18).state == []


def test_an_average_of_decimals_has_the_scale_that_sql_gives_it() -> None:
    machine = SlidingMachine(10, [("avg", 0, 4)], [1])

    step = machine.step([], [(1, Decimal("1.00")), (2, Decimal("1.00")), (3, Decimal("0.01"))], 3)

    assert step.results[-1][-1] == Decimal("0.6700")


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3))))
def test_a_span_holds_what_was_added_and_not_dropped(actions: list[tuple[bool, int]]) -> None:
    span, held, now = Span(1), [], 0
    for adds, by in actions:
        now += by
        if adds:
            span.add((now, now % 7))
            held.append((now, now % 7))
        else:
            span.drop_until(now - 2)
            held = [row for row in held if row[0] >= now - 2]
        assert span.rows() == held
        assert span.parts()[0].most == max((row[1] for row in held), default=None)


def test_text_is_read_as_an_aggregate() -> None:
    assert parse("n", "count(*)") == Aggregate("count", None)
    assert parse("n", " SUM( `a b` ) ") == Aggregate("sum", "a b")


@pytest.mark.parametrize("text", ["sum(*)", "median(x)", "sum(a + b)", "sum", "sum(a), sum(b)"])
def test_what_is_no_aggregate_is_refused_by_name(text: str) -> None:
    with pytest.raises(RiverlogError, match="aggregate spent="):
        parse("spent", text)
