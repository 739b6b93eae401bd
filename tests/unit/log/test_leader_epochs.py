import pytest

from riverlog.errors import StorageError
from riverlog.log.leader_epochs import UNKNOWN, EpochStart, LeaderEpochs


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs([EpochStart(*entry) for entry in entries])


def test_an_epoch_ends_where_the_next_one_begins() -> None:
    known = epochs((0, 0), (1, 50), (4, 80))

    assert known.end_offset_for(0, 100) == (0, 50)
    assert known.end_offset_for(1, 100) == (1, 80)
    assert known.end_offset_for(2, 100) == (1, 80)
    assert known.end_offset_for(3, 100) == (1, 80)


def test_the_newest_epoch_ends_at_the_log_end_even_without_a_record() -> None:
    assert epochs((0, 0), (4, 80)).end_offset_for(4, 100) == (4, 100)

    assert epochs((0, 0), (4, 100)).end_offset_for(4, 100) == (4, 100)


def test_newer_epochs_than_the_newest_and_none_at_all_are_unknown() -> None:
    assert epochs((0, 0)).end_offset_for(1, 100) == UNKNOWN
    assert epochs((0, 0)).end_offset_for(-1, 100) == UNKNOWN
    assert epochs().end_offset_for(0, 100) == UNKNOWN


def test_an_epoch_older_than_all_known_ended_where_the_oldest_known_begins() -> None:
    assert epochs((5, 30), (6, 60)).end_offset_for(2, 100) == (2, 30)


def test_each_offset_belongs_to_the_epoch_that_began_last_before_it() -> None:
    known = epochs((1, 10), (4, 80))

    assert [known.epoch_at(offset) for offset in (9, 10, 79, 80, 1000)] == [-1, 1, 1, 4, 4]


def test_assigning_drops_what_contradicts_the_newcomer() -> None:
    known = epochs((0, 0), (3, 40), (5, 60))

    assert known.assign(4, 50)

    assert list(known) == [(0, 0), (3, 40), (4, 50)]


def test_assigning_the_newest_epoch_again_changes_nothing() -> None:
    known = epochs((0, 0), (3, 40))

    assert not known.assign(3, 70)

    assert list(known) == [(0, 0), (3, 40)]


def test_an_election_without_records_in_between_replaces_the_empty_epoch() -> None:
    known = epochs((0, 0), (1, 50))

    known.assign(2, 50)

    assert list(known) == [(0, 0), (2, 50)]


def test_truncating_at_the_end_forgets_epochs_that_begin_there() -> None:
    known = epochs((0, 0), (1, 50), (2, 100))

    assert known.truncate_to(100)
    assert list(known) == [(0, 0), (1, 50)]
    assert not known.truncate_to(100)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (0, [(1, 0), (2, 50), (4, 80)]),
        (20, [(1, 20), (2, 50), (4, 80)]),
        (50, [(2, 50), (4, 80)]),
        (60, [(2, 60), (4, 80)]),
        (200, [(4, 200)]),
    ],
)
def test_a_new_log_start_leaves_the_epoch_of_that_offset_as_the_first(
    start: int, expected: list[tuple[int, int]]
) -> None:
    known = epochs((1, 0), (2, 50), (4, 80))

    known.start_at(start)

    assert list(known) == expected


def test_the_file_holds_version_count_and_a_line_for_each() -> None:
    known = epochs((0, 0), (2, 10_000))

    content = known.encode()

    assert content == b"0\n2\n0 0\n2 10000\n"
    assert list(LeaderEpochs.decode(content, "path")) == list(known)


@pytest.mark.parametrize(
    "content",
    [b"", b"1\n0\n", b"0\n2\n0 0\n", b"0\nx\n", b"0\n1\n0\n", b"0\n1\n0 0 0\n", b"\0\0\0\0", b"\xff\xfe"],
)
def test_a_damaged_file_is_refused_with_its_path(content: bytes) -> None:
    with pytest.raises(StorageError, match="the-path"):
        LeaderEpochs.decode(content, "the-path")
