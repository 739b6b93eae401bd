"""One step of a member from what it has to what it is meant to have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from riverlog.groups.consumer.member import MemberState, Standing
from riverlog.groups.consumer.reconciliation import Aim, next_standing

T, U = b"t" * 16, b"u" * 16


def stands(
    epoch: int, state: MemberState = MemberState.STABLE, *, revoking: Iterable[int] = (), **assigned: Any
) -> Standing:
    return Standing(
        epoch,
        epoch - 1,
        state,
        {topic.encode() * 16: dict.fromkeys(each, epoch) for topic, each in assigned.items()},
        {T: dict.fromkeys(revoking, epoch)} if revoking else {},
    )


def step(
    standing: Standing,
    epoch: int,
    target: Mapping[bytes, Iterable[int]],
    *,
    owned: Mapping[bytes, set[int]] | None = None,
    reads: Iterable[bytes] = (T, U),
    taken: Iterable[int] = (),
    has_resubscribed: bool = False,
) -> Standing | None:
    others = set(taken)
    aim = Aim(
        epoch,
        {topic: frozenset(each) for topic, each in target.items()},
        frozenset(reads),
        lambda _topic, partition: partition not in others,
    )
    return next_standing(standing, aim, owned, has_resubscribed=has_resubscribed)


def test_a_member_that_has_all_goes_on_to_the_epoch() -> None:
    after = step(stands(5, t=[0]), 6, {T: [0]})

    assert after == Standing(6, 5, MemberState.STABLE, {T: {0: 5}}, {})


def test_what_is_free_is_given_in_the_new_epoch() -> None:
    after = step(stands(5, t=[0]), 6, {T: [0, 1]})

    assert after == Standing(6, 5, MemberState.STABLE, {T: {0: 5, 1: 6}}, {})


def test_what_is_another_s_is_waited_for() -> None:
    after = step(stands(5, t=[0]), 6, {T: [0, 1, 2]}, taken=[2])

    assert after == Standing(6, 5, MemberState.UNRELEASED, {T: {0: 5, 1: 6}}, {})


def test_what_was_waited_for_is_given_once_it_is_free() -> None:
    waiting = stands(6, MemberState.UNRELEASED, t=[0])

    assert step(waiting, 6, {T: [0, 1]}, taken=[1]) == waiting._replace(previous_epoch=6)
    assert step(waiting, 6, {T: [0, 1]}) == Standing(6, 6, MemberState.STABLE, {T: {0: 6, 1: 6}}, {})


def test_what_is_not_meant_for_it_is_to_be_given_up_first() -> None:
    after = step(stands(5, t=[0, 1]), 6, {T: [0], U: [0]})

    assert after == Standing(5, 5, MemberState.UNREVOKED, {T: {0: 5}}, {T: {1: 5}})


def test_a_member_that_does_not_say_what_it_works_on_has_not_given_up() -> None:
    revoking = stands(5, MemberState.UNREVOKED, t=[0], revoking=[1])

    assert step(revoking, 6, {T: [0]}) is revoking
    assert step(revoking, 6, {T: [0]}, owned={T: {0, 1}}) is revoking


def test_a_member_that_has_given_up_goes_on() -> None:
    revoking = stands(5, MemberState.UNREVOKED, t=[0], revoking=[1])

    after = step(revoking, 7, {T: [0, 2]}, owned={T: {0}})

    assert after == Standing(7, 5, MemberState.STABLE, {T: {0: 5, 2: 7}}, {})


def test_what_it_does_not_work_on_any_more_need_not_be_waited_for() -> None:
    after = step(stands(5, t=[0, 1]), 6, {T: [0]}, owned={T: {0}})

    assert after == Standing(6, 5, MemberState.STABLE, {T: {0: 5}}, {})


def test_a_target_that_changed_meanwhile_is_given_up_in_turn() -> None:
    revoking = stands(5, MemberState.UNREVOKED, t=[0], revoking=[1])

    after = step(revoking, 7, {T: [2]}, owned={T: {0}})

    assert after == Standing(5, 5, MemberState.UNREVOKED, {}, {T: {0: 5}})


def test_what_it_does_not_read_is_not_given_whatever_the_target_says() -> None:
    after = step(stands(5, t=[0]), 6, {T: [0], U: [0]}, reads=[T])

    assert after == Standing(6, 5, MemberState.STABLE, {T: {0: 5}}, {})


def test_what_it_has_just_stopped_reading_is_given_up_in_its_epoch() -> None:
    after = step(stands(5, t=[0], u=[1]), 5, {T: [0], U: [1]}, reads=[U], has_resubscribed=True)

    assert after == Standing(5, 5, MemberState.UNREVOKED, {U: {1: 5}}, {T: {0: 5}})


def test_a_change_that_takes_nothing_away_changes_nothing() -> None:
    standing = stands(5, t=[0])

    assert step(standing, 5, {T: [0]}, has_resubscribed=True) is standing


def test_a_state_that_is_not_known_is_left_by_beginning_anew() -> None:
    unknown = stands(5, MemberState.UNKNOWN, t=[0])

    assert step(unknown, 6, {T: [0]}) is None
    assert step(unknown, 6, {T: [0]}, owned={T: {0}}) is None
    after = step(unknown, 6, {T: [0]}, owned={})
    assert after is not None
    assert (after.epoch, after.state) == (6, MemberState.STABLE)
