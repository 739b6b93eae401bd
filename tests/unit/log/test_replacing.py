"""One cleaned segment is put in place while each single operation of the disk fails, or is the last one."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from riverlog.errors import StorageError
from riverlog.log import PartitionLog
from riverlog.protocol.records import Record, build_batch
from tests.compaction import clean
from tests.faulty_disk import FaultyDisk
from tests.log_builders import NOW, append, new_log, read_all, reopened

SETTINGS = {"cleanup_policy": frozenset({"compact"}), "segment_bytes": 1 << 20}
KEYS = 3
PLACES = range(24)
"""More than there are renames."""


def filled(path: Path, disk: FaultyDisk) -> PartitionLog:
    """Three sealed segments and an active one, with an aborted transaction."""
    log = new_log(path, disk=disk, **SETTINGS)
    for number in range(3):
        append(log, build_batch([Record(0, NOW, b"k%d" % key, b"%d" % number) for key in range(KEYS)]))
        if number == 1:
            data = build_batch(
                [Record(0, NOW, b"k0", b"aborted")],
                producer_id=5,
                producer_epoch=0,
                base_sequence=0,
                is_transactional=True,
            )
            append(log, data)
            log.append_marker(5, 0, is_commit=False, coordinator_epoch=0, now_ms=NOW)
        assert log.roll_if_due(NOW + (1 << 50))
    append(log, build_batch([Record(0, NOW, b"end", b"")]))
    log.sync()
    return log


def contents(log: PartitionLog) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in read_all(log) if len(record.key or b"") < 4}


EXPECTED = {b"k0": b"2", b"k1": b"2", b"k2": b"2", b"end": b""}


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("skip", PLACES)
def test_one_rename_that_fails_costs_nothing(tmp_path: Path, skip: int, number: int) -> None:
    disk = FaultyDisk()
    log = filled(tmp_path, disk)
    fault = disk.fail("rename", number, skip=skip, times=1)

    try:
        clean(log, disk=disk)
    except StorageError:
        assert not fault.times

    if log.is_offline is None:
        assert contents(log) == EXPECTED
        assert clean(log, disk=disk) is not None
    else:
        # Room on the disk alone does not bring it back.
        log.resume()
        assert log.is_offline is not None
    again = reopened(log, **SETTINGS)
    assert contents(again) == EXPECTED
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".swap", ".cleaned")]


@pytest.mark.parametrize("skip", PLACES)
@pytest.mark.parametrize("call", ["rename", "unlink"])
def test_a_crash_between_any_two_names_costs_nothing(tmp_path: Path, skip: int, call: str) -> None:
    disk = FaultyDisk()
    log = filled(tmp_path, disk)
    disk.fail("rename", skip=skip)
    if call == "unlink":
        disk.fail("unlink")

    try:
        clean(log, disk=disk)
    except StorageError:
        pass

    again = reopened(log, **SETTINGS)
    assert contents(again) == EXPECTED
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".swap", ".cleaned")]
    clean(again)
    assert contents(reopened(again, **SETTINGS)) == EXPECTED


def test_there_are_fewer_renames_than_places(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = filled(tmp_path, disk)
    disk.calls.clear()

    clean(log, disk=disk)

    assert 10 < disk.calls["rename"] < len(PLACES)
