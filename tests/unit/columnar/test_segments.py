"""Segment files as a broker writes them, read without one."""

from __future__ import annotations

import os
import shutil
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from riverlog.columnar import segment_files
from riverlog.columnar.batches import RECORDS_BYTES_TARGET
from riverlog.columnar.options import RecordsLost
from riverlog.columnar.segments import read_segments
from riverlog.errors import ConfigError, CorruptBatch, StorageError
from riverlog.log import PartitionLog
from riverlog.protocol.compression import Compression
from riverlog.protocol.control_records import TransactionMarker, build_marker_batch
from riverlog.protocol.records import Record, build_batch
from riverlog.types import TopicPartition
from tests.batch_builders import batch, with_header
from tests.columns import as_records, rows
from tests.compaction import clean
from tests.log_builders import NOW, append, new_log, read_all

SMALL_SEGMENTS = {"segment_bytes": 400, "index_interval_bytes": 100}


def directory(log: PartitionLog) -> Path:
    return Path(log.path)


def offsets(log: PartitionLog | Path, **options: Any) -> list[int]:
    path = log if isinstance(log, Path) else directory(log)
    reader = read_segments(path, columns=["offset"], **options)
    return [offset for each in reader for offset in each["offset"].to_pylist()]


def transactional(producer: int, offset: int, count: int = 2) -> bytearray:
    return batch(count, base_offset=offset, producer_id=producer, producer_epoch=0, is_transactional=True)


def marker(producer: int, offset: int, *, commits: bool) -> bytearray:
    end = TransactionMarker(commits, 0)
    return build_marker_batch(end, producer_id=producer, producer_epoch=0, timestamp=0, base_offset=offset)


def written(path: Path, *batches: bytes | bytearray, base_offset: int = 0) -> Path:
    """A partition's directory with these batches in one segment."""
    home = path / "orders-3"
    home.mkdir(exist_ok=True)
    (home / f"{base_offset:020d}.log").write_bytes(b"".join(batches))
    return home


def test_what_was_appended_is_read(tmp_path: Path) -> None:
    log = new_log(tmp_path, **SMALL_SEGMENTS)
    for codec in [*Compression] * 3:
        append(log, compression=codec)

    assert log.segment_count > 2
    assert rows(read_segments(directory(log))) == read_all(log)


def test_topic_and_partition_come_from_the_directory_s_name(tmp_path: Path) -> None:
    home = written(tmp_path, batch())

    found = read_segments(home, columns=["topic", "partition"]).read_all()

    assert found.to_pylist() == [{"topic": "orders", "partition": 3}] * 3


def test_a_range_within_segments_is_cut_out(tmp_path: Path) -> None:
    log = new_log(tmp_path, **SMALL_SEGMENTS)
    for _ in range(20):
        append(log)
    log.save_indexes()

    for start in range(0, 60, 7):
        for end in range(start, 60, 9):
            assert offsets(log, start=start, end=end) == list(range(start, end))


@pytest.mark.parametrize("index", [b"", b"\x00" * 80, b"\xff" * 80, b"\x00\x00\x00\x05\x00\x00\x00\x07" * 9])
def test_an_index_is_only_a_hint(tmp_path: Path, index: bytes) -> None:
    log = new_log(tmp_path)
    for _ in range(10):
        append(log)
    (directory(log) / "00000000000000000000.index").write_bytes(index)

    assert offsets(log, start=17) == list(range(17, 30))


def test_an_index_saves_reading_from_the_beginning(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=100)
    for _ in range(50):
        append(log)
    log.save_indexes()
    path = directory(log) / "00000000000000000000.log"
    content = bytearray(path.read_bytes())
    content[30] ^= 1  # whoever reads the first batch finds it damaged
    path.write_bytes(content)

    assert offsets(log, start=100) == list(range(100, 150))
    with pytest.raises(CorruptBatch, match=r"offset 0 .*CRC"):
        offsets(log)


def test_a_torn_tail_is_the_end(tmp_path: Path) -> None:
    whole, next_one = batch(), batch(base_offset=3)

    for cut in range(len(next_one)):
        assert offsets(written(tmp_path, whole, next_one[:cut])) == [0, 1, 2]


@pytest.mark.parametrize("room", [1, 12, 61, 4096])
def test_room_made_in_advance_is_the_end(tmp_path: Path, room: int) -> None:
    assert offsets(written(tmp_path, batch(), bytes(room))) == [0, 1, 2]


def test_a_torn_segment_that_is_not_the_newest_is_damage(tmp_path: Path) -> None:
    written(tmp_path, batch(), batch(base_offset=3)[:-1])
    home = written(tmp_path, batch(base_offset=6), base_offset=6)

    with pytest.raises(CorruptBatch, match="ends inside a batch"):
        offsets(home)


def test_a_damaged_batch_names_file_and_offset(tmp_path: Path) -> None:
    damaged = batch(base_offset=3)
    damaged[-1] ^= 1
    home = written(tmp_path, batch(), damaged, batch(base_offset=6))

    with pytest.raises(CorruptBatch, match=r"orders-3: the batch at offset 3 .*00000000000000000000\.log"):
        offsets(home)


def test_a_batch_larger_than_a_piece_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_files, "CHUNK_BYTES", 1000)
    large = build_batch([Record(0, 0, None, bytes(50_000))], base_offset=3)
    home = written(tmp_path, batch(), large, batch(base_offset=4))

    assert offsets(home) == [0, 1, 2, 3, 4, 5, 6]


def test_pieces_that_end_anywhere_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = written(tmp_path, *(batch(base_offset=3 * number) for number in range(30)))

    for size in (61, 100, 333, 1024):
        monkeypatch.setattr(segment_files, "CHUNK_BYTES", size)
        assert offsets(home) == list(range(90))


# transactions


def test_what_was_aborted_is_left_out_and_markers_are(tmp_path: Path) -> None:
    home = written(
        tmp_path,
        transactional(1, 0),
        transactional(2, 2),
        marker(1, 4, commits=False),
        batch(1, base_offset=5),
        marker(2, 6, commits=True),
        transactional(1, 7),
        marker(1, 9, commits=True),
    )

    assert offsets(home) == [2, 3, 5, 7, 8]
    assert offsets(home, isolation="read_uncommitted") == [0, 1, 2, 3, 5, 7, 8]


def test_a_marker_is_found_in_a_later_segment(tmp_path: Path) -> None:
    written(tmp_path, transactional(1, 0))
    home = written(tmp_path, batch(1, base_offset=2), marker(1, 3, commits=False), base_offset=2)

    assert offsets(home) == [2]


def test_reading_ends_before_what_nobody_has_decided(tmp_path: Path) -> None:
    home = written(tmp_path, batch(2), transactional(1, 2), batch(1, base_offset=4))

    assert offsets(home) == [0, 1]
    assert offsets(home, end=2) == [0, 1]
    assert offsets(home, isolation="read_uncommitted") == [0, 1, 2, 3, 4]
    with pytest.raises(StorageError, match=r"offset 2 .*not decided"):
        offsets(home, end=5)


def test_a_range_that_begins_inside_a_transaction_knows_its_end(tmp_path: Path) -> None:
    home = written(
        tmp_path,
        transactional(1, 0),
        transactional(1, 2),
        marker(1, 4, commits=False),
        batch(1, base_offset=5),
    )

    assert offsets(home, start=3) == [5]
    assert offsets(home, start=1, end=4) == []


def test_the_log_s_own_transactions_are_read_as_the_log_does(tmp_path: Path) -> None:
    log = new_log(tmp_path, **SMALL_SEGMENTS)
    for number in range(12):
        data = batch(producer_id=5, producer_epoch=0, base_sequence=3 * number, is_transactional=True)
        append(log, data)
        log.append_marker(5, 0, is_commit=number % 3 == 0, coordinator_epoch=0, now_ms=NOW)

    expected = [4 * number + each for number in range(0, 12, 3) for each in range(3)]
    assert offsets(log) == expected


# what happens meanwhile


def test_offsets_below_the_log_start_are_not_read(tmp_path: Path) -> None:
    home = written(tmp_path, batch(), batch(base_offset=3))
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    checkpoint.write_text("0\n2\norders 31 9\norders 3 2\n")

    assert offsets(home) == [2, 3, 4, 5]
    assert offsets(home, start=0, skip_lost=True) == [2, 3, 4, 5]
    with pytest.raises(RecordsLost, match="from offset 0 up to 2 were deleted"):
        offsets(home, start=0)


def test_segments_deleted_meanwhile_are_an_error_or_passed_over(tmp_path: Path) -> None:
    for skips in (False, True):
        for base in (0, 3, 6):
            home = written(tmp_path, batch(base_offset=base), base_offset=base)
        reader = read_segments(home, skip_lost=skips)
        first = as_records(reader.read_next_batch())
        for base in (0, 3):
            (home / f"{base:020d}.log").unlink()

        assert [record.offset for record in first] == [0, 1, 2]
        if skips:
            assert [record.offset for record in rows(reader)] == [6, 7, 8]
        else:
            with pytest.raises(RecordsLost) as raised:
                reader.read_next_batch()
            assert (raised.value.start, raised.value.end) == (3, 6)
        shutil.rmtree(home)


def test_a_marker_deleted_meanwhile_is_not_taken_from_a_later_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_files, "CHUNK_BYTES", 200)
    for skips in (False, True):
        written(tmp_path, batch(2), transactional(1, 2))
        written(tmp_path, marker(1, 4, commits=False), base_offset=4)
        home = written(tmp_path, transactional(1, 5), marker(1, 7, commits=True), base_offset=5)
        reader = read_segments(home, skip_lost=skips)
        first = as_records(reader.read_next_batch())
        for base in (0, 4):
            (home / f"{base:020d}.log").unlink()

        assert [record.offset for record in first] == [0, 1]
        if skips:
            assert [record.offset for record in rows(reader)] == [5, 6]
        else:
            with pytest.raises(RecordsLost):
                reader.read_next_batch()
        shutil.rmtree(home)


def test_a_segment_that_compaction_replaced_is_read_on(tmp_path: Path) -> None:
    written(tmp_path, batch())
    home = written(tmp_path, batch(base_offset=3), base_offset=3)
    written(tmp_path, batch(base_offset=9), base_offset=9)
    reader = read_segments(home)
    first = as_records(reader.read_next_batch())

    # Two segments become one, and only offset 5 of the second is kept.
    kept = build_batch([Record(5, 0, b"k", b"v")], base_offset=3, keep_offsets=True, last_offset=5)
    (home / "new").write_bytes(bytes(batch()) + bytes(kept))
    os.replace(home / "new", home / f"{0:020d}.log")
    (home / f"{3:020d}.log").unlink()

    assert [record.offset for record in first] == [0, 1, 2]
    assert [record.offset for record in rows(reader)] == [5, 9, 10, 11]


def test_a_segment_that_compaction_emptied_is_a_hole(tmp_path: Path) -> None:
    written(tmp_path, batch())
    home = written(tmp_path, b"", base_offset=3)
    written(tmp_path, batch(base_offset=9), base_offset=9)

    assert offsets(home) == [0, 1, 2, 9, 10, 11]
    assert offsets(home, end=9) == [0, 1, 2]


def test_a_compacted_log_is_read_as_the_log_does(tmp_path: Path) -> None:
    log = new_log(
        tmp_path, cleanup_policy=frozenset({"compact"}), segment_bytes=2000, min_cleanable_dirty_ratio=0.0
    )
    for number in range(60):
        each = [Record(0, NOW, b"key-%d" % (number * key % 11), b"%d" % number) for key in range(5)]
        append(log, build_batch(each, compression=[*Compression][number % 5]))
    reader = read_segments(directory(log))
    before = as_records(reader.read_next_batch())

    clean(log)

    assert len(read_all(log)) < 100
    assert rows(read_segments(directory(log))) == read_all(log)
    # What began before the cleaning goes on with what is left of the later segments.
    after = [record.offset for record in rows(reader)]
    assert before[-1].offset < after[0]
    assert after == [record.offset for record in read_all(log) if record.offset > before[-1].offset]


def test_memory_stays_bounded_however_much_there_is(tmp_path: Path) -> None:
    large = build_batch([Record(n, 0, None, bytes(10_000)) for n in range(100)], compression=Compression.ZSTD)
    home = written(tmp_path, *(with_header(large, base_offset=100 * number) for number in range(300)))
    tracemalloc.start()
    try:
        size = sum(each["value"].nbytes for each in read_segments(home, columns=["value"]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert size > 300_000_000
    assert peak < 5 * RECORDS_BYTES_TARGET


def test_an_end_that_the_log_does_not_reach_is_an_error(tmp_path: Path) -> None:
    home = written(tmp_path, batch())

    with pytest.raises(StorageError, match="orders-3: the log ends before offset 4"):
        offsets(home, end=4)


def test_reading_beside_a_writer_gives_a_prefix_without_gaps(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=20_000)
    home = directory(log)
    append(log)
    done = threading.Event()

    def write() -> None:
        for _ in range(2000):
            append(log)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    while not done.is_set():
        seen.append(offsets(home))
    writer.join()

    for each in seen:
        assert each == list(range(len(each)))
    assert offsets(home) == list(range(3 * 2001))


# arguments


def test_an_empty_partition_has_no_records(tmp_path: Path) -> None:
    assert offsets(new_log(tmp_path)) == []
    empty = tmp_path / "other-0"
    empty.mkdir()
    assert offsets(empty) == []


def test_what_makes_no_sense_is_refused_at_once(tmp_path: Path) -> None:
    home = written(tmp_path, batch())

    for wrong in (tmp_path, tmp_path / "orders-7", home / "no"):
        with pytest.raises(ConfigError, match="the directory of a partition"):
            read_segments(wrong)
    with pytest.raises(ConfigError, match="read_committed or read_uncommitted"):
        read_segments(home, isolation="serializable")
    with pytest.raises(ConfigError, match="columns"):
        read_segments(home, columns=["velue"])


def test_the_place_is_kept_in_the_error(tmp_path: Path) -> None:
    lost = RecordsLost(TopicPartition("orders", 3), 4, 9)

    assert (lost.place, lost.start, lost.end) == (("orders", 3), 4, 9)
