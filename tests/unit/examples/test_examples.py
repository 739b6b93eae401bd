"""What examples feed and expect, without Spark: the same from the same seed, and worth looking at."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from riverlog.examples import Arrival, Example, ExampleUnknown, Row, comparable, example, examples
from riverlog.examples.card_fraud import START
from riverlog.examples.example import rows_on

each_example = pytest.mark.parametrize("shown", examples(), ids=lambda shown: shown.name)


@each_example
def test_a_seed_gives_the_same_events_again_and_another_seed_others(shown: Example) -> None:
    assert shown.events(1, 200) == shown.events(1, 200)
    assert shown.events(1, 200) != shown.events(2, 200)


@each_example
def test_events_come_out_of_order_and_some_of_them_twice(shown: Example) -> None:
    arrivals = shown.events(1, 200)
    numbered = [repr(arrival.row) for arrival in arrivals if arrival.row is not None]

    assert len(set(numbered)) < len(numbered)
    assert {arrival.topic for arrival in arrivals} == {each.topic for each in shown.inputs}
    if not shown.goes_by_arrival:
        times = [_time_of(arrival) for arrival in arrivals]
        assert times != sorted(times)


@each_example
def test_what_is_expected_does_not_depend_on_order_or_repetition(shown: Example) -> None:
    arrivals = shown.events(3, 200)
    expected = comparable(shown.expected(arrivals))

    assert len(expected) >= 5
    if not shown.goes_by_arrival:
        assert comparable(shown.expected([*reversed(arrivals), *arrivals[:50]])) == expected


@each_example
def test_a_result_is_said_in_one_line(shown: Example) -> None:
    rows = comparable(shown.expected(shown.events(1, 200)))

    for row in rows:
        text = shown.line({"operation": "insert", **json.loads(json.dumps(row))})
        assert text.isprintable()
        assert 0 < len(text) <= 100


def test_a_search_clicked_after_the_time_for_it_counts_as_not_clicked() -> None:
    shown = example("search-clicks")
    arrivals = shown.events(1, 400)
    searched = {row["search"]: row["at"] for row in rows_on("searches", arrivals)}
    too_late = [
        row for row in rows_on("clicks", arrivals) if (row["at"] - searched[row["search"]]).seconds > 600
    ]

    rows = shown.expected(arrivals)

    assert too_late
    assert sum(row["searches"] for row in rows) == len(searched)
    assert (
        0 < sum(row["clicked"] for row in rows) < len({row["search"] for row in rows_on("clicks", arrivals)})
    )


def test_a_confirmed_payment_raises_no_suspicion() -> None:
    shown = example("card-fraud")

    suspected = shown.expected(_uses("payment"))
    confirmed = shown.expected(_uses("confirmed"))

    assert [(row["card"], row["cents"], len(row["tried_at"])) for row in suspected] == [("c", 60_000, 3)]
    assert confirmed == []


def test_clocks_that_are_wrong_by_years_give_windows_of_the_hour_that_it_was() -> None:
    rows = example("machine-monitoring").expected(example("machine-monitoring").events(1, 200))

    assert {row["since"].date().isoformat() for row in rows} == {"2026-03-02"}
    assert max(row["clock_behind_ms"] for row in rows) > 50 * 365 * 86_400_000
    assert any(row["is_hot"] for row in rows)
    assert not all(row["is_hot"] for row in rows)


def test_the_capture_snapshots_changes_deletes_and_repeats_itself() -> None:
    shown = example("enriched-clicks")
    arrivals = shown.events(1, 200)
    changes = [arrival.row for arrival in arrivals if arrival.topic == "user-changes"]

    positions = [row["source"]["lsn"] for row in changes if row is not None]
    rows = shown.expected(arrivals)

    assert {row["op"] for row in changes if row is not None} == {"r", "c", "u", "d"}
    assert None in changes
    assert len(set(positions)) < len(positions)
    assert 0 < sum(row["name"] is None for row in rows) < len(rows)


def test_a_name_that_no_example_has_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ExampleUnknown, match=r"no example 'fraud': there are search-clicks, card-fraud"):
        example("fraud")


def _time_of(arrival: Arrival) -> Any:
    row: Row = arrival.row or {}
    return next(
        (row[name] for name in ("received", "at", "version") if isinstance(row.get(name), (datetime, int))), 0
    )


def _uses(kind: str) -> list[Arrival]:
    minute = timedelta(minutes=1)
    uses = [(0, "payment", 50), (1, "payment", 60), (2, kind, 70), (3, "payment", 60_000)]
    return [
        Arrival(
            "card-use",
            {
                "use": str(at),
                "card": "c",
                "at": START + at * minute,
                "kind": each,
                "merchant": "shop",
                "cents": cents,
            },
        )
        for at, each, cents in uses
    ]
