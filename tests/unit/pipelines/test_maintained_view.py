"""A join kept up to date by differences, beside the join computed anew after each batch."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from riverlog.pipelines.maintained_view import INSERT, RETRACT, Delta, Key, deltas, newer_versions
from riverlog.pipelines.versions import Version

CHANGES = st.lists(
    st.tuples(
        st.integers(0, 2).map(lambda key: (key,)),
        st.builds(Version, st.integers(0, 9), st.none() | st.sampled_from("xyz")),
    ),
    max_size=4,
)


def joined(left: dict[Key, Version], right: dict[Key, Version]) -> Counter[tuple[Any, Any]]:
    return Counter(
        (ours.row, theirs.row)
        for ours in left.values()
        for theirs in right.values()
        if None not in (ours.row, theirs.row)
    )


@given(st.lists(st.tuples(CHANGES, CHANGES), max_size=6))
def test_what_came_out_adds_up_to_the_join_after_every_batch(
    batches: list[tuple[list[tuple[Key, Version]], list[tuple[Key, Version]]]],
) -> None:
    left: dict[Key, Version] = {}
    right: dict[Key, Version] = {}
    view: Counter[tuple[Any, Any]] = Counter()
    for left_changes, right_changes in batches:
        new_left, new_right = newer_versions(left, left_changes), newer_versions(right, right_changes)
        for delta in deltas(left, right, new_left, new_right):
            view[delta.left, delta.right] += 1 if delta.operation == INSERT else -1
            assert view[delta.left, delta.right] >= 0
        left |= new_left
        right |= new_right

        assert +view == joined(left, right)


def test_a_row_that_changes_is_retracted_as_it_was_and_inserted_as_it_is() -> None:
    left, right = {(1,): Version(1, "old")}, {(7,): Version(1, "r")}

    assert deltas(left, right, {(1,): Version(2, "new")}, {}) == [
        Delta(RETRACT, "old", "r"),
        Delta(INSERT, "new", "r"),
    ]


def test_what_stays_the_same_is_not_mentioned() -> None:
    left, right = {(1,): Version(1, "same")}, {(7,): Version(1, "r")}

    assert deltas(left, right, {(1,): Version(2, "same")}, {}) == []


def test_a_change_older_than_the_known_one_is_no_change() -> None:
    assert newer_versions({(1,): Version(5, "a")}, [((1,), Version(4, "b"))]) == {}
