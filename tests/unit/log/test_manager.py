import errno
import json
from pathlib import Path

import pytest

from riverlog.config import TopicSettings
from riverlog.errors import StorageError
from riverlog.log import DirectoryLocked, LoadProgress, LogManager, PartitionLog
from riverlog.protocol.error_codes import ErrorCode
from riverlog.types import TopicPartition
from tests.batch_builders import batch
from tests.faulty_disk import FaultyDisk
from tests.log_builders import NOW, ORDERS, TOPIC_ID, append, manager, offsets

SIZE = len(batch())


def partitions(count: int) -> list[TopicPartition]:
    return [TopicPartition("t", number) for number in range(count)]


def created(made: LogManager, *names: TopicPartition) -> list[PartitionLog]:
    return [made.create(name, TOPIC_ID, NOW) for name in names]


def housekept(made: LogManager, *times_ms: int) -> None:
    for time_ms in times_ms:
        for _step in made.housekeeping(time_ms):
            pass


def answer(log: PartitionLog) -> int:
    """The error code that the log answers a batch with."""
    data = batch()
    return log.append(data, 0, len(data), NOW).error_code


# Start and stop


def test_what_was_created_is_there_after_a_restart(tmp_path: Path) -> None:
    first = manager(tmp_path)
    for log in created(first, *partitions(3)):
        append(log)
    first.close(NOW)

    second = manager(tmp_path)

    assert {log.topic_partition for log in second} == set(partitions(3))
    assert all(directory.was_clean for directory in second.directories)
    assert all(offsets(log) == [0, 1, 2] for log in second)
    assert all(log.topic_id == TOPIC_ID for log in second)


def test_a_second_start_on_the_same_data_is_refused_by_name_and_keeps_no_other_lock(tmp_path: Path) -> None:
    first = manager(tmp_path / "a")

    with pytest.raises(DirectoryLocked, match=str(tmp_path / "a")):
        manager(tmp_path / "b", tmp_path / "a")

    manager(tmp_path / "b")
    first.close(NOW)
    manager(tmp_path / "a")


def test_a_manager_that_never_loaded_marks_nothing_as_clean(tmp_path: Path) -> None:
    manager(tmp_path, load=False).close(NOW)

    assert not (tmp_path / ".kafka_cleanshutdown").exists()


def test_the_start_tells_how_far_it_has_come(tmp_path: Path) -> None:
    first = manager(tmp_path)
    for log in created(first, *partitions(3)):
        append(log)
    for directory in first.directories:
        directory.close()
    told: list[LoadProgress] = []

    manager(tmp_path, load=False).load(NOW, told.append)

    assert [progress.loaded for progress in told] == [1, 2, 3]
    assert {progress.partition for progress in told} == set(partitions(3))
    assert {(progress.path, progress.is_clean, progress.total) for progress in told} == {
        (str(tmp_path), False, 3)
    }
    assert [progress.recovered_bytes for progress in told] == [SIZE] * 3


@pytest.mark.parametrize("threads", [1, 4])
def test_after_a_crash_all_directories_and_partitions_are_recovered(tmp_path: Path, threads: int) -> None:
    first = manager(tmp_path / "a", tmp_path / "b")
    logs = created(first, *partitions(20))
    for log in logs:
        append(log)
        path = Path(log.path, f"{0:020d}.log")
        path.write_bytes(path.read_bytes() + b"torn")
    for directory in first.directories:
        directory.close()

    second = manager(
        tmp_path / "a", tmp_path / "b", log_settings={"num_recovery_threads_per_data_dir": threads}
    )

    assert {log.topic_partition for log in second} == set(partitions(20))
    assert all(offsets(log) == [0, 1, 2] for log in second)


def test_checkpoints_say_after_a_crash_what_need_not_be_read(tmp_path: Path) -> None:
    first = manager(tmp_path)
    (log,) = created(first, ORDERS)
    append(log)
    log.save_indexes()
    log.sync()
    first.checkpoint()
    for directory in first.directories:
        directory.close()
    told: list[LoadProgress] = []

    second = manager(tmp_path, load=False)
    second.load(NOW, told.append)

    assert told[0].recovered_bytes == 0
    found = second.get(ORDERS)
    assert found is not None
    assert offsets(found) == [0, 1, 2]


def test_a_partition_that_cannot_be_opened_does_not_keep_the_others_from_it(tmp_path: Path) -> None:
    first = manager(tmp_path)
    created(first, *partitions(3))
    first.close(NOW)
    disk = FaultyDisk()
    disk.fail("listdir", path="/t-1")

    second = manager(tmp_path, disk=disk)

    assert set(second.failed) == {TopicPartition("t", 1)}
    assert len(second) == 2
    with pytest.raises(StorageError, match="t-1"):
        second.create(TopicPartition("t", 1), TOPIC_ID, NOW)
    second.close(NOW)
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


def test_garbled_files_never_keep_the_start_from_ending(tmp_path: Path) -> None:
    first = manager(tmp_path)
    (log,) = created(first, ORDERS)
    for _ in range(100):
        append(log)
    first.close(NOW)
    for path in Path(log.path).iterdir():
        if path.suffix != ".log":
            path.write_bytes(b"\xff\xff\xff\xfe" * 30)

    second = manager(tmp_path)

    found = second.get(ORDERS)
    assert found is not None
    assert offsets(found) == list(range(300))


def test_a_partition_in_two_directories_is_refused_with_both(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "t-0").mkdir(parents=True)

    with pytest.raises(StorageError, match=r"lies in .*/a as well") as refused:
        manager(tmp_path / "a", tmp_path / "b")

    assert str(tmp_path / "b") in str(refused.value)
    assert manager(tmp_path / "a").get(TopicPartition("t", 0)) is not None


def test_a_stop_that_comes_late_leaves_no_mark_of_a_clean_one(tmp_path: Path) -> None:
    made = manager(tmp_path)
    for log in created(made, *partitions(2)):
        append(log)

    made.close(NOW, lambda: True)

    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    assert all(offsets(log) == [0, 1, 2] for log in manager(tmp_path))


def test_a_clean_stop_leaves_all_on_the_disk_before_it_says_so(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made = manager(tmp_path, disk=disk)
    (log,) = created(made, ORDERS)
    append(log)
    disk.fail("fdatasync", path=".log")

    made.close(NOW)

    assert not (tmp_path / ".kafka_cleanshutdown").exists()


def test_many_partitions_are_brought_to_the_disk_by_one_call_at_the_stop(tmp_path: Path) -> None:
    disk = FaultyDisk(has_syncfs=True)
    if not disk.can_syncfs():
        pytest.skip("this system has no syncfs that reports errors")
    made = manager(tmp_path, disk=disk)
    for log in created(made, *partitions(20)):
        append(log)
    disk.calls.clear()

    made.close(NOW)

    # Three checkpoints and the marker are synced one by one.
    assert (disk.calls["syncfs"], disk.calls["fdatasync"]) == (1, 4)
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_the_marker_and_the_checkpoints_are_kafkas(tmp_path: Path) -> None:
    made = manager(tmp_path)
    (log,) = created(made, ORDERS)
    append(log)
    log.delete_records_before(2)

    made.close(NOW)

    assert json.loads((tmp_path / ".kafka_cleanshutdown").read_text())["version"] == 0
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\norders 0 3\n"
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\norders 0 2\n"
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\norders 0 3\n"


def test_the_log_start_is_known_after_a_restart(tmp_path: Path) -> None:
    made = manager(tmp_path)
    (log,) = created(made, ORDERS)
    append(log)
    log.delete_records_before(2)
    made.close(NOW)

    found = manager(tmp_path).get(ORDERS)

    assert found is not None
    assert offsets(found) == [2]


# Identity


def test_every_directory_is_marked_as_this_nodes(tmp_path: Path) -> None:
    made = manager(tmp_path / "a", tmp_path / "b")

    made.write_identity("cluster", 3)
    made.close(NOW)

    again = manager(tmp_path / "a", tmp_path / "b")
    identities = [directory.identity for directory in again.directories]
    assert [(each.cluster_id, each.node_id) for each in identities if each] == [("cluster", 3)] * 2
    assert len({each.directory_id for each in identities if each}) == 2
    again.write_identity("cluster", 3)


def test_another_nodes_directory_is_refused_with_both_names(tmp_path: Path) -> None:
    made = manager(tmp_path)
    made.write_identity("cluster", 3)

    with pytest.raises(StorageError, match="node 3 of cluster cluster, not to node 4 of cluster other"):
        made.write_identity("other", 4)


# Partitions come and go


def test_new_partitions_are_spread_over_the_directories(tmp_path: Path) -> None:
    made = manager(tmp_path / "a", tmp_path / "b")

    logs = created(made, *partitions(4))

    assert sorted(Path(log.directory.path).name for log in logs) == ["a", "a", "b", "b"]


def test_a_partition_is_not_made_twice_nor_over_what_is_there(tmp_path: Path) -> None:
    made = manager(tmp_path)
    created(made, ORDERS)
    (tmp_path / "t-0").mkdir()

    with pytest.raises(StorageError, match="orders-0 exists"):
        created(made, ORDERS)
    with pytest.raises(StorageError, match="was not opened"):
        created(made, TopicPartition("t", 0))


def test_a_partition_that_cannot_be_made_is_an_error_with_its_path(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made = manager(tmp_path, disk=disk)
    disk.fail("open", errno.ENOSPC, path="orders-0")

    with pytest.raises(StorageError, match="cannot create orders-0"):
        created(made, ORDERS)

    assert made.get(ORDERS) is None


def test_a_deleted_partition_is_gone_at_once_and_its_files_later(tmp_path: Path) -> None:
    made = manager(tmp_path, settings=TopicSettings(file_delete_delay_ms=60_000))
    (log,) = created(made, ORDERS)
    append(log)

    made.delete(ORDERS, NOW)

    assert made.get(ORDERS) is None
    (left,) = [path.name for path in tmp_path.iterdir() if path.is_dir()]
    assert left.startswith("orders-0.")
    assert left.endswith("-delete")
    assert answer(log) == ErrorCode.KAFKA_STORAGE_ERROR
    housekept(made, NOW + 59_999)
    assert (tmp_path / left).exists()
    housekept(made, NOW + 60_000)
    assert not (tmp_path / left).exists()


def test_a_deleted_partition_can_be_made_again_and_begins_empty(tmp_path: Path) -> None:
    made = manager(tmp_path)
    (log,) = created(made, ORDERS)
    append(log)
    made.delete(ORDERS, NOW)

    (again,) = created(made, ORDERS)

    assert again.log_end_offset == 0
    assert append(again) == 0


def test_what_a_stop_left_of_a_deleted_partition_is_removed_by_the_next_start(tmp_path: Path) -> None:
    made = manager(tmp_path)
    created(made, ORDERS)
    made.delete(ORDERS, NOW)
    made.close(NOW)

    again = manager(tmp_path)
    housekept(again, NOW)

    assert len(again) == 0
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_deleting_many_partitions_syncs_their_directory_once(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made = manager(tmp_path, disk=disk)
    created(made, *partitions(10))
    disk.calls.clear()

    made.delete_all([*partitions(10), TopicPartition("unknown", 0)], NOW)

    assert len(made) == 0
    assert (disk.calls["rename"], disk.calls["sync_directory"]) == (10, 1)


@pytest.mark.parametrize("call", ["rename", "sync_directory"])
def test_a_deletion_that_fails_is_an_error(tmp_path: Path, call: str) -> None:
    disk = FaultyDisk()
    made = manager(tmp_path, disk=disk)
    created(made, ORDERS)
    disk.fail(call)

    with pytest.raises(StorageError):
        made.delete(ORDERS, NOW)


# Limits


def test_idle_partitions_cost_no_descriptors_beyond_the_limit(tmp_path: Path) -> None:
    made = manager(tmp_path, open_files_max=5)
    logs = created(made, *partitions(20))

    for log in logs:
        append(log)
        append(log)

    assert made.open_file_count <= 5
    assert all(offsets(log) == list(range(6)) for log in logs)


def test_a_start_opens_no_more_files_than_the_limit(tmp_path: Path) -> None:
    first = manager(tmp_path)
    for log in created(first, *partitions(20)):
        append(log)
    first.close(NOW)

    assert manager(tmp_path, open_files_max=5).open_file_count <= 5


# Failing disks


def test_a_device_that_fails_takes_its_directory_offline_and_leaves_the_others(tmp_path: Path) -> None:
    disk = FaultyDisk()
    failed: list[TopicPartition] = []
    made = manager(
        tmp_path / "a",
        tmp_path / "b",
        disk=disk,
        on_failure=lambda log, _: failed.append(log.topic_partition),
    )
    logs = created(made, *partitions(4))
    for log in logs:
        append(log)
    disk.fail("pwrite", errno.EIO, path="/a/t-0/")

    result = answer(logs[0])

    assert result == ErrorCode.KAFKA_STORAGE_ERROR
    broken, working = made.directories
    assert broken.failure is not None
    assert working.failure is None
    for log in logs:
        code = answer(log)
        assert code == (ErrorCode.KAFKA_STORAGE_ERROR if log.directory is broken else 0)
        assert offsets(log)[:3] == [0, 1, 2]
    assert failed == [log.topic_partition for log in logs if log.directory is broken]
    assert created(made, TopicPartition("new", 0))[0].directory is working
    with pytest.raises(StorageError, match="may lie in a directory that is offline"):
        made.create(TopicPartition("old", 0), TOPIC_ID, NOW, is_new=False)
    made.close(NOW)
    assert not (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "b" / ".kafka_cleanshutdown").exists()


def test_a_directory_that_cannot_be_used_at_the_start_is_offline_and_the_others_go_on(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.fail("make_directory", path=str(tmp_path / "a"))

    made = manager(tmp_path / "a", tmp_path / "b", disk=disk)

    assert made.directories[0].failure is not None
    assert created(made, ORDERS)[0].directory is made.directories[1]


@pytest.mark.parametrize("call", ["make_directory", "list_directories"])
def test_without_any_directory_that_works_there_is_no_start(tmp_path: Path, call: str) -> None:
    disk = FaultyDisk()
    disk.fail(call)

    with pytest.raises(StorageError):
        manager(tmp_path / "a", tmp_path / "b", disk=disk)

    manager(tmp_path / "a", tmp_path / "b")


def test_a_full_disk_stops_one_partition_after_the_other_not_all_at_once(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made = manager(tmp_path, disk=disk)
    first, second = created(made, *partitions(2))
    disk.fail("pwrite", errno.ENOSPC, path="/t-0/")

    answer(first)

    assert first.is_offline is not None
    assert made.directories[0].failure is None
    assert append(second) == 0
