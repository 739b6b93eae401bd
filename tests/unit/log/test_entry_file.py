import errno
import os
from pathlib import Path
from struct import Struct

import pytest

from riverlog.log.disk import Disk
from riverlog.log.entry_file import BLOCK_ENTRIES, TAIL_ENTRIES_MAX, EntryFile
from tests.faulty_disk import FaultyDisk

KEY = Struct(">i")


def filled(path: Path, keys: list[int], *, disk: Disk | None = None, save: bool = True) -> EntryFile:
    file = EntryFile(disk or Disk(), str(path), 4, is_new=True)
    for key in keys:
        file.add(KEY.pack(key))
    if save:
        file.save()
    return file


def keys_of(file: EntryFile) -> list[int]:
    return [key for (key,) in KEY.iter_unpack(file.entries(0, len(file)))]


@pytest.mark.parametrize("saved", [0, 3, 10])
def test_entries_are_found_in_file_and_memory_alike(tmp_path: Path, saved: int) -> None:
    keys = [3, 5, 5, 9, 12, 12, 12, 40, 41, 42]
    file = filled(tmp_path / "index", keys[:saved])

    for key in keys[saved:]:
        file.add(KEY.pack(key))

    assert keys_of(file) == keys
    for target in range(-1, 50):
        assert file.count_at_most(KEY, target) == sum(key <= target for key in keys)


def test_a_long_file_is_searched_without_reading_it_whole(tmp_path: Path) -> None:
    keys = list(range(0, 200_000, 10))
    disk = FaultyDisk()
    file = filled(tmp_path / "index", keys, disk=disk)
    disk.calls.clear()

    assert file.count_at_most(KEY, 123_455) == 12_346

    assert disk.calls["open"] == 1
    assert disk.calls["pread"] < 20
    assert len(keys) > 20 * BLOCK_ENTRIES


def test_memory_is_bounded_by_saving_the_tail_once_it_is_long(tmp_path: Path) -> None:
    file = filled(tmp_path / "index", list(range(TAIL_ENTRIES_MAX + 5)), save=False)

    assert (tmp_path / "index").stat().st_size == TAIL_ENTRIES_MAX * 4
    assert len(file) == TAIL_ENTRIES_MAX + 5


def test_an_index_stays_in_memory_while_the_disk_does_not_take_it(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.fail("pwrite", errno.ENOSPC)
    file = filled(tmp_path / "index", list(range(TAIL_ENTRIES_MAX + 5)), disk=disk, save=False)
    assert len(file) == TAIL_ENTRIES_MAX + 5

    disk.heal()
    file.save()

    assert keys_of(EntryFile(Disk(), str(tmp_path / "index"), 4)) == list(range(TAIL_ENTRIES_MAX + 5))


def test_what_is_reopened_is_what_was_saved(tmp_path: Path) -> None:
    filled(tmp_path / "index", [1, 2, 3])

    again = EntryFile(Disk(), str(tmp_path / "index"), 4)

    assert keys_of(again) == [1, 2, 3]
    assert again.last() == KEY.pack(3)


def test_zeros_behind_the_last_entry_are_no_entries_and_are_cut_by_the_next_save(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(KEY.pack(7) + KEY.pack(9) + bytes(4 * 1000))

    file = EntryFile(Disk(), str(path), 4)
    assert keys_of(file) == [7, 9]
    file.add(KEY.pack(11))
    file.save()

    assert path.read_bytes() == KEY.pack(7) + KEY.pack(9) + KEY.pack(11)


def test_half_an_entry_at_the_end_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(KEY.pack(7) + b"\1\2")

    file = EntryFile(Disk(), str(path), 4)
    file.add(KEY.pack(9))
    file.save()

    assert path.read_bytes() == KEY.pack(7) + KEY.pack(9)


@pytest.mark.parametrize("kept", [0, 1, 3, 4, 6])
def test_entries_can_be_forgotten_from_any_number_on(tmp_path: Path, kept: int) -> None:
    file = filled(tmp_path / "index", [1, 2, 3])
    for key in (4, 5, 6):
        file.add(KEY.pack(key))

    file.keep_first(kept)
    file.save()

    assert keys_of(file) == [1, 2, 3, 4, 5, 6][:kept]
    assert (tmp_path / "index").stat().st_size == kept * 4


def test_a_missing_file_has_no_entries(tmp_path: Path) -> None:
    file = EntryFile(Disk(), str(tmp_path / "index"), 4)

    assert not file.exists()
    assert len(file) == 0
    assert file.last() is None
    assert file.count_at_most(KEY, 5) == 0


def test_an_idle_index_holds_no_descriptor(tmp_path: Path) -> None:
    file = filled(tmp_path / "index", [1, 2, 3])
    before = len(os.listdir("/dev/fd"))

    file.count_at_most(KEY, 2)
    file.entry(1)

    assert len(os.listdir("/dev/fd")) == before
