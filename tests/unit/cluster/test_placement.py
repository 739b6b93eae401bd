"""Where new replicas go."""

from __future__ import annotations

from collections import Counter

import pytest

from riverlog.cluster.placement import assignment_error, place


def without_racks(brokers: int) -> dict[int, str | None]:
    return dict.fromkeys(range(1, brokers + 1))


def test_one_broker_holds_everything() -> None:
    placed = place({7: None}, partitions=3, replication_factor=1, start=12345)

    assert placed == [(7,), (7,), (7,)]


def test_the_example_of_the_module_holds() -> None:
    placed = place(without_racks(3), partitions=3, replication_factor=2, start=0)

    assert placed == [(1, 2), (3, 1), (2, 3)]


def test_the_start_decides_who_leads_the_first_partition() -> None:
    leaders = {
        place(without_racks(5), partitions=1, replication_factor=2, start=start)[0][0] for start in range(5)
    }

    assert leaders == {1, 2, 3, 4, 5}


def test_followers_of_one_leader_are_spread_over_the_others() -> None:
    placed = place(without_racks(5), partitions=100, replication_factor=2, start=0)

    followers = Counter(follower for leader, follower in placed if leader == 1)

    assert followers.keys() == {2, 3, 4, 5}


def test_replicas_are_in_different_racks_while_there_are_enough() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}

    placed = place(racks, partitions=50, replication_factor=3, start=3)

    assert all({racks[broker] for broker in replicas} == {"a", "b", "c"} for replicas in placed)


def test_more_replicas_than_racks_use_every_rack_and_no_broker_twice() -> None:
    racks = {1: "a", 2: "a", 3: "a", 4: "b"}

    placed = place(racks, partitions=20, replication_factor=3, start=0)

    assert all(4 in replicas and len(set(replicas)) == 3 for replicas in placed)


def test_brokers_without_a_rack_count_as_racks_of_their_own() -> None:
    racks = {1: "a", 2: "a", 3: None, 4: None}

    placed = place(racks, partitions=20, replication_factor=3, start=0)

    assert all({1, 2} - set(replicas) for replicas in placed)


@pytest.mark.parametrize(
    ("assignment", "fault"),
    [
        ((), "names no broker"),
        ((4, 1), "broker 4, which is not registered"),
        ((-1, 1), "broker -1, which is not registered"),
        ((1, 1), "a broker twice"),
        ((1, 2, 3), "3 replicas, other partitions have 2"),
        ((1,), "1 replicas, other partitions have 2"),
    ],
)
def test_a_wrong_assignment_is_told_its_fault(assignment: tuple[int, ...], fault: str) -> None:
    found = assignment_error(assignment, brokers={1, 2, 3}, replication_factor=2)

    assert found is not None
    assert fault in found


def test_a_right_assignment_has_no_fault() -> None:
    faults = [
        assignment_error((3, 1), brokers={1, 2, 3}, replication_factor=2),
        assignment_error((3, 1, 2), brokers={1, 2, 3}),
    ]

    assert faults == [None, None]
