"""Starts after a crash, told by what the files looked like when the next process found them."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from riverlog.log import PartitionLog
from riverlog.log.log_directory import Checkpoints
from riverlog.log.recovery import start_segment
from tests.batch_builders import batch, with_header
from tests.faulty_disk import FaultyDisk
from tests.log_builders import NOW, append, manager, new_log, offsets, read_all, reopened

SIZE = len(batch())


def checkpointed(log: PartitionLog) -> None:
    """What the periodic checkpoint does."""
    log.save_indexes()
    log.sync()
    log.directory.write_checkpoints(Checkpoints.of([log]))


def log_file(log: PartitionLog, base: int = 0) -> Path:
    return Path(log.path, f"{base:020d}.log")


def idempotent(sequence: int) -> bytearray:
    return batch(3, producer_id=9, producer_epoch=0, base_sequence=sequence)


@pytest.mark.parametrize(
    ("bases", "recovery_point", "expected"),
    [
        ([0], 0, 0),
        ([0], 99, 0),
        ([0, 10, 20], 0, 0),
        ([0, 10, 20], 10, 1),
        ([0, 10, 20], 19, 1),
        ([5, 10], 3, 0),
    ],
)
def test_the_check_begins_in_the_segment_that_holds_the_recovery_point(
    bases: list[int], recovery_point: int, expected: int
) -> None:
    assert start_segment(bases, recovery_point) == expected


def test_what_is_whole_survives_a_crash(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=SIZE * 4, index_interval_bytes=0)
    for _ in range(10):
        append(log)

    found = reopened(log, segment_bytes=SIZE * 4, index_interval_bytes=0)

    assert offsets(found) == list(range(30))
    assert append(found) == 30


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda data: data[:-1], "inside a batch"),
        (lambda data: data[: -SIZE + 20], "inside a batch header"),
        (lambda data: data + bytes(1000), "not a batch of format 2"),
        (lambda data: data[:-5] + b"\xff" + data[-4:], "CRC"),
        (lambda data: data + b"\x01\x02", "inside a batch header"),
    ],
)
def test_a_torn_tail_is_cut_off_and_said_with_partition_offset_and_bytes(
    tmp_path: Path, spoil: Callable[[bytes], bytes], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = new_log(tmp_path)
    for _ in range(4):
        append(log)
    spoiled = spoil(log_file(log).read_bytes())
    log_file(log).write_bytes(spoiled)

    with caplog.at_level(logging.WARNING):
        found = reopened(log)

    kept = 4 if len(spoiled) > 4 * SIZE else 3
    assert offsets(found) == list(range(3 * kept))
    assert log_file(log).stat().st_size == SIZE * kept
    (line,) = [record.getMessage() for record in caplog.records if record.name.endswith("recovery")]
    assert f"orders-0: the log is cut at offset {3 * kept}" in line
    assert f"{len(spoiled) - SIZE * kept} bytes are dropped" in line
    assert reason in line
    assert append(found) == 3 * kept


def test_offsets_that_do_not_follow_end_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = new_log(tmp_path)
    for _ in range(2):
        append(log)
    stale = with_header(batch(), base_offset=1)
    log_file(log).write_bytes(log_file(log).read_bytes() + stale)

    found = reopened(log)

    assert offsets(found) == list(range(6))
    assert "offset 1 stands where 6 is next" in caplog.text


def test_segments_behind_a_cut_are_set_aside(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=SIZE)
    for _ in range(4):
        append(log)
    log_file(log, 3).write_bytes(b"\0" * SIZE)

    found = reopened(log, segment_bytes=SIZE)

    assert offsets(found) == [0, 1, 2]
    assert sorted(path.name for path in Path(log.path).glob("*.log*")) == [
        "00000000000000000000.log",
        "00000000000000000003.log",
        "00000000000000000006.log.deleted",
        "00000000000000000009.log.deleted",
    ]
    assert append(found) == 3


def test_nothing_below_the_recovery_point_is_read(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=0)
    for _ in range(50):
        append(log)
    checkpointed(log)
    for _ in range(5):
        append(log)
    data = bytearray(log_file(log).read_bytes())
    # A damage below the recovery point is not what a crash does, so it shows what is read again.
    data[SIZE * 10 - 1] ^= 0xFF
    log_file(log).write_bytes(data)

    found = reopened(log, index_interval_bytes=0)

    assert found.log_end_offset == 165


def test_an_index_that_does_not_fit_makes_the_check_begin_at_the_segments_start(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=0)
    for _ in range(50):
        append(log)
    checkpointed(log)
    append(log)
    index = Path(log.path, f"{0:020d}.index")
    good = index.read_bytes()
    index.write_bytes(good[:80] + bytes(8) + good[88:])

    found = reopened(log, index_interval_bytes=0)

    assert offsets(found) == list(range(153))
    assert len(index.read_bytes()) == 50 * 8


def test_indexes_are_as_if_nothing_had_happened(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=300)
    for number in range(40):
        append(log, timestamp=NOW - 1000 + number * 10)
    expected = reopened(log, index_interval_bytes=300)
    expected.save()
    whole = {path.name: path.read_bytes() for path in Path(log.path).glob("*index")}
    checkpoint = new_log(tmp_path / "other", index_interval_bytes=300)
    for number in range(40):
        append(checkpoint, timestamp=NOW - 1000 + number * 10)
        if number == 25:
            checkpointed(checkpoint)

    found = reopened(checkpoint, index_interval_bytes=300)
    found.save()

    assert {path.name: path.read_bytes() for path in Path(found.path).glob("*index")} == whole


def test_indexes_that_were_sized_in_advance_are_cut(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=0)
    for _ in range(5):
        append(log)
    log.save()
    for suffix in (".index", ".timeindex"):
        with Path(log.path, f"{0:020d}{suffix}").open("r+b") as file:
            file.truncate(10 * 1024 * 1024 // 12 * 12)

    found = reopened(log, index_interval_bytes=0)

    assert offsets(found) == list(range(15))
    assert Path(log.path, f"{0:020d}.index").stat().st_size == 4 * 8


def test_the_last_five_batches_of_a_producer_are_known_after_a_crash(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for number in range(7):
        append(log, idempotent(3 * number))

    found = reopened(log)

    for number in range(2, 7):
        again = idempotent(3 * number)
        result = found.append(again, 0, len(again), NOW)
        assert (result.base_offset, result.is_duplicate) == (3 * number, True)


def test_the_last_five_batches_are_known_when_a_snapshot_was_taken_in_between(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(idempotent(0)) * 2)
    for number in range(8):
        append(log, idempotent(3 * number))

    found = reopened(log, segment_bytes=len(idempotent(0)) * 2)

    for number in range(3, 8):
        again = idempotent(3 * number)
        assert found.append(again, 0, len(again), NOW).is_duplicate


def test_leader_epochs_are_found_in_the_batches_when_their_file_is_lost(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    log.assign_epoch(3)
    append(log)
    Path(log.path, "leader-epoch-checkpoint").write_bytes(b"")

    found = reopened(log)

    assert found.leader_epoch == 3
    assert found.end_offset_for_epoch(0) == (0, 3)
    assert Path(log.path, "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n3 3\n"


def test_a_log_that_ends_before_its_start_begins_there_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = new_log(tmp_path)
    for _ in range(3):
        append(log)
    log.delete_records_before(8)
    checkpointed(log)
    log_file(log).write_bytes(b"")

    found = reopened(log)

    assert (found.log_start_offset, found.log_end_offset) == (8, 8)
    assert "begins again there, empty" in caplog.text
    assert append(found) == 8
    assert offsets(found) == [8, 9, 10]


def test_a_lost_segment_leaves_the_rest_readable(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=SIZE)
    for _ in range(4):
        append(log)
    checkpointed(log)
    log_file(log, 3).unlink()

    found = reopened(log, segment_bytes=SIZE)

    assert [record.offset for record in read_all(found)] == [0, 1, 2, 6, 7, 8, 9, 10, 11]


def test_what_was_found_after_a_crash_is_brought_to_the_disk_by_the_next_sync(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)

    disk = FaultyDisk()
    found = reopened(log, disk=disk)
    ticket = found.begin_sync()

    assert found.flushed_offset == 0
    assert [file.path for file in ticket.files] == [str(log_file(log))]
    assert {log.path, str(tmp_path)} <= set(ticket.directories)
    assert Path(log.path, f"{0:020d}.index") in {Path(path) for path in ticket.paths}


@pytest.mark.parametrize("call", ["preadv", "ftruncate", "fdatasync", "rename"])
def test_a_disk_that_fails_during_recovery_costs_this_partition_only(tmp_path: Path, call: str) -> None:
    log = new_log(tmp_path, segment_bytes=SIZE)
    for _ in range(3):
        append(log)
    log_file(log, 3).write_bytes(b"\0" * 10)
    log.directory.close()
    disk = FaultyDisk()
    disk.fail(call, path="orders-0")

    made = manager(tmp_path, disk=disk)

    assert set(made.failed) == {log.topic_partition}
    assert made.directories[0].failure is None
