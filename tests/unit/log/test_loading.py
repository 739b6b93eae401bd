import logging
from pathlib import Path
from typing import Any

import pytest

from riverlog.log import PartitionLog
from riverlog.log.disk import Disk
from riverlog.log.loading import PartitionFiles, finish_interrupted_work
from tests.batch_builders import batch
from tests.faulty_disk import FaultyDisk
from tests.log_builders import NOW, ORDERS, TOPIC_ID, append, manager, new_log, offsets

SIZE = len(batch())


def closed_with(directory: Path, batches: int, **settings: Any) -> Path:
    """A partition of so many batches that was closed in an orderly way; gives its directory."""
    log = new_log(directory, **settings)
    for _ in range(batches):
        append(log)
    stop(log)
    return Path(log.path)


def stop(log: PartitionLog) -> None:
    made = manager(Path(log.directory.path), load=False)
    made.directories[0] = log.directory
    made._logs[log.topic_partition] = log
    made.close(NOW)


def started(directory: Path, disk: Disk | None = None) -> PartitionLog:
    made = manager(directory, disk=disk)
    found = made.get(ORDERS)
    assert found is not None, made.failed
    return found


def numbered(base: int, suffix: str) -> str:
    return f"{base:020d}{suffix}"


def test_files_are_sorted_by_what_they_are() -> None:
    files = PartitionFiles.of(
        [
            numbered(0, ".log"),
            numbered(0, ".index"),
            numbered(0, ".timeindex"),
            numbered(9, ".log"),
            numbered(9, ".index"),
            numbered(9, ".snapshot"),
            numbered(9, ".log.bak"),
            "partition.metadata",
            "notes.txt",
        ]
    )

    assert files.logs == {0, 9}
    assert files.complete_indexes == {0}
    assert files.snapshots == {9}
    assert files.others == {"partition.metadata", "notes.txt"}


def test_a_partition_that_was_closed_opens_as_it_was(tmp_path: Path) -> None:
    closed_with(tmp_path, 10, segment_bytes=SIZE * 3)

    log = started(tmp_path)

    assert log.directory.was_clean
    assert log.topic_id == TOPIC_ID
    assert offsets(log) == list(range(30))
    assert log.flushed_offset == log.recovery_point == 30
    assert append(log) == 30


def test_opening_after_a_clean_stop_reads_no_more_than_a_few_small_pieces(tmp_path: Path) -> None:
    closed_with(tmp_path, 2000)
    disk = FaultyDisk()

    log = started(tmp_path, disk)

    assert log.log_end_offset == 6000
    assert disk.calls["pread"] <= 8
    assert disk.calls["preadv"] == 0


def test_a_partition_that_was_never_written_opens(tmp_path: Path) -> None:
    closed_with(tmp_path, 0)

    log = started(tmp_path)

    assert (log.log_start_offset, log.log_end_offset, log.leader_epoch) == (0, 0, 0)


def test_a_log_that_was_not_closed_whole_is_checked_although_the_marker_says_clean(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = closed_with(tmp_path, 3)
    path = directory / numbered(0, ".log")
    path.write_bytes(path.read_bytes()[:-1])

    log = started(tmp_path)

    assert offsets(log) == list(range(6))
    assert "checking the log although it was closed" in caplog.text


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_missing_index_is_built_again(tmp_path: Path, suffix: str) -> None:
    directory = closed_with(tmp_path, 200)
    path = directory / numbered(0, suffix)
    before = path.read_bytes()
    path.unlink()

    log = started(tmp_path)

    assert offsets(log) == list(range(600))
    log.save()
    assert path.read_bytes() == before


def test_files_that_mean_nothing_here_are_left_alone(tmp_path: Path) -> None:
    directory = closed_with(tmp_path, 1)
    (directory / "notes.txt").write_text("mine")
    (directory / numbered(7, ".bak")).write_text("mine")
    (tmp_path / "some-file").write_text("mine")
    (tmp_path / "some-directory").mkdir()

    started(tmp_path)

    assert (directory / "notes.txt").exists()
    assert (directory / numbered(7, ".bak")).exists()
    assert (tmp_path / "some-directory").exists()


def test_an_empty_directory_becomes_an_empty_partition(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()

    log = started(tmp_path)

    assert (log.log_end_offset, log.topic_id) == (0, bytes(16))
    assert append(log) == 0


@pytest.mark.parametrize("content", [b"", b"\0" * 43, b"version: 0\ntopic_id: x"])
def test_torn_metadata_means_that_the_topics_id_is_not_known(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    directory = closed_with(tmp_path, 1)
    (directory / "partition.metadata").write_bytes(content)

    with caplog.at_level(logging.WARNING):
        log = started(tmp_path)

    assert log.topic_id == bytes(16)
    assert "orders-0 does not know its topic's id" in caplog.text


def test_the_last_five_batches_of_a_producer_are_known_after_a_clean_stop(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=600)
    sent = [batch(3, producer_id=9, producer_epoch=0, base_sequence=3 * number) for number in range(7)]
    for each in sent:
        append(log, bytearray(each))
    stop(log)

    log = started(tmp_path)

    for number in range(2, 7):
        result = log.append(sent[number], 0, len(sent[number]), NOW)
        assert (result.base_offset, result.is_duplicate) == (3 * number, True)


# Work that was interrupted


def finish(directory: Path) -> list[str]:
    finish_interrupted_work(Disk(), str(directory), [path.name for path in directory.iterdir()])
    return sorted(path.name for path in directory.iterdir())


def test_deleted_and_half_cleaned_files_are_removed(tmp_path: Path) -> None:
    for name in (numbered(0, ".log.deleted"), numbered(0, ".index.cleaned"), numbered(5, ".log")):
        (tmp_path / name).write_bytes(b"")

    assert finish(tmp_path) == [numbered(5, ".log")]


def test_an_index_without_its_log_is_removed(tmp_path: Path) -> None:
    for name in (numbered(0, ".index"), numbered(0, ".timeindex"), numbered(0, ".txnindex"), "x.index"):
        (tmp_path / name).write_bytes(b"")

    assert finish(tmp_path) == ["x.index"]


def test_swap_files_take_the_place_of_all_segments_they_were_made_from(tmp_path: Path) -> None:
    directory = closed_with(tmp_path, 5, segment_bytes=SIZE)
    compacted = (directory / numbered(0, ".log")).read_bytes() + (
        directory / numbered(3, ".log")
    ).read_bytes()
    (directory / numbered(0, ".log.swap")).write_bytes(compacted)
    (directory / numbered(0, ".index.swap")).write_bytes(b"")
    (directory / numbered(0, ".timeindex.swap")).write_bytes(b"")

    log = started(tmp_path)

    assert offsets(log) == list(range(15))
    assert sorted(path.name for path in directory.glob("*.log")) == [
        numbered(base, ".log") for base in (0, 6, 9, 12)
    ]


def test_swap_files_of_work_that_had_not_come_so_far_are_removed(tmp_path: Path) -> None:
    directory = closed_with(tmp_path, 5, segment_bytes=SIZE)
    (directory / numbered(3, ".log.swap")).write_bytes(b"")
    (directory / numbered(3, ".log.cleaned")).write_bytes(b"")

    assert offsets(started(tmp_path)) == list(range(15))
    assert not list(directory.glob("*.swap"))
