import os
from pathlib import Path

from riverlog.log.disk import CREATE, Disk
from riverlog.log.open_files import FileSlice, LogFile, OpenFiles


class Owner:
    """Something with a file, as a segment has one."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(path.name.encode() * 10)
        self.log_path = str(path)
        self.file: LogFile | None = None


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def test_a_file_is_opened_once_and_closed_when_forgotten(tmp_path: Path) -> None:
    files = OpenFiles(Disk(), 10)
    owner = Owner(tmp_path / "a")

    fd = files.open(owner).fd
    assert files.open(owner).fd == fd
    files.forget(owner)

    assert not is_open(fd)
    assert owner.file is None
    assert len(files) == 0


def test_no_more_files_than_the_limit_are_open(tmp_path: Path) -> None:
    files = OpenFiles(Disk(), 3)
    owners = [Owner(tmp_path / str(number)) for number in range(10)]

    for owner in owners:
        files.open(owner)

    assert len(files) == 3
    assert sum(owner.file is not None for owner in owners) == 3


def test_a_file_in_use_outlives_those_that_are_not(tmp_path: Path) -> None:
    files = OpenFiles(Disk(), 3)
    busy = Owner(tmp_path / "busy")
    files.open(busy)

    for number in range(10):
        files.open(Owner(tmp_path / str(number)))
        files.open(busy)

    assert busy.file is not None


def test_a_slice_keeps_its_file_open_when_the_cache_lets_go_and_the_file_is_deleted(tmp_path: Path) -> None:
    files = OpenFiles(Disk(), 10)
    owner = Owner(tmp_path / "a")
    part = FileSlice(files.open(owner), 2, 5)

    files.forget(owner)
    (tmp_path / "a").unlink()

    assert part.read() == b"aaaaa"
    fd = part.file.fd
    del part
    assert not is_open(fd)


def test_a_slice_that_the_file_has_not_got_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    file = LogFile(Disk().open(str(tmp_path / "a"), CREATE), "a", os.close)

    assert FileSlice(file, 6, 100).read() == b"6789"
