import dataclasses
import errno
import struct
from pathlib import Path
from typing import Any

import pytest

from riverlog.config import TopicSettings
from riverlog.errors import DiskFull, StorageError
from riverlog.log import AppendResult, PartitionLog
from riverlog.log.open_files import FileSlice
from riverlog.log.retention import STAYS
from riverlog.protocol.batches import read_header, split_batches
from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.records import Record, build_batch
from tests.batch_builders import BATCH_TIME_MS, batch, with_header
from tests.faulty_disk import FaultyDisk
from tests.log_builders import (
    NOW,
    ORDERS,
    TOPIC_ID,
    append,
    manager,
    new_log,
    offsets,
    read_all,
    reopened,
)

STORAGE_ERROR = ErrorCode.KAFKA_STORAGE_ERROR


def read(log: PartitionLog, offset: int, max_bytes: int = 1 << 20, **options: bool) -> Any:
    return log.read(offset, max_bytes, **({"must_return_one_batch": True} | options))


def answer(log: PartitionLog, data: bytearray | None = None) -> AppendResult:
    """What the log says to a batch."""
    data = data if data is not None else batch()
    return log.append(data, 0, len(data), NOW)


def files(log: PartitionLog, suffix: str) -> list[str]:
    return sorted(path.name for path in Path(log.path).iterdir() if path.name.endswith(suffix))


# Appending


def test_records_get_the_next_offsets_and_are_read_back(tmp_path: Path) -> None:
    log = new_log(tmp_path)

    assert [append(log, count=3), append(log, count=1), append(log, count=2)] == [0, 3, 4]

    assert log.log_end_offset == 6
    assert offsets(log) == [0, 1, 2, 3, 4, 5]


def test_a_stored_batch_carries_its_offset_and_leader_epoch_and_is_otherwise_what_came(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path)
    append(log)
    log.assign_epoch(5)
    sent = batch(2)

    append(log, bytearray(sent))

    stored = read(log, 3).records.read()
    header = read_header(stored)
    assert (header.base_offset, header.leader_epoch) == (3, 5)
    assert stored[16:] == sent[16:]


def test_a_memoryview_is_as_good_as_a_bytearray_and_only_its_part_is_taken(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    data = batch(2)
    buffer = bytearray(b"before") + data + b"after"

    result = log.append(memoryview(buffer), 6, 6 + len(data), NOW)

    assert (result.error_code, result.base_offset) == (0, 0)
    assert log.size == len(data)


def test_an_append_is_one_write(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    disk.calls.clear()

    append(log)

    assert dict(disk.calls) == {"pwrite": 1}


def test_a_refused_batch_leaves_the_log_alone_and_says_why(tmp_path: Path) -> None:
    log = new_log(tmp_path)

    result = answer(log, with_header(batch(), crc=1))

    assert result.error_code == ErrorCode.CORRUPT_MESSAGE
    assert result.message is not None
    assert result.base_offset == -1
    assert log.size == log.log_end_offset == 0


def test_what_is_compressed_anew_is_stored_in_place_of_what_came(tmp_path: Path) -> None:
    log = new_log(tmp_path, compression_type="gzip")

    append(log)

    assert read_header(read(log, 0).records.read()).compression is Compression.GZIP
    assert offsets(log) == [0, 1, 2]


def test_the_brokers_time_is_told_and_stored(tmp_path: Path) -> None:
    log = new_log(tmp_path, message_timestamp_type="LogAppendTime")
    data = batch()

    result = log.append(data, 0, len(data), NOW)

    assert result.log_append_time_ms == NOW
    assert {record.timestamp for record in read_all(log)} == {NOW}


# Idempotence


def idempotent(sequence: int, count: int = 3, epoch: int = 0) -> bytearray:
    return batch(count, producer_id=9, producer_epoch=epoch, base_sequence=sequence)


def test_a_retry_is_answered_with_the_original_offset_and_changes_nothing(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, idempotent(0))
    append(log, idempotent(3))
    size = log.size

    result = answer(log, idempotent(0))

    assert (result.error_code, result.base_offset, result.is_duplicate) == (0, 0, True)
    assert result.log_append_time_ms == -1
    assert log.size == size


def test_a_retry_is_told_the_time_that_the_broker_gave_it_first(tmp_path: Path) -> None:
    log = new_log(tmp_path, message_timestamp_type="LogAppendTime")
    append(log, idempotent(0))

    result = log.append(again := idempotent(0), 0, len(again), NOW + 5000)

    assert (result.is_duplicate, result.log_append_time_ms) == (True, NOW)


def test_a_gap_is_refused_and_nothing_appended(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, idempotent(0))

    result = answer(log, idempotent(6))

    assert (result.error_code, result.base_offset) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert log.log_end_offset == 3


def test_a_batch_whose_write_failed_can_be_sent_again(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    disk.fail("pwrite", errno.EMFILE, path=".log", times=1)

    first = answer(log, idempotent(0))
    second = answer(log, idempotent(0))

    assert first.error_code == STORAGE_ERROR
    assert (second.error_code, second.is_duplicate) == (0, False)


def test_silent_producers_are_forgotten(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, idempotent(0))

    assert log.expire_producers(NOW + 100, 100) == 1

    assert log.producer_count == 0


def test_the_producers_can_be_looked_at(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, idempotent(0))

    (producer,) = log.producers()

    assert (producer.producer_id, producer.epoch, producer.last_sequence) == (9, 0, 2)
    assert producer.last_timestamp == NOW


# Rolling


def test_a_segment_is_sealed_before_it_would_grow_past_its_size(tmp_path: Path) -> None:
    size = len(batch())
    log = new_log(tmp_path, segment_bytes=size * 2 + 1)

    for _ in range(5):
        append(log)

    assert files(log, ".log") == [f"{offset:020d}.log" for offset in (0, 6, 12)]
    assert offsets(log) == list(range(15))


def test_a_batch_that_fills_a_segment_to_the_byte_still_fits(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(batch()) * 2)

    append(log)
    append(log)

    assert log.segment_count == 1


def test_a_segment_is_sealed_once_a_batch_is_too_much_younger_than_its_first(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_ms=10_000)

    for second in (0, 5, 9.9, 10.1, 15):
        append(log, timestamp=BATCH_TIME_MS + round(second * 1000))

    assert files(log, ".log") == [f"{offset:020d}.log" for offset in (0, 9)]


def test_an_old_segment_is_sealed_without_an_append_but_an_empty_one_is_not(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_ms=10_000)
    append(log)

    assert not log.roll_if_due(NOW + 10_000)
    assert log.roll_if_due(NOW + 10_001)
    assert not log.roll_if_due(NOW + 100_000)

    assert log.segment_count == 2


def test_the_jitter_seals_earlier_and_is_always_the_same_for_a_segment(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_ms=10_000, segment_jitter_ms=10_000)
    append(log)

    due = next(wait for wait in range(10_002) if log.roll_if_due(NOW + wait))

    assert due <= 10_001
    again = new_log(tmp_path / "again", segment_ms=10_000, segment_jitter_ms=10_000)
    append(again)
    assert again.roll_if_due(NOW + 10_001)


def test_a_segment_whose_index_is_full_is_sealed(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_index_bytes=60, index_interval_bytes=0)

    for _ in range(12):
        append(log)

    assert log.segment_count == 3


def test_offsets_that_do_not_fit_the_index_begin_a_segment(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    log.log_end_offset = 2**31 - 1

    append(log, count=1)
    append(log, count=1)

    assert files(log, ".log") == ["00000000000000000000.log", "00000000002147483648.log"]


def test_settings_change_from_the_next_append_on(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)

    log.settings = dataclasses.replace(log.settings, segment_bytes=len(batch()), max_message_bytes=10**6)
    append(log)

    assert log.segment_count == 2


def test_sealing_asks_for_a_sync_and_writes_a_snapshot(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(idempotent(0)))
    append(log, idempotent(0))
    assert files(log, ".snapshot") == []

    append(log, idempotent(3))

    assert files(log, ".snapshot") == ["00000000000000000003.snapshot"]


# Reading


def test_an_offset_inside_a_batch_gives_the_whole_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, count=10)

    data = read(log, 4).records.read()

    assert read_header(data).base_offset == 0


def test_beyond_the_end_and_before_the_start_is_out_of_range_and_the_end_is_empty(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    log.delete_records_before(1)

    assert read(log, 4).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert read(log, 0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert read(log, -1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    at_end = read(log, 3)
    assert (at_end.error_code, at_end.records) == (0, None)
    assert (at_end.high_watermark, at_end.last_stable_offset, at_end.log_start_offset) == (3, 3, 1)


def test_a_first_batch_larger_than_asked_for_is_given_only_where_it_must_be(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    append(log)

    assert read(log, 0, 10).records.length == len(batch())
    assert read(log, 0, 0).records.length == len(batch())
    assert read(log, 0, 10, must_return_one_batch=False).records is None


@pytest.mark.parametrize("max_bytes", [1, 150, 400, 1000, 10**6])
def test_a_read_gives_whole_batches_within_the_size_and_one_after_the_other_gives_all(
    tmp_path: Path, max_bytes: int
) -> None:
    log = new_log(tmp_path, segment_bytes=2000, index_interval_bytes=100)
    for _ in range(40):
        append(log)

    offset, found = 0, []
    while offset < log.log_end_offset:
        data = read(log, offset, max_bytes).records.read()
        walk = split_batches(data, 0, len(data))
        assert walk.end == len(data)
        assert len(data) <= max_bytes or len(walk.batches) == 1
        found += [header.base_offset for _, header in walk.batches]
        offset = walk.batches[-1][1].next_offset

    assert found == list(range(0, 120, 3))


def test_nothing_above_the_high_watermark_is_given_out(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.follows_log_end = False
    for _ in range(3):
        append(log)
    assert read(log, 0).records is None

    log.advance_high_watermark(6)

    assert offsets(log) == [0, 1, 2, 3, 4, 5]
    assert read(log, 6).records is None
    assert read(log, 6).error_code == 0
    log.advance_high_watermark(2)
    assert log.high_watermark == 6
    log.advance_high_watermark(100)
    assert log.high_watermark == 9


def test_committed_data_ends_before_the_first_open_transaction(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    append(log, batch(producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True))
    append(log)

    committed = read(log, 0, read_committed=True)

    assert log.last_stable_offset == committed.last_stable_offset == 3
    assert committed.records.length == len(batch())
    assert committed.aborted == []
    assert offsets(log) == list(range(9))
    assert read(log, 4, read_committed=True).records is None
    assert read(log, 4, read_committed=True).error_code == 0


def test_a_consumer_that_keeps_up_is_served_without_reading_anything(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    read(log, 0)
    disk.calls.clear()

    for expected in range(3, 300, 3):
        append(log)
        assert read(log, expected).records.length == len(batch())

    assert set(disk.calls) == {"pwrite"}


def test_a_consumer_that_keeps_up_follows_into_the_next_segment(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(batch()) * 2)
    append(log)
    read(log, 0)
    append(log)
    read(log, 3)

    append(log)

    assert read_header(read(log, 6).records.read()).base_offset == 6


def test_many_consumers_cost_a_bounded_memory(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for _ in range(300):
        append(log)

    for offset in range(0, 900, 3):
        read(log, offset, 10)

    assert len(log._chain._places) <= 64
    assert offsets(log) == list(range(900))


def test_a_slice_stays_readable_when_its_segment_is_deleted(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(batch()), retention_bytes=0)
    append(log)
    append(log)
    part: FileSlice = read(log, 0).records

    log.apply_retention(NOW)
    for path in Path(log.path).glob("*.deleted"):
        path.unlink()

    assert read_header(part.read()).base_offset == 0


# Epochs


def test_a_partition_begins_in_epoch_zero_and_says_where_each_epoch_ends(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    log.assign_epoch(4)
    append(log)

    assert log.leader_epoch == 4
    assert log.end_offset_for_epoch(0) == (0, 3)
    assert log.end_offset_for_epoch(4) == (4, 6)
    assert log.end_offset_for_epoch(5) == (-1, -1)
    assert [log.epoch_at(0), log.epoch_at(3)] == [0, 4]
    assert Path(log.path, "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n4 3\n"


# Shortening


def test_truncating_inside_a_batch_takes_the_whole_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, count=5)
    append(log, count=5)

    log.truncate_to(7, NOW)

    assert (log.log_end_offset, log.high_watermark) == (5, 5)
    assert offsets(log) == [0, 1, 2, 3, 4]
    assert append(log) == 5


@pytest.mark.parametrize("offset", [0, 1, 3, 7, 12, 20, 29])
def test_truncating_anywhere_leaves_the_batches_before(tmp_path: Path, offset: int) -> None:
    log = new_log(tmp_path, segment_bytes=len(batch()) * 3, index_interval_bytes=0)
    for _ in range(10):
        append(log)
    read_all(log)

    log.truncate_to(offset, NOW)

    assert log.log_end_offset == offset // 3 * 3
    assert offsets(log) == list(range(log.log_end_offset))
    assert append(log) == offset // 3 * 3
    assert offsets(reopened(log, segment_bytes=len(batch()) * 3)) == list(range(offset // 3 * 3 + 3))


def test_truncating_at_the_end_still_forgets_epochs_that_begin_there(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    log.assign_epoch(1)

    log.truncate_to(3, NOW)

    assert log.log_end_offset == 3
    assert log.end_offset_for_epoch(0) == (0, 3)
    assert log.end_offset_for_epoch(1) == (-1, -1)


def test_truncating_before_the_first_segment_begins_the_log_anew_there(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(batch()), retention_bytes=0)
    for _ in range(4):
        append(log)
    log.apply_retention(NOW)
    assert log.log_start_offset == 12

    log.truncate_to(5, NOW)

    assert (log.log_start_offset, log.log_end_offset) == (5, 5)
    assert append(log) == 5


def test_truncating_takes_the_producers_back_to_what_is_left(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, idempotent(0))
    append(log, idempotent(3))

    log.truncate_to(3, NOW)

    assert append(log, idempotent(3)) == 3


def test_deleting_records_moves_the_start_and_retention_removes_the_segments(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(batch()), retention_ms=-1)
    for _ in range(4):
        append(log)

    assert log.delete_records_before(7) == (0, 7)
    assert offsets(log) == [7, 8, 9, 10, 11]
    assert log.segment_count == 4
    assert log.apply_retention(NOW) == 2

    assert (log.log_start_offset, log.segment_count) == (7, 2)
    assert log.delete_records_before(3) == (0, 7)
    assert log.delete_records_before(-1) == (0, 12)
    assert log.delete_records_before(13) == (ErrorCode.OFFSET_OUT_OF_RANGE, 12)
    assert log.delete_records_before(-2) == (ErrorCode.OFFSET_OUT_OF_RANGE, 12)


def test_records_of_a_compacted_topic_are_not_deleted_on_demand(tmp_path: Path) -> None:
    log = new_log(tmp_path, cleanup_policy=frozenset({"compact"}))
    append(log)

    assert log.delete_records_before(1) == (ErrorCode.POLICY_VIOLATION, 0)


def test_when_all_is_too_old_a_new_segment_goes_on_with_the_next_offset(tmp_path: Path) -> None:
    log = new_log(tmp_path, retention_ms=1000)
    append(log)

    assert log.apply_retention(BATCH_TIME_MS + 2 + 1001) == 1

    assert (log.log_start_offset, log.log_end_offset, log.segment_count) == (3, 3, 1)
    assert append(log) == 3
    assert offsets(log) == [3, 4, 5]


def test_the_earliest_offset_after_retention_can_be_read_at_once(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(batch()), retention_bytes=len(batch()))
    for _ in range(4):
        append(log)
    read(log, 3)

    log.apply_retention(NOW)

    assert offsets(log, log.log_start_offset) == [9, 10, 11]


def test_a_compacted_topic_loses_no_segment_to_age_or_size(tmp_path: Path) -> None:
    log = new_log(
        tmp_path, cleanup_policy=frozenset({"compact"}), retention_ms=1, retention_bytes=0, segment_bytes=200
    )
    for _ in range(4):
        append(log)

    assert log.apply_retention(NOW * 2) == 0


def test_deleted_segments_are_renamed_with_their_indexes_and_snapshot(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(batch()), retention_bytes=len(batch()))
    append(log)
    append(log)

    log.apply_retention(NOW)

    assert files(log, ".deleted") == [
        "00000000000000000000.index.deleted",
        "00000000000000000000.log.deleted",
        "00000000000000000000.timeindex.deleted",
    ]


# Times


def timed(*timestamps: int) -> bytearray:
    return build_batch([Record(n, time, b"k", b"") for n, time in enumerate(timestamps)])


def test_a_timestamp_finds_the_first_record_that_is_not_older_also_inside_a_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, timed(NOW + 10, NOW + 30, NOW + 20))
    append(log, timed(NOW + 5, NOW + 40))

    assert log.offset_for_timestamp(0) == (0, NOW + 10, 0)
    assert log.offset_for_timestamp(NOW + 11) == (1, NOW + 30, 0)
    assert log.offset_for_timestamp(NOW + 31) == (4, NOW + 40, 0)
    assert log.offset_for_timestamp(NOW + 41) is None


def test_a_timestamp_finds_nothing_before_the_log_start_or_above_the_high_watermark(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.follows_log_end = False
    append(log, timed(NOW, NOW + 1, NOW + 2))
    append(log, timed(NOW + 3))
    log.advance_high_watermark(3)

    log.delete_records_before(2)

    assert log.offset_for_timestamp(NOW) == (2, NOW + 2, 0)
    assert log.offset_for_timestamp(NOW + 3) is None


def test_a_batch_whose_young_records_lie_before_the_start_is_passed_over(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, timed(NOW + 50, NOW))
    append(log, timed(NOW + 20))
    log.delete_records_before(1)

    assert log.offset_for_timestamp(NOW + 10) == (2, NOW + 20, 0)
    assert log.max_timestamp() == (2, NOW + 20, 0)


def test_the_largest_timestamp_is_that_of_the_first_record_that_has_it(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(timed(1, 2)))
    assert log.max_timestamp() is None
    append(log, timed(NOW, NOW + 5))
    append(log, timed(NOW + 9, NOW + 9))
    append(log, timed(NOW + 9, NOW + 3))

    assert log.max_timestamp() == (2, NOW + 9, 0)


# Failing disks


@pytest.mark.parametrize("written", [0, 1, 30])
def test_a_short_write_is_completed(tmp_path: Path, written: int) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    disk.short_writes = [30]

    append(log)

    assert offsets(log) == [0, 1, 2]
    assert log.is_offline is None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_failed_write_is_cut_off_and_never_acknowledged(tmp_path: Path, number: int) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    disk.short_writes = [40]
    disk.fail("pwrite", number, path=".log", skip=1)

    result = answer(log)

    assert (result.error_code, result.base_offset) == (STORAGE_ERROR, -1)
    assert isinstance(log.is_offline, StorageError)
    assert log.log_end_offset == 3
    assert Path(log.path, "00000000000000000000.log").stat().st_size == len(batch())
    assert offsets(log) == [0, 1, 2]
    disk.heal()
    assert answer(log).error_code == STORAGE_ERROR


def test_a_full_disk_takes_appends_again_once_there_is_room(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    disk.short_writes = [40]
    disk.fail("pwrite", errno.ENOSPC, path=".log", skip=1)
    answer(log)
    assert isinstance(log.is_offline, DiskFull)
    disk.heal()

    log.resume()

    assert append(log) == 3
    assert offsets(log) == [0, 1, 2, 3, 4, 5]


def test_a_failed_write_that_cannot_be_undone_is_final(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    disk.short_writes = [40]
    disk.fail("pwrite", errno.ENOSPC, path=".log", skip=1)
    disk.fail("ftruncate", errno.EIO, path=".log")

    result = answer(log)
    disk.heal()
    log.resume()

    assert result.error_code == STORAGE_ERROR
    assert log.is_offline is not None
    assert "nor can it be undone" in str(log.is_offline)
    assert offsets(log) == [0, 1, 2]


def test_the_senders_buffer_is_free_again_after_a_failed_write(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    disk.fail("pwrite", errno.ENOSPC, path=".log")
    data = batch()

    log.append(data, 0, len(data), NOW)

    data.extend(b"more")
    assert log.is_offline is not None


def test_a_failed_roll_refuses_the_batch_and_leaves_no_half_segment(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk, segment_bytes=len(batch()))
    append(log)
    disk.fail("open", errno.ENOSPC, path="3.timeindex")

    result = answer(log)

    assert (result.error_code, result.base_offset) == (STORAGE_ERROR, -1)
    assert files(log, ".log") == ["00000000000000000000.log"]
    assert isinstance(log.is_offline, DiskFull)
    disk.heal()
    log.resume()
    assert append(log) == 3


def test_too_few_descriptors_refuse_one_append_and_no_more(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk, segment_bytes=len(batch()))
    append(log)
    disk.fail("open", errno.EMFILE, path=".log", times=1)

    result = answer(log)

    assert result.error_code == STORAGE_ERROR
    assert log.is_offline is None
    assert append(log) == 3


def test_a_read_that_fails_is_answered_with_an_error(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    append(log)
    disk.fail("pread")

    assert read(log, 4).error_code == STORAGE_ERROR


def test_a_failed_look_up_by_time_is_a_storage_error(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    disk.fail("pread")

    with pytest.raises(StorageError, match="cannot look up"):
        log.offset_for_timestamp(0)
    with pytest.raises(StorageError, match="cannot look up"):
        log.max_timestamp()


def test_records_that_cannot_be_decoded_are_a_storage_error_with_path_and_position(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    data = batch()
    damaged = with_header(data[:61] + struct.pack(">i", -7) * 20, batch_length=61 + 80 - 12)
    append(log, damaged)

    with pytest.raises(StorageError, match=r"00000000000000000000.log at byte 0"):
        log.offset_for_timestamp(0)


@pytest.mark.parametrize("call", ["rename", "sync_directory"])
def test_retention_that_fails_takes_the_partition_offline(tmp_path: Path, call: str) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk, retention_ms=1)
    append(log)
    disk.fail(call, path=log.path)

    with pytest.raises(StorageError):
        log.apply_retention(NOW * 2)

    assert log.is_offline is not None


def test_a_truncation_that_fails_takes_the_partition_offline(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    disk.fail("ftruncate")

    with pytest.raises(StorageError, match="cannot truncate"):
        log.truncate_to(0, NOW)

    assert log.is_offline is not None


def test_epochs_that_cannot_be_written_take_the_partition_offline(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    disk.fail("rename", path="leader-epoch")

    with pytest.raises(StorageError, match="leader epochs"):
        log.assign_epoch(3)

    assert log.is_offline is not None


# Reaching the disk


def test_the_first_sync_covers_file_directory_and_the_directory_above(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)

    ticket = log.begin_sync()

    assert [file.path for file in ticket.files] == [f"{log.path}/00000000000000000000.log"]
    assert set(ticket.directories) == {log.path, str(tmp_path)}
    assert {Path(path).name for path in ticket.paths} == {"partition.metadata", "leader-epoch-checkpoint"}
    assert log.finish_sync(ticket, ticket.run(disk)) is None
    assert log.flushed_offset == 3
    assert len(log.begin_sync()) == 0


def test_a_sync_covers_what_was_appended_before_it_began_and_nothing_later(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=len(batch()))
    append(log)

    ticket = log.begin_sync()
    append(log)
    append(log)
    log.finish_sync(ticket, None)

    assert log.flushed_offset == 3
    assert [file.path[-8:] for file in log.begin_sync().files] == ["0006.log", "0003.log"]


def test_the_segments_that_were_sealed_since_the_last_sync_are_synced_with_their_indexes(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path, segment_bytes=len(batch()))
    append(log)
    log.sync()
    append(log)

    paths = {Path(path).name for path in log.begin_sync().paths}

    assert {f"{0:020d}.index", f"{0:020d}.timeindex", f"{3:020d}.snapshot"} <= paths


def test_the_recovery_point_follows_only_when_the_indexes_are_synced_too(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    log.sync()
    assert (log.flushed_offset, log.recovery_point) == (3, 0)

    log.save_indexes()
    append(log)
    log.sync()

    assert (log.flushed_offset, log.recovery_point) == (6, 3)


def test_a_sync_that_began_before_a_truncation_promises_nothing(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    ticket = log.begin_sync()

    log.truncate_to(0, NOW)
    append(log)

    assert isinstance(log.finish_sync(ticket, None), StorageError)
    assert log.flushed_offset == 0


def test_a_failed_sync_is_final_and_what_it_may_have_lost_is_not_read(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    log.sync()
    append(log)
    disk.fail("fdatasync")

    with pytest.raises(StorageError, match="cannot bring it to the disk"):
        log.sync()
    disk.heal()
    log.resume()

    assert log.flushed_offset == 3
    assert answer(log).error_code == STORAGE_ERROR
    assert read(log, 0).records.length == len(batch())
    assert read(log, 3).error_code == STORAGE_ERROR
    with pytest.raises(StorageError):
        log.sync()


def test_a_full_disk_found_by_a_sync_is_final_as_well(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    disk.fail("fdatasync", errno.ENOSPC)

    with pytest.raises(DiskFull):
        log.sync()
    log.resume()

    assert log.is_offline is not None


def test_what_was_appended_before_the_disk_was_full_can_still_be_synced(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    append(log)
    disk.fail("pwrite", errno.ENOSPC, path=".log")
    answer(log)

    log.sync()

    assert log.flushed_offset == 3


def test_a_sync_is_asked_for_after_so_many_records_or_so_long(tmp_path: Path) -> None:
    asked: list[int] = []
    log = new_log(tmp_path, flush_messages=5, flush_ms=1000)
    object.__setattr__(log._context, "request_sync", lambda log: asked.append(log.log_end_offset))

    append(log)
    assert asked == []
    append(log)
    assert asked == [6]
    log.sync()
    log.sync_if_due(NOW)
    append(log)
    log.sync_if_due(NOW + 1)
    log.sync_if_due(NOW + 1000)
    assert asked == [6]
    log.sync_if_due(NOW + 1001)

    assert asked == [6, 9]


def test_a_closed_partition_takes_nothing_and_keeps_no_file_open(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)

    log.close()

    assert answer(log).error_code == STORAGE_ERROR
    assert len(log._context.open_files) == 0
    with pytest.raises(StorageError, match="closed"):
        log.begin_sync()


def test_the_topics_id_can_be_given_to_a_partition_that_has_none(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    Path(log.path, "partition.metadata").unlink()
    found = reopened(log)
    assert found.topic_id == bytes(16)

    found.assign_topic_id(b"i" * 16)

    assert reopened(found).topic_id == b"i" * 16


def test_topic_settings_of_the_builder_are_the_partitions(tmp_path: Path) -> None:
    assert new_log(tmp_path, retention_ms=5).settings == TopicSettings(retention_ms=5)


# What is told to those who look


def test_what_is_appended_is_counted_from_the_opening_on(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(3))
    append(log, batch(2))

    assert (log.appended_records, log.appended_bytes) == (5, log.size)
    again = reopened(log)
    assert (again.appended_records, again.appended_bytes) == (0, 0)


def test_appends_are_counted_whatever_becomes_of_their_segments(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=200, retention_bytes=0)
    size = len(batch(3))
    for number in range(1, 5):
        append(log, batch(3))
        assert (log.appended_records, log.appended_bytes) == (3 * number, size * number)

    for cut in (10, 5, 3, 0):
        log.truncate_to(cut, NOW)
        assert (log.appended_records, log.appended_bytes) == (12, 4 * size)
    append(log, batch(3))
    assert log.apply_retention(NOW) == 1
    append(log, batch(3))

    assert (log.appended_records, log.appended_bytes) == (18, 6 * size)


def test_a_refused_batch_is_not_counted(tmp_path: Path) -> None:
    log = new_log(tmp_path, max_message_bytes=10)
    assert answer(log).error_code

    assert (log.appended_records, log.appended_bytes) == (0, 0)


def test_the_outlook_follows_the_segments(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=200, retention_ms=1_000_000, retention_bytes=1000)
    for _ in range(3):
        append(log, batch(3))
    size = log.size // 3

    oldest, newest = log.outlook(1, BATCH_TIME_MS), log.outlook(7, BATCH_TIME_MS)

    assert log.segment_count == 3
    assert oldest.left_bytes == 1000 - 2 * size
    assert newest.left_bytes == 1000
    assert oldest.left_ms is not None
    assert 1_000_000 <= oldest.left_ms <= 1_000_100
    assert log.outlook(9, BATCH_TIME_MS) == STAYS


def test_nothing_ends_what_a_topic_keeps_for_ever(tmp_path: Path) -> None:
    log = new_log(tmp_path, retention_ms=-1, retention_bytes=-1)
    append(log)
    assert log.outlook(0, NOW) == STAYS

    log.settings = TopicSettings(cleanup_policy=("compact",), retention_ms=1, retention_bytes=1)
    assert log.outlook(0, NOW) == STAYS


def test_retention_says_what_it_is_about_to_delete_while_it_is_there(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    made = manager(
        tmp_path,
        settings=TopicSettings(segment_bytes=200, retention_ms=-1, retention_bytes=250),
        before_deletion=lambda log, offset: told.append((offset, log.log_start_offset)),
    )
    log = made.create(ORDERS, TOPIC_ID, NOW)
    append(log)
    assert log.apply_retention(NOW) == 0
    for _ in range(4):
        append(log)

    count = log.apply_retention(NOW)

    assert count
    assert told == [(log.log_start_offset, 0)]
