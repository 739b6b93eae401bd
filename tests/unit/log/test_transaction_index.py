from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from riverlog.log.disk import Disk
from riverlog.log.entry_file import TAIL_ENTRIES_MAX
from riverlog.log.transaction_index import (
    ENTRY_BYTES,
    AbortedTransaction,
    TransactionIndex,
    aborted_between,
)
from tests.faulty_disk import FaultyDisk

BASE = 100
ENTRIES = [
    AbortedTransaction(7, 90, 110, 101),
    AbortedTransaction(8, 101, 120, 115),
    AbortedTransaction(7, 115, 130, 131),
]


def index(directory: Path, *entries: AbortedTransaction, disk: Disk | None = None) -> TransactionIndex:
    made = TransactionIndex(disk or Disk(), str(directory / f"{BASE:020d}.txnindex"), BASE, is_new=True)
    for each in entries:
        made.append(each)
    return made


def opened_again(made: TransactionIndex) -> TransactionIndex:
    return TransactionIndex(Disk(), made.path, BASE)


def segments(*indexes: TransactionIndex) -> list[Any]:
    return [SimpleNamespace(transaction_index=each) for each in indexes]


def test_an_entry_has_kafka_s_bytes(tmp_path: Path) -> None:
    made = index(tmp_path, AbortedTransaction(1, 2, 3, 4))

    made.save()

    assert Path(made.path).read_bytes().hex() == (
        "00000000000000000001000000000000000200000000000000030000000000000004"
    )


def test_the_file_is_made_with_the_first_entry(tmp_path: Path) -> None:
    made = index(tmp_path)
    made.save()
    opened_again(made).save()
    assert made.is_empty
    assert not Path(made.path).exists()

    made.append(ENTRIES[0])
    made.save()

    assert not opened_again(made).is_empty
    assert Path(made.path).stat().st_size == ENTRY_BYTES


@pytest.mark.parametrize("is_saved", [True, False])
def test_entries_come_back_in_order_from_file_and_memory_alike(tmp_path: Path, is_saved: bool) -> None:
    made = index(tmp_path, *ENTRIES[:2])
    if is_saved:
        made.save()
    made.append(ENTRIES[2])

    assert list(made) == ENTRIES
    made.save()
    assert list(opened_again(made)) == ENTRIES


@pytest.mark.parametrize(
    ("offset", "count"), [(0, 0), (110, 0), (111, 1), (120, 1), (121, 2), (130, 2), (131, 3), (999, 3)]
)
@pytest.mark.parametrize("is_saved", [True, False])
def test_truncating_forgets_what_markers_at_the_offset_or_later_aborted(
    tmp_path: Path, offset: int, count: int, is_saved: bool
) -> None:
    made = index(tmp_path, *ENTRIES)
    if is_saved:
        made.save()

    made.truncate_to(offset)

    assert list(made) == ENTRIES[:count]
    made.save()
    assert list(opened_again(made)) == ENTRIES[:count]


@pytest.mark.parametrize(
    ("start", "end", "firsts"),
    [
        (90, 100, [90]),
        (90, 101, [90]),
        (90, 102, [90, 101]),
        (110, 111, [90, 101]),
        (111, 115, [101]),
        (111, 116, [101, 115]),
        (121, 200, [115]),
        (131, 200, []),
    ],
)
def test_a_reader_is_told_what_ends_in_its_range_or_behind_it(
    tmp_path: Path, start: int, end: int, firsts: list[int]
) -> None:
    found = aborted_between(segments(index(tmp_path, *ENTRIES)), start, end)

    assert [each.first_offset for each in found] == firsts


def test_the_search_goes_on_in_later_segments_until_all_before_the_end_was_decided(tmp_path: Path) -> None:
    first = index(tmp_path, AbortedTransaction(7, 105, 110, 102))
    (tmp_path / "empty").mkdir()
    empty = index(tmp_path / "empty")
    (tmp_path / "next").mkdir()
    disk = FaultyDisk()
    following = index(
        tmp_path / "next",
        AbortedTransaction(8, 102, 300, 301),
        AbortedTransaction(9, 302, 310, 311),
        disk=disk,
    )

    found = aborted_between(segments(first, empty, following), 100, 120)
    assert [each.producer_id for each in found] == [8, 7]  # by first offset, not by marker

    following.save()
    disk.calls.clear()
    assert aborted_between(segments(first, empty, following), 100, 102) == []
    assert not disk.calls


def test_a_reader_behind_all_that_was_aborted_needs_no_look_at_the_file(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made = index(tmp_path, *ENTRIES, disk=disk)
    made.save()
    disk.calls.clear()

    assert aborted_between(segments(made), 131, 500) == []
    assert not disk.calls


def test_many_entries_are_searched_not_read_through(tmp_path: Path) -> None:
    disk = FaultyDisk()
    count = TAIL_ENTRIES_MAX * 20
    made = index(
        tmp_path,
        *(AbortedTransaction(7, BASE + 2 * n, BASE + 2 * n + 1, BASE + 2 * n + 2) for n in range(count)),
        disk=disk,
    )
    made.save()
    disk.calls.clear()

    found = aborted_between(segments(made), BASE + 20_000, BASE + 20_010)

    assert [each.first_offset for each in found] == list(range(BASE + 20_000, BASE + 20_010, 2))
    assert disk.calls["pread"] < 20


@pytest.mark.parametrize(
    "damaged",
    [
        [ENTRIES[1], ENTRIES[0]],
        [AbortedTransaction(7, 110, 110, 111)],
        [AbortedTransaction(7, 80, 99, 100)],
        [AbortedTransaction(-7, 110, 120, 121)],
        [AbortedTransaction(7, 110, 120, 122)],
        [ENTRIES[2], AbortedTransaction(7, 132, 133, 130)],
    ],
)
def test_damage_is_noticed(tmp_path: Path, damaged: list[AbortedTransaction]) -> None:
    assert index(tmp_path, *ENTRIES).is_sound()

    made = index(tmp_path, *damaged)

    assert not made.is_sound()


def test_another_version_is_not_understood(tmp_path: Path) -> None:
    made = index(tmp_path, ENTRIES[0])
    made.save()
    data = bytearray(Path(made.path).read_bytes())
    data[1] = 1
    Path(made.path).write_bytes(data)

    assert not opened_again(made).is_sound()
