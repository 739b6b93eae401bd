import errno
import json
import logging
from pathlib import Path

import pytest

from riverlog.errors import StorageError
from riverlog.log import DirectoryLocked
from riverlog.log.disk import Disk
from riverlog.log.identity import MetaProperties
from riverlog.log.log_directory import Checkpoints, LogDirectory
from riverlog.types import TopicPartition
from tests.faulty_disk import FaultyDisk
from tests.log_builders import append, new_log

A = TopicPartition("a", 0)


def opened(path: Path, disk: Disk | None = None) -> LogDirectory:
    directory = LogDirectory(disk or Disk(), str(path))
    directory.open()
    return directory


def test_a_directory_that_is_missing_is_made(tmp_path: Path) -> None:
    directory = opened(tmp_path / "deep" / "data")

    assert (tmp_path / "deep" / "data").is_dir()
    assert not directory.was_clean
    directory.close()


def test_a_second_user_is_refused_by_the_name_of_the_lock(tmp_path: Path) -> None:
    first = opened(tmp_path)

    with pytest.raises(DirectoryLocked, match=str(tmp_path)):
        opened(tmp_path)

    first.close()
    opened(tmp_path).close()


def test_the_marker_of_a_clean_stop_is_kafkas_and_counts_once(tmp_path: Path) -> None:
    directory = opened(tmp_path)
    directory.write_marker()
    marker = tmp_path / ".kafka_cleanshutdown"
    assert json.loads(marker.read_text()) == {"version": 0, "brokerEpoch": -1}
    directory.close()

    again = opened(tmp_path)
    assert again.was_clean
    assert not marker.exists()
    again.close()

    third = opened(tmp_path)
    assert not third.was_clean
    third.close()


def test_the_checkpoints_are_read_back_by_the_next_user(tmp_path: Path) -> None:
    directory = opened(tmp_path)
    directory.write_checkpoints(Checkpoints({A: 5}, {A: 2}, {A: 7}, {A: 3}))
    directory.close()

    again = opened(tmp_path)

    assert (again.recovery_points, again.log_start_offsets, again.high_watermarks) == ({A: 5}, {A: 2}, {A: 7})
    assert again.cleaned_offsets == {A: 3}
    again.close()


def test_only_checkpoints_that_changed_are_written(tmp_path: Path) -> None:
    disk = FaultyDisk()
    directory = opened(tmp_path, disk)
    directory.write_checkpoints(Checkpoints({A: 5}, {}, {A: 5}, {}))
    disk.calls.clear()

    directory.write_checkpoints(Checkpoints({A: 5}, {}, {A: 5}, {}))
    assert disk.calls["rename"] == 0
    directory.write_checkpoints(Checkpoints({A: 6}, {}, {A: 5}, {}))
    assert disk.calls["rename"] == 1
    directory.close()


def test_checkpoints_say_where_a_log_starts_only_if_its_first_segment_does_not(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    assert Checkpoints.of([log]).log_start_offsets == {}

    log.delete_records_before(2)

    assert Checkpoints.of([log]) == (
        {log.topic_partition: 0},
        {log.topic_partition: 2},
        {log.topic_partition: 3},
        {},
    )


def test_a_directory_knows_whose_it_is(tmp_path: Path) -> None:
    directory = opened(tmp_path)
    assert directory.identity is None
    identity = MetaProperties("cluster", 3, bytes(range(16)))
    directory.write_identity(identity)
    directory.close()

    again = opened(tmp_path)

    assert again.identity == identity
    again.close()


def test_a_directory_with_an_unreadable_identity_is_refused_and_unlocked(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=7\n")

    with pytest.raises(StorageError, match=r"meta.properties"):
        opened(tmp_path)

    (tmp_path / "meta.properties").unlink()
    opened(tmp_path).close()


@pytest.mark.parametrize("call", ["make_directory", "open", "unlink", "sync_directory"])
def test_a_disk_that_fails_at_the_start_is_said_with_the_directory(tmp_path: Path, call: str) -> None:
    (tmp_path / ".kafka_cleanshutdown").write_text("{}")
    disk = FaultyDisk()
    disk.fail(call, errno.EIO)

    with pytest.raises(StorageError, match="cannot use this log directory"):
        opened(tmp_path, disk)


def test_a_damaged_checkpoint_does_not_keep_a_directory_from_opening(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "recovery-point-offset-checkpoint").write_bytes(b"\0\0\0")

    with caplog.at_level(logging.WARNING):
        directory = opened(tmp_path)

    assert directory.recovery_points == {}
    directory.close()
