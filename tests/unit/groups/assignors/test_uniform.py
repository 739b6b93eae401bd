"""The assignor "uniform" where all members read the same topics."""

import pytest

from riverlog.groups.assignors import ASSIGNORS

from .asking import Readable, assigned, moved, reads, sizes

UNIFORM = ASSIGNORS["uniform"]


def again(assignment: Readable, topics: str, *, without: str = "", newcomers: str = "") -> dict[str, object]:
    """The same members, as they stand now, without one of them and with others."""
    members: dict[str, object] = {
        member: reads(topics, **held) for member, held in assignment.items() if member != without
    }
    return members | {newcomer: reads(topics) for newcomer in newcomers}


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("partitions", [0, 1, 7, 24])
def test_no_member_has_two_more_than_another(count: int, partitions: int) -> None:
    outcome = assigned(UNIFORM, {f"m{n}": reads("tu") for n in range(count)}, t=partitions, u=3)

    assert sum(sizes(outcome).values()) == partitions + 3
    assert max(sizes(outcome).values()) - min(sizes(outcome).values()) <= 1


def test_a_newcomer_gets_its_share_and_nothing_else_moves() -> None:
    before = assigned(UNIFORM, {"a": reads("t"), "b": reads("t")}, t=12)

    after = assigned(UNIFORM, again(before, "t", newcomers="c"), t=12)  # type: ignore[arg-type]

    assert sizes(after) == {"a": 4, "b": 4, "c": 4}
    assert moved(before, after) == 4


def test_who_is_gone_leaves_its_part_to_the_others_and_nothing_else_moves() -> None:
    before = assigned(UNIFORM, {member: reads("t") for member in "abc"}, t=12)

    after = assigned(UNIFORM, again(before, "t", without="b"), t=12)  # type: ignore[arg-type]

    assert sizes(after) == {"a": 6, "c": 6}
    assert {member: topics["t"] >= before[member]["t"] for member, topics in after.items()} == {
        "a": True,
        "c": True,
    }


def test_the_odd_partition_stays_where_it_is() -> None:
    before = {"a": {"t": {0, 1}}, "b": {"t": {2, 3, 4}}, "c": {"t": {5, 6}}}

    after = assigned(UNIFORM, again(before, "t"), t=7)  # type: ignore[arg-type]

    assert after == before


def test_new_partitions_go_to_those_with_least() -> None:
    before = {"a": {"t": {0, 1}}, "b": {"t": {2}}}

    after = assigned(UNIFORM, again(before, "t"), t=6)  # type: ignore[arg-type]

    assert sizes(after) == {"a": 3, "b": 3}
    assert moved(before, after) == 0


def test_what_is_not_read_any_more_is_given_up() -> None:
    outcome = assigned(UNIFORM, {"a": reads("u", t={0, 1}, u={0}), "b": reads("u", t={2})}, u=2, t=3)

    assert outcome == {"a": {"u": {0}}, "b": {"u": {1}}}


def test_what_two_were_meant_to_have_one_gets() -> None:
    outcome = assigned(UNIFORM, {"a": reads("t", t={0, 1}), "b": reads("t", t={0, 1})}, t=2)

    assert sorted(each for topics in outcome.values() for each in topics["t"]) == [0, 1]


def test_nobody_gets_nothing() -> None:
    assert assigned(UNIFORM, {}, t=4) == {}
    assert assigned(UNIFORM, {"a": reads("")}, t=4) == {"a": {}}
