import errno
import os
from pathlib import Path

import pytest

from riverlog.errors import DiskFull, StorageError
from riverlog.log.disk import CREATE, Disk, as_storage_error, errno_of, is_shortage
from tests.faulty_disk import FaultyDisk


def test_a_replaced_file_shows_the_new_content_and_leaves_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    disk = Disk()

    disk.replace_file(str(path), b"old", durable=False)
    disk.replace_file(str(path), b"new", durable=True)

    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint"]


def test_a_durable_replacement_syncs_content_before_name_and_name_before_it_returns(tmp_path: Path) -> None:
    disk = FaultyDisk()

    disk.replace_file(str(tmp_path / "checkpoint"), b"content", durable=True)

    assert (disk.calls["fdatasync"], disk.calls["rename"], disk.calls["sync_directory"]) == (1, 1, 1)


def test_a_failed_replacement_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    disk = FaultyDisk()
    disk.replace_file(str(path), b"old", durable=False)

    disk.fail("pwrite", errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        disk.replace_file(str(path), b"new", durable=False)

    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_a_file_of_any_size_is_read_whole(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)

    assert Disk().read_file(str(tmp_path / "file")) == content


def test_short_writes_are_continued_until_all_is_written(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.short_writes = [1, 3]
    descriptor = disk.open(str(tmp_path / "file"), CREATE)

    disk.write_all(descriptor, b"0123456789", 2)

    disk.close(descriptor)
    assert (tmp_path / "file").read_bytes() == b"\0\0" + b"0123456789"
    assert disk.calls["pwrite"] == 3


def test_a_write_that_makes_no_progress_is_an_error(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.short_writes = [0]
    descriptor = disk.open(str(tmp_path / "file"), CREATE)

    with pytest.raises(OSError, match="wrote nothing"):
        disk.write_all(descriptor, b"0123456789", 0)

    disk.close(descriptor)


def test_a_lock_is_refused_while_somebody_has_it_and_given_after_that(tmp_path: Path) -> None:
    disk, path = Disk(), str(tmp_path / ".lock")
    first = disk.lock(path)
    assert first is not None

    assert disk.lock(path) is None

    disk.close(first)
    again = disk.lock(path)
    assert again is not None
    disk.close(again)


def test_syncfs_reports_success_and_failure() -> None:
    disk = Disk()
    if not disk.can_syncfs():
        pytest.skip("this system has no syncfs that reports errors")
    descriptor = disk.open(".", os.O_RDONLY)

    disk.syncfs(descriptor)

    disk.close(descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        disk.syncfs(descriptor)


@pytest.mark.parametrize(
    ("number", "family"),
    [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, StorageError)],
)
def test_a_storage_error_says_what_was_attempted_where_and_why(
    number: int, family: type[StorageError]
) -> None:
    error = as_storage_error(OSError(number, "reason"), "cannot append", "/data/x.log", 77)

    assert type(error) is family
    assert str(error) == "cannot append: reason (/data/x.log at byte 77)"
    assert errno_of(error) == number


def test_a_lack_of_descriptors_is_no_fault_of_the_disk() -> None:
    assert is_shortage(OSError(errno.EMFILE, ""))

    assert not is_shortage(OSError(errno.ENOSPC, ""))
