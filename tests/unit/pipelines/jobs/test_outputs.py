"""Outputs of two versions, compared."""

from __future__ import annotations

from riverlog.pipelines.jobs.outputs import EXAMPLES_MAX, Example, Record, compare_outputs


def compared(old: list[Record], new: list[Record]) -> tuple[int, int, int, int]:
    found = compare_outputs(lambda: old, lambda: new)
    return found.same, found.differing, found.only_old, found.only_new


def test_the_last_value_of_a_key_counts() -> None:
    assert compared([(b"a", b"1"), (b"a", b"2")], [(b"a", b"2")]) == (1, 0, 0, 0)


def test_a_key_that_was_deleted_is_not_there() -> None:
    assert compared([(b"a", b"1"), (b"a", None)], [(b"b", None)]) == (0, 0, 0, 0)


def test_json_is_compared_by_what_it_means() -> None:
    assert compared([(b"a", b'{"x":1,"y":2}')], [(b"a", b'{ "y": 2, "x": 1 }')]) == (1, 0, 0, 0)


def test_what_is_no_json_is_compared_as_bytes() -> None:
    assert compared([(b"a", b"\xff")], [(b"a", b"\xfe")]) == (0, 1, 0, 0)


def test_differences_are_counted_and_shown() -> None:
    old: list[Record] = [(b"a", b"1"), (b"b", b"1"), (b"c", b"1")]
    new: list[Record] = [(b"a", b"1"), (b"b", b"2"), (b"d", b"1")]

    found = compare_outputs(lambda: old, lambda: new)

    assert (found.same, found.differing, found.only_old, found.only_new) == (1, 1, 1, 1)
    assert found.examples == (Example("b", "1", "2"), Example("c", "1", None), Example("d", None, "1"))
    assert not found.are_equal


def test_examples_are_few_however_much_differs() -> None:
    old: list[Record] = [(b"%d" % number, b"1") for number in range(100)]

    found = compare_outputs(lambda: old, list)

    assert found.only_old == 100
    assert len(found.examples) == EXAMPLES_MAX


def test_records_without_keys_are_compared_by_how_often_a_value_is_there() -> None:
    assert compared([(None, b"x"), (None, b"x")], [(None, b"x"), (None, b"x")]) == (1, 0, 0, 0)

    found = compare_outputs(lambda: [(None, b"x"), (None, b"x")], lambda: [(None, b"x"), (None, b"y")])

    assert found.examples == (Example("x", "2 times", "1 times"), Example("y", None, "1 times"))


def test_a_comparison_is_told_to_programs() -> None:
    told = compare_outputs(lambda: [(b"a", b"1")], lambda: [(b"a", b"2")]).to_json()

    assert told["examples"] == [{"key": "a", "old": "1", "new": "2"}]
    assert told["differing"] == 1
