import errno
import logging
from pathlib import Path

import pytest

from riverlog.errors import DiskFull, StorageError
from riverlog.log.checkpoints import decode_offsets, encode_offsets, read_offsets, write_offsets
from riverlog.log.disk import Disk
from riverlog.types import TopicPartition
from tests.faulty_disk import FaultyDisk

OFFSETS = {TopicPartition("orders", 0): 1523, TopicPartition("a.b-c", 11): 0}


def test_the_file_holds_version_count_and_a_line_for_each() -> None:
    content = encode_offsets(OFFSETS)

    assert content == b"0\n2\norders 0 1523\na.b-c 11 0\n"
    assert decode_offsets(content, "path") == OFFSETS


def test_kafka_writes_an_empty_file_before_the_first_checkpoint() -> None:
    assert decode_offsets(b"", "path") == {}

    assert decode_offsets(b"0\n0\n", "path") == {}


@pytest.mark.parametrize(
    "content", [b"1\n0\n", b"0\nx\n", b"0", b"0\n2\na 0 1\n", b"0\n1\na 0\n", b"0\n1\na b c\n", b"\0\0\0"]
)
def test_a_damaged_file_is_refused_with_its_path(content: bytes) -> None:
    with pytest.raises(StorageError, match="the-path"):
        decode_offsets(content, "the-path")


def test_a_damaged_or_missing_file_costs_a_recovery_but_not_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"\0\0\0\0")

    with caplog.at_level(logging.WARNING):
        assert read_offsets(Disk(), str(damaged)) == {}
        assert read_offsets(Disk(), str(tmp_path / "missing")) == {}

    assert str(damaged) in caplog.text


def test_a_disk_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.fail("open", errno.EIO)

    with pytest.raises(StorageError, match="cannot read a checkpoint"):
        read_offsets(disk, str(tmp_path / "x"))


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    disk, path = FaultyDisk(), str(tmp_path / "x")
    write_offsets(disk, path, OFFSETS)

    disk.fail("fdatasync", errno.ENOSPC)
    with pytest.raises(DiskFull):
        write_offsets(disk, path, {})

    assert read_offsets(disk, path) == OFFSETS
