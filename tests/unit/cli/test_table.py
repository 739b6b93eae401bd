"""Columns, objects and quantities as they are printed."""

import pytest

from riverlog.cli.table import print_json, print_table, quantity, show_time, size


def test_numbers_stand_to_the_right_and_text_to_the_left(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["topic", "records", "note"], [["a", 1234567, None], ["orders", 5, "x"]])

    assert capsys.readouterr().out.splitlines() == [
        "topic     records  note",
        "a       1,234,567  -",
        "orders          5  x",
    ]


def test_digits_in_a_text_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["value"], [["9"], ["86400000"]])

    assert capsys.readouterr().out.splitlines() == ["value", "9", "86400000"]


def test_lists_and_truth_have_their_words(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["a", "b"], [[(1, 2), True], [[], False]])

    assert capsys.readouterr().out.splitlines() == ["a    b", "1,2  yes", "     no"]


def test_no_rows_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["a"], [])

    assert capsys.readouterr().out == ""


def test_an_object_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": "é\n", "b": None})

    assert capsys.readouterr().out == '{"a":"é\\n","b":null}\n'


def test_quantities_read_well() -> None:
    assert quantity(0, "record") == "0 records"
    assert quantity(1, "record") == "1 record"
    assert quantity(1234, "record") == "1,234 records"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 KB"), (3_200_000, "3.2 MB"), (5 * 10**12, "5000.0 GB")],
)
def test_sizes_have_a_unit(count: int, text: str) -> None:
    assert size(count) == text


def test_a_time_that_no_calendar_has_is_shown_as_a_number() -> None:
    assert show_time(2**62) == f"@{2**62}"
