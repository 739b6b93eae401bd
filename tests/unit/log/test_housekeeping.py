import errno
from pathlib import Path

import pytest

from riverlog.config import TopicSettings
from riverlog.errors import DiskFull
from riverlog.log import LogManager, PartitionLog
from riverlog.log.housekeeping import RESUME_FREE_BYTES, Timer
from riverlog.types import TopicPartition
from tests.batch_builders import BATCH_TIME_MS, batch
from tests.faulty_disk import FaultyDisk
from tests.log_builders import NOW, ORDERS, TOPIC_ID, append, manager

MINUTE = 60_000
INTERVALS = {
    "log_retention_check_interval_ms": 5 * MINUTE,
    "producer_id_expiration_check_interval_ms": 10 * MINUTE,
    "producer_id_expiration_ms": 60 * MINUTE,
    "log_flush_offset_checkpoint_interval_ms": MINUTE,
    "log_flush_start_offset_checkpoint_interval_ms": MINUTE,
}


def made_with(
    directory: Path, disk: FaultyDisk | None = None, **topic: object
) -> tuple[LogManager, PartitionLog]:
    """A manager with one partition; what it asks to be synced is synced at once."""
    made = manager(
        directory,
        disk=disk,
        settings=TopicSettings(**topic),  # type: ignore[arg-type]
        log_settings=INTERVALS,
        request_sync=lambda log: log.sync(),
    )
    run(made, NOW)
    return made, made.create(ORDERS, TOPIC_ID, NOW)


def run(made: LogManager, *times_ms: int) -> int:
    return sum(1 for time_ms in times_ms for _step in made.housekeeping(time_ms))


def recovery_points(directory: Path) -> list[str]:
    path = directory / "recovery-point-offset-checkpoint"
    return path.read_text().splitlines()[2:] if path.exists() else []


def test_a_timer_is_due_once_per_interval_counted_from_its_first_look() -> None:
    timer = Timer(100)

    assert [timer.is_due(now) for now in (1000, 1099, 1100, 1101, 1250, 1349, 1350)] == [
        False,
        False,
        True,
        False,
        True,
        False,
        True,
    ]


def test_retention_is_applied_when_it_is_due(tmp_path: Path) -> None:
    made, log = made_with(tmp_path, segment_bytes=len(batch()), retention_bytes=len(batch()))
    append(log)
    append(log)

    run(made, NOW + 5 * MINUTE - 1)
    assert log.segment_count == 2
    run(made, NOW + 5 * MINUTE)

    assert log.segment_count == 1


def test_old_segments_are_sealed_when_retention_is_due(tmp_path: Path) -> None:
    made, log = made_with(tmp_path, segment_ms=MINUTE, retention_ms=-1)
    append(log)

    run(made, NOW + 5 * MINUTE)

    assert log.segment_count == 2


def test_deleted_segments_are_removed_after_their_delay(tmp_path: Path) -> None:
    made, log = made_with(tmp_path, retention_ms=1, file_delete_delay_ms=MINUTE)
    append(log, timestamp=BATCH_TIME_MS)

    run(made, NOW + 5 * MINUTE)
    assert len(list(Path(log.path).glob("*.deleted"))) == 3
    run(made, NOW + 6 * MINUTE)

    assert list(Path(log.path).glob("*.deleted")) == []


def test_the_recovery_point_is_written_a_round_after_the_indexes_were_saved(tmp_path: Path) -> None:
    made, log = made_with(tmp_path)
    append(log)

    run(made, NOW + MINUTE)
    assert recovery_points(tmp_path) == []
    run(made, NOW + MINUTE + 1000)

    assert recovery_points(tmp_path) == ["orders 0 3"]
    assert log.recovery_point == 3


def test_the_start_of_a_log_is_written_although_nothing_was_appended(tmp_path: Path) -> None:
    made, log = made_with(tmp_path)
    append(log)
    run(made, NOW + MINUTE, NOW + MINUTE + 1000)

    log.delete_records_before(2)
    run(made, NOW + 2 * MINUTE, NOW + 2 * MINUTE + 1000)

    assert "orders 0 2" in (tmp_path / "log-start-offset-checkpoint").read_text()


def test_a_synced_partition_that_grows_fast_gets_its_recovery_point_before_the_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("riverlog.log.housekeeping.UNINDEXED_BYTES_MAX", 500)
    made, log = made_with(tmp_path)
    for _ in range(10):
        append(log)

    run(made, NOW + 1, NOW + 2)

    assert recovery_points(tmp_path) == ["orders 0 30"]


def test_a_snapshot_is_taken_with_a_checkpoint_when_much_was_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("riverlog.log.partition_log.SNAPSHOT_BYTES", 500)
    made, log = made_with(tmp_path)
    append(log)
    run(made, NOW + MINUTE)
    assert list(Path(log.path).glob("*.snapshot")) == []
    for _ in range(10):
        append(log)

    run(made, NOW + 2 * MINUTE)

    assert [path.name for path in Path(log.path).glob("*.snapshot")] == [f"{33:020d}.snapshot"]


def test_producers_are_forgotten_when_their_check_is_due(tmp_path: Path) -> None:
    made, log = made_with(tmp_path)
    append(log, batch(producer_id=1, producer_epoch=0, base_sequence=0))

    run(made, NOW + 10 * MINUTE)
    assert log.producer_count == 1
    run(made, NOW + 60 * MINUTE)

    assert log.producer_count == 0


def test_data_that_waited_for_flush_ms_is_synced(tmp_path: Path) -> None:
    made, log = made_with(tmp_path, flush_ms=5000)
    append(log)

    run(made, NOW + 1000, NOW + 5999)
    assert log.flushed_offset == 0
    run(made, NOW + 6000)

    assert log.flushed_offset == 3


def test_a_full_disk_is_used_again_once_there_is_room(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made, log = made_with(tmp_path, disk)
    disk.fail("pwrite", errno.ENOSPC, path=".log")
    data = batch()
    log.append(data, 0, len(data), NOW)
    assert isinstance(log.is_offline, DiskFull)
    disk.heal()

    disk.free = RESUME_FREE_BYTES - 1
    run(made, NOW + 1000)
    assert log.is_offline is not None
    disk.free = RESUME_FREE_BYTES
    run(made, NOW + 2000)

    assert append(log) == 0


def test_a_disk_that_cannot_say_how_much_is_free_is_not_used_again(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made, log = made_with(tmp_path, disk)
    disk.fail("pwrite", errno.ENOSPC, path=".log")
    data = batch()
    log.append(data, 0, len(data), NOW)
    disk.fail("free_bytes")

    run(made, NOW + 1000)

    assert log.is_offline is not None


def test_a_partition_that_fails_does_not_keep_the_others_from_their_turn(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made, first = made_with(tmp_path, disk, retention_ms=1)
    second = made.create(TopicPartition("orders", 1), TOPIC_ID, NOW)
    append(first)
    append(second)
    disk.fail("rename", errno.EACCES, path="orders-0/")

    run(made, NOW + 5 * MINUTE)

    assert first.is_offline is not None
    assert second.log_start_offset == 3


def test_a_checkpoint_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made, log = made_with(tmp_path, disk)
    append(log)
    disk.fail("open", path="recovery-point")
    run(made, NOW + MINUTE, NOW + MINUTE + 1000)
    assert recovery_points(tmp_path) == []
    disk.heal()

    run(made, NOW + 2 * MINUTE, NOW + 2 * MINUTE + 1000)

    assert recovery_points(tmp_path) == ["orders 0 3"]


def test_the_work_for_many_partitions_comes_in_many_steps(tmp_path: Path) -> None:
    made, _ = made_with(tmp_path)
    for number in range(1, 200):
        made.create(TopicPartition("orders", number), TOPIC_ID, NOW)

    assert run(made, NOW + 1) < 10
    assert run(made, NOW + 5 * MINUTE) > 200
