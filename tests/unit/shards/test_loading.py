"""Loading: every record there is, across holes, transactions, other kinds and damage."""

from __future__ import annotations

import logging
from typing import cast

import pytest

from riverlog.config import GroupSettings
from riverlog.errors import StorageError
from riverlog.groups.machine import GroupMachine
from riverlog.groups.records import CommittedOffset, GroupRecord, OffsetCommit, encode
from riverlog.groups.surroundings import Surroundings
from riverlog.log import PartitionLog
from riverlog.protocol.control_records import TransactionMarker, build_marker_batch
from riverlog.protocol.records import Record, build_batch
from riverlog.shards.loading import load
from tests.unit.shards.memory_log import MemoryLog

READ_BYTES = 1 << 20


def committing(offset: int, partition: int = 0) -> GroupRecord:
    return OffsetCommit("g", "t", partition, CommittedOffset(offset, -1, "", 0))


def record(group_record: GroupRecord, offset: int = -1) -> Record:
    return Record(offset, 0, *encode(group_record))


def loaded(log: MemoryLog, read_bytes: int = READ_BYTES) -> dict[int, int]:
    """Load the log into a new machine; gives what is committed, by partition."""
    machine = GroupMachine(Surroundings(GroupSettings()))
    for _ in load(cast(PartitionLog, log), machine, read_bytes):
        pass
    return {partition: value.offset for _, partition, value in machine.offsets.of_group("g")}


@pytest.mark.parametrize("read_bytes", [1, 200, READ_BYTES])
def test_all_batches_are_replayed_however_few_are_read_at_a_time(read_bytes: int) -> None:
    log = MemoryLog()
    for offset in range(10):
        log.put(build_batch([record(committing(offset, offset % 3))], base_offset=offset))

    assert loaded(log, read_bytes) == {0: 9, 1: 7, 2: 8}


def test_a_compacted_log_has_holes() -> None:
    log = MemoryLog()
    log.log_start_offset = 3
    log.put(build_batch([record(committing(1), 5)], base_offset=3, keep_offsets=True, last_offset=9))
    log.put(build_batch([record(committing(2, 1), 40)], base_offset=40, keep_offsets=True))

    assert loaded(log) == {0: 1, 1: 2}


def test_transactions_count_once_they_are_committed() -> None:
    log = MemoryLog()
    for place, (producer_id, is_commit) in enumerate([(7, True), (8, False)]):
        log.put(
            build_batch(
                [record(committing(producer_id, place))],
                base_offset=2 * place,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=0,
                is_transactional=True,
            )
        )
        marker = TransactionMarker(is_commit, 0)
        log.put(
            build_marker_batch(
                marker, producer_id=producer_id, producer_epoch=0, timestamp=0, base_offset=2 * place + 1
            )
        )

    assert loaded(log) == {0: 7}


def test_other_kinds_of_groups_are_named_and_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    log = MemoryLog()
    log.put(build_batch([Record(-1, 0, b"\0\x0b\0\x01g", b"\0\0"), record(committing(5))]))

    with caplog.at_level(logging.WARNING):
        found = loaded(log)

    assert found == {0: 5}
    assert "[11]" in caplog.text


def test_a_damaged_record_costs_itself_alone(caplog: pytest.LogCaptureFixture) -> None:
    log = MemoryLog()
    key, _ = encode(committing(5))
    log.put(build_batch([record(committing(4)), Record(-1, 0, key, b"\0"), record(committing(6, 1))]))

    found = loaded(log)

    assert found == {0: 4, 1: 6}
    assert "the record at 1 is lost" in caplog.text


def test_what_cannot_be_read_to_its_end_is_not_loaded() -> None:
    log = MemoryLog()
    log.put(build_batch([record(committing(5))]))
    log.is_unreadable = True

    with pytest.raises(StorageError, match="cannot be read at offset 0"):
        loaded(log)


def test_a_torn_batch_is_not_taken_for_the_end() -> None:
    log = MemoryLog()
    log.put(build_batch([record(committing(5))]))
    log.batches[0] = log.batches[0][:-1]

    with pytest.raises(StorageError):
        loaded(log)
