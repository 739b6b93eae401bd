from collections import Counter
from pathlib import Path

from riverlog.errors import StorageError
from riverlog.log.disk import Disk
from riverlog.log.log_directory import LogDirectory
from riverlog.log.placement import REFRESH_MS, Placement


class Stored:
    """As much of a partition as placement looks at."""

    def __init__(self, directory: LogDirectory, size: int) -> None:
        self.directory = directory
        self.size = size


def directories(count: int) -> list[LogDirectory]:
    return [LogDirectory(Disk(), str(Path("/", str(number)))) for number in range(count)]


def test_the_directory_that_stores_the_least_bytes_is_chosen() -> None:
    first, second = directories(2)
    stored = [Stored(first, 10), Stored(second, 4), Stored(second, 5)]

    assert Placement([first, second]).choose(stored, 0) is second  # type: ignore[arg-type]


def test_with_equal_bytes_the_one_with_fewest_partitions_is_chosen() -> None:
    all_of_them = directories(3)
    placement = Placement(all_of_them)
    counts: Counter[str] = Counter()

    for _ in range(9):
        chosen = placement.choose([], 0)
        placement.note_created(chosen)
        counts[chosen.path] += 1

    assert set(counts.values()) == {3}


def test_a_directory_that_failed_is_not_chosen() -> None:
    first, second = directories(2)
    first.failure = StorageError("broken")

    assert Placement([first, second]).choose([Stored(second, 10)], 0) is second  # type: ignore[list-item]


def test_bytes_are_added_up_once_in_a_while() -> None:
    first, second = directories(2)
    placement = Placement([first, second])
    placement.choose([], 0)

    grown = [Stored(first, 10)]
    assert placement.choose(grown, REFRESH_MS - 1) is first  # type: ignore[arg-type]
    assert placement.choose(grown, REFRESH_MS) is second  # type: ignore[arg-type]


def test_a_deleted_partition_makes_room_in_its_directory() -> None:
    first, second = directories(2)
    placement = Placement([first, second])
    placement.choose([], 0)
    placement.note_created(first)
    placement.note_created(second)

    placement.note_deleted(second)

    assert placement.choose([], 0) is second
