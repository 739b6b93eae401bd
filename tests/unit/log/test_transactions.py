"""Transactions in one partition: markers, what readers of committed data get, restarts and cuts."""

from pathlib import Path

import pytest

from riverlog.log import PartitionLog
from riverlog.protocol.batches import split_batches
from riverlog.protocol.control_records import TransactionMarker, read_marker
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.records import read_records
from tests.batch_builders import batch
from tests.faulty_disk import FaultyDisk
from tests.log_builders import NOW, append, new_log, reopened


def begin(log: PartitionLog, producer_id: int, *, epoch: int = 0, sequence: int = 0) -> int:
    """Append three records of a transaction."""
    return append(
        log,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
    )


def end(
    log: PartitionLog,
    producer_id: int,
    *,
    is_commit: bool = False,
    epoch: int = 0,
    coordinator_epoch: int = 0,
) -> int:
    result = log.append_marker(
        producer_id, epoch, is_commit=is_commit, coordinator_epoch=coordinator_epoch, now_ms=NOW
    )
    assert result.error_code == 0, result
    return result.base_offset


def aborted(log: PartitionLog, offset: int = 0, max_bytes: int = 1 << 20) -> list[tuple[int, int]] | None:
    result = log.read(offset, max_bytes, read_committed=True, must_return_one_batch=True)
    assert result.error_code == 0
    return result.aborted


def test_a_marker_is_one_control_record_at_one_offset(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    begin(log, 7)

    offset = end(log, 7, is_commit=True, epoch=1, coordinator_epoch=5)

    result = log.read(offset, 1 << 20, must_return_one_batch=True)
    assert result.records is not None
    data = result.records.read()
    ((position, header),) = split_batches(data, 0, len(data)).batches
    (record,) = read_records(data, position)
    assert (offset, header.base_offset, header.last_offset, log.log_end_offset) == (3, 3, 3, 4)
    assert (header.is_control, header.is_transactional, header.base_sequence) == (True, True, -1)
    assert (header.producer_id, header.producer_epoch) == (7, 1)
    assert read_marker(record) == TransactionMarker(is_commit=True, coordinator_epoch=5)


def test_a_commit_lets_readers_pass_and_an_abort_names_what_to_skip(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    begin(log, 7)
    begin(log, 8)
    append(log)
    assert log.last_stable_offset == 0

    end(log, 8)
    assert log.last_stable_offset == 0
    end(log, 7, is_commit=True)

    assert log.last_stable_offset == log.log_end_offset == 11
    assert aborted(log) == [(8, 3)]
    assert aborted(log, 10) == []


def test_an_end_of_nothing_takes_an_offset_and_leaves_nothing_to_skip(tmp_path: Path) -> None:
    log = new_log(tmp_path)

    assert end(log, 7) == 0

    assert (log.log_end_offset, log.last_stable_offset, aborted(log)) == (1, 1, [])


def test_the_next_transaction_in_a_new_epoch_starts_at_sequence_0(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    begin(log, 7)
    end(log, 7, epoch=1)

    data = batch(producer_id=7, producer_epoch=1, base_sequence=3, is_transactional=True)
    refused = log.append(data, 0, len(data), NOW)

    assert refused.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert begin(log, 7, epoch=1) == 4
    assert log.open_transaction_of(7) == 4


def test_a_marker_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = new_log(tmp_path, disk=disk)
    begin(log, 7)
    disk.fail("pwrite", times=1)

    result = log.append_marker(7, 0, is_commit=True, coordinator_epoch=0, now_ms=NOW)

    assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (log.open_transaction_of(7), log.last_stable_offset) == (0, 0)


def test_a_decided_transaction_is_held_back_until_its_marker_is_replicated(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.follows_log_end = False
    begin(log, 7)
    end(log, 7)

    log.advance_high_watermark(3)
    assert log.last_stable_offset == 0
    log.advance_high_watermark(4)
    assert log.last_stable_offset == 4


def test_deleting_records_of_an_open_transaction_moves_where_it_holds_readers_back(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    begin(log, 7)
    append(log)

    assert log.delete_records_before(4) == (0, 4)

    assert log.last_stable_offset == 4
    end(log, 7)
    assert log.last_stable_offset == 7


@pytest.mark.parametrize("is_clean", [True, False])
def test_open_and_aborted_transactions_survive_a_restart(tmp_path: Path, is_clean: bool) -> None:
    log = new_log(tmp_path, segment_bytes=600)
    begin(log, 7)
    begin(log, 8)
    for _ in range(10):
        append(log)
    end(log, 8)
    if is_clean:
        log.save()
        log.sync()

    again = reopened(log, segment_bytes=600)

    assert (again.open_transaction_of(7), again.last_stable_offset) == (0, 0)
    end(again, 7)
    assert aborted(again) == [(7, 0), (8, 3)]


def test_truncation_takes_the_end_of_a_transaction_back(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    begin(log, 7)
    marker = end(log, 7)
    log.save_indexes()

    log.truncate_to(marker, NOW)

    assert (log.open_transaction_of(7), log.last_stable_offset) == (0, 0)
    end(log, 7, is_commit=True)
    assert aborted(log) == []


def test_a_transaction_over_many_segments_is_named_in_each_of_them(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=600)
    for number in range(12):
        begin(log, 7, sequence=3 * number)
    end(log, 7)
    assert log.segment_count >= 3

    assert {tuple(aborted(log, offset, 100) or ()) for offset in range(36)} == {((7, 0),)}


@pytest.mark.parametrize("damage", ["overwritten", "all indexes gone"])
def test_a_lost_transaction_index_is_built_again(tmp_path: Path, damage: str) -> None:
    log = new_log(tmp_path, segment_bytes=600)
    for number in range(6):
        begin(log, 7, sequence=3 * number)
    end(log, 7)
    for _ in range(8):
        append(log)
    log.save()
    log.sync()
    (index,) = Path(log.path).glob("*.txnindex")
    if damage == "overwritten":
        index.write_bytes(b"\xff" * 34)
    else:
        for each in Path(log.path).glob("*.*index"):
            each.unlink()

    again = reopened(log, segment_bytes=600)

    assert aborted(again) == [(7, 0)]


def test_a_sealed_segment_s_index_goes_with_it(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=600)
    begin(log, 7)
    end(log, 7)
    for _ in range(8):
        append(log)
    assert list(Path(log.path).glob("*.txnindex"))

    log.delete_records_before(log.log_end_offset)
    log.apply_retention(NOW)

    assert not list(Path(log.path).glob("*.txnindex"))
