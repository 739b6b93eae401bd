"""What `riverlog groups` works out before it prints or moves anything."""

from __future__ import annotations

import argparse

import pytest

from riverlog.cli.arguments import offset_distance
from riverlog.cli.groups import Standing, offset_of, shifted
from riverlog.client.positions import END, START, Bounds, Kind, Position

BOUNDS = Bounds(10, 50)


def standing(committed: int | None, start: int | None = 10, end: int | None = 50) -> Standing:
    return Standing("orders", 0, None, committed, start, end)


def test_the_lag_is_the_distance_to_the_end() -> None:
    assert (standing(20).lag, standing(20).lost) == (30, 0)
    assert (standing(50).lag, standing(50).lost) == (0, 0)


def test_what_lies_below_the_start_is_lost() -> None:
    assert (standing(4).lag, standing(4).lost) == (46, 6)


def test_an_offset_past_the_end_is_no_lag() -> None:
    # A log that was cut, or made again under its name.
    assert standing(60).lag == 0


def test_what_is_not_known_is_not_counted() -> None:
    assert (standing(None).lag, standing(None).lost) == (None, None)
    assert (standing(20, None, None).lag, standing(20, None, None).lost) == (None, None)


@pytest.mark.parametrize(
    ("target", "found", "offset"),
    [
        (START, None, 10),
        (END, None, 50),
        (Position(Kind.OFFSET, 20), None, 20),
        (Position(Kind.OFFSET, 5), None, 10),
        (Position(Kind.OFFSET, 99), None, 50),
        (Position(Kind.TIME, 1000), 33, 33),
        (Position(Kind.TIME, 1000), None, 50),
    ],
)
def test_a_target_is_an_offset_that_is_there(target: Position, found: int | None, offset: int) -> None:
    assert offset_of(target, BOUNDS, found) == offset


def test_a_shift_ends_at_the_bounds() -> None:
    assert shifted(20, 5, BOUNDS) == 25
    assert shifted(20, -5, BOUNDS) == 15
    assert shifted(20, -50, BOUNDS) == 10
    assert shifted(20, 50, BOUNDS) == 50


@pytest.mark.parametrize(("text", "number"), [("5", 5), ("-5", -5), ("+5", 5), ("0", 0)])
def test_a_distance_may_be_negative(text: str, number: int) -> None:
    assert offset_distance(text) == number


@pytest.mark.parametrize("text", ["", "-", "--5", "+-5", "5.0", "five", "٣"])
def test_what_is_no_whole_number_is_no_distance(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="not a whole number"):
        offset_distance(text)
