import errno
import logging
from pathlib import Path

import pytest

from riverlog.log.disk import Disk
from riverlog.log.producer_snapshots import ProducerSnapshots
from riverlog.log.producer_state import ProducerState
from riverlog.protocol.batches import read_header
from tests.batch_builders import batch
from tests.faulty_disk import FaultyDisk


def producers(count: int) -> ProducerState:
    made = ProducerState()
    for number in range(count):
        made.record(
            read_header(batch(1, producer_id=number, producer_epoch=0, base_sequence=0)), number, 1000
        )
    return made


def files(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_the_two_newest_snapshots_are_kept(tmp_path: Path) -> None:
    snapshots = ProducerSnapshots(Disk(), str(tmp_path))

    for offset in (10, 20, 30):
        snapshots.write(offset, producers(offset // 10))

    assert files(tmp_path) == ["00000000000000000020.snapshot", "00000000000000000030.snapshot"]
    assert snapshots.latest_offset == 30


def test_the_newest_snapshot_that_does_not_know_too_much_is_loaded(tmp_path: Path) -> None:
    snapshots = ProducerSnapshots(Disk(), str(tmp_path))
    snapshots.write(20, producers(2))
    snapshots.write(30, producers(3))

    loaded = ProducerSnapshots(Disk(), str(tmp_path), [30, 20]).load(29)

    assert loaded is not None
    assert (loaded[0], len(loaded[1])) == (20, 2)


def test_a_damaged_snapshot_is_dropped_for_the_one_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    snapshots = ProducerSnapshots(Disk(), str(tmp_path))
    snapshots.write(20, producers(2))
    damaged = Path(snapshots.write(30, producers(3)))
    damaged.write_bytes(damaged.read_bytes()[:-3])

    with caplog.at_level(logging.WARNING):
        loaded = snapshots.load(100)

    assert loaded is not None
    assert loaded[0] == 20
    assert not damaged.exists()
    assert str(damaged) in caplog.text


def test_without_a_snapshot_there_is_nothing_to_load(tmp_path: Path) -> None:
    assert ProducerSnapshots(Disk(), str(tmp_path)).load(100) is None

    assert ProducerSnapshots(Disk(), str(tmp_path), [20]).load(100) is None


def test_snapshots_behind_a_new_log_end_are_dropped(tmp_path: Path) -> None:
    snapshots = ProducerSnapshots(Disk(), str(tmp_path))
    snapshots.write(20, producers(2))
    snapshots.write(30, producers(3))

    snapshots.drop_after(20)

    assert files(tmp_path) == ["00000000000000000020.snapshot"]


def test_a_snapshot_that_cannot_be_written_leaves_the_others(tmp_path: Path) -> None:
    disk = FaultyDisk()
    snapshots = ProducerSnapshots(disk, str(tmp_path))
    snapshots.write(20, producers(2))

    disk.fail("pwrite", errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        snapshots.write(30, producers(3))

    assert snapshots.latest_offset == 20
