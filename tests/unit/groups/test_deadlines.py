"""Deadlines: due in time, moved without cost, never due twice."""

from __future__ import annotations

from riverlog.groups.deadlines import NEVER, Deadline, Deadlines


def due(deadlines: Deadlines, now_ms: int) -> list[Deadline]:
    return list(deadlines.take_due(now_ms))


def test_what_is_due_comes_up_once_the_earliest_first() -> None:
    deadlines, first, second, later = Deadlines(), Deadline(), Deadline(), Deadline()
    deadlines.set(second, 20)
    deadlines.set(later, 31)
    deadlines.set(first, 10)

    assert due(deadlines, 9) == []
    assert due(deadlines, 30) == [first, second]
    assert due(deadlines, 30) == []
    assert deadlines.next_ms == 31


def test_a_deadline_moved_later_by_assignment_comes_up_later() -> None:
    deadlines, deadline = Deadlines(), Deadline()
    deadlines.set(deadline, 10)

    deadline.due_ms = 25
    too_early = due(deadlines, 10)
    next_look = deadlines.next_ms
    in_time = due(deadlines, 25)

    assert too_early == []
    assert next_look == 25
    assert in_time == [deadline]


def test_a_deadline_set_anew_counts_by_its_last_time_alone() -> None:
    deadlines, deadline = Deadlines(), Deadline()
    for due_ms in (50, 10, 40, 20):
        deadlines.set(deadline, due_ms)

    assert due(deadlines, 19) == []
    assert due(deadlines, 20) == [deadline]
    assert due(deadlines, 1000) == []


def test_a_cleared_deadline_never_comes_up() -> None:
    deadlines, deadline = Deadlines(), Deadline()
    deadlines.set(deadline, 10)

    deadlines.clear(deadline)

    assert due(deadlines, 1000) == []
    assert deadlines.next_ms == NEVER


def test_a_cleared_deadline_can_be_set_again() -> None:
    deadlines, deadline = Deadlines(), Deadline()
    deadlines.set(deadline, 10)
    deadlines.clear(deadline)
    deadlines.set(deadline, 30)

    assert due(deadlines, 29) == []
    assert due(deadlines, 30) == [deadline]


def test_what_is_set_while_others_come_up_comes_up_as_well() -> None:
    deadlines, first, second = Deadlines(), Deadline(), Deadline()
    deadlines.set(first, 10)
    came_up = []

    for deadline in deadlines.take_due(10):
        came_up.append(deadline)
        if deadline is first:
            deadlines.set(second, 5)

    assert came_up == [first, second]


def test_a_deadline_moved_a_thousand_times_has_one_entry() -> None:
    deadlines, deadline = Deadlines(), Deadline()
    deadlines.set(deadline, 10)

    for due_ms in range(11, 1011):
        deadline.due_ms = due_ms
        if due_ms % 100 == 0:
            due(deadlines, due_ms - 50)

    assert len(deadlines._heap) == 1
