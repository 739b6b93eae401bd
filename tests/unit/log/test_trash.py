from pathlib import Path

import pytest

from riverlog.log.trash import Trash
from tests.faulty_disk import FaultyDisk


def test_what_was_discarded_is_due_after_its_own_delay(tmp_path: Path) -> None:
    trash = Trash(FaultyDisk())
    trash.add_files(["a", "b"], 200)
    trash.add_directory("c", 100)

    assert trash.take_due(99) == []
    assert [each.path for each in trash.take_due(100)] == ["c"]
    assert [each.path for each in trash.take_due(1000)] == ["a", "b"]
    assert len(trash) == 0


def test_files_and_directories_are_removed_and_what_cannot_be_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FaultyDisk()
    trash = Trash(disk)
    for name in ("gone", "stays"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "directory" / "deep").mkdir(parents=True)
    disk.fail("unlink", path="stays")
    trash.add_files([str(tmp_path / name) for name in ("stays", "missing", "gone")], 0)
    trash.add_directory(str(tmp_path / "directory"), 0)
    trash.add_directory(str(tmp_path / "missing"), 0)

    trash.remove(trash.take_due(0))

    assert [path.name for path in tmp_path.iterdir()] == ["stays"]
    assert "cannot remove" in caplog.text
