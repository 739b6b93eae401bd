import os
from collections.abc import Callable
from pathlib import Path

import pytest

from riverlog.config import CleanerSettings, TopicSettings
from riverlog.errors import StorageError
from riverlog.log import Disk, PartitionLog
from riverlog.log.cleaning.assignment import Assignment, cleanable_of, fingerprint, is_compacted
from riverlog.log.cleaning.cleaning import Cleaning
from riverlog.log.cleaning.job import CleaningAborted, LastBatch, Replacement
from riverlog.log.cleaning.key_hashes import SEED_BYTES
from riverlog.log.cleaning.throttle import Throttle
from riverlog.protocol.records import Record, build_batch
from tests.log_builders import NOW, append, new_log, offsets, read_all, reopened

COMPACT = frozenset({"compact"})


def add(log: PartitionLog, value: bytes = b"1" * 100) -> None:
    """One more sealed segment, of the same key."""
    append(log, build_batch([Record(0, NOW, b"a", value)]))
    assert log.roll_if_due(NOW + (1 << 50))


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    made = new_log(tmp_path, cleanup_policy=COMPACT, segment_bytes=1 << 20)
    for _ in range(4):
        add(made)
    return made


def prepared(log: PartitionLog) -> tuple[Assignment, list[Replacement]]:
    """An assignment whose work is done and not yet in place."""
    assignment = Assignment(log, cleanable_of(log, NOW))
    cleaning = Cleaning(
        assignment.job(CleanerSettings(), NOW),
        Disk(),
        seed=os.urandom(SEED_BYTES),
        throttle=Throttle(1e18, now=lambda: 0.0, wait=lambda _seconds: None),
    )
    made: list[Replacement] = []
    cleaning.run(made.append)
    return assignment, made


def test_a_new_segment_takes_the_place_of_those_it_was_made_of(log: PartitionLog) -> None:
    assignment, made = prepared(log)
    reading = log.read(0, 1 << 20, must_return_one_batch=True)
    add(log, b"new")

    for replacement in made:
        assignment.put_in_place(replacement, NOW)

    assert [segment.base_offset for segment in log.segments] == [0, 4, 5]
    assert offsets(log) == [3, 4]
    # Who was about to send the old bytes still has them.
    assert reading.records is not None
    assert len(reading.records.read()) == reading.records.length > 0
    assert [record.offset for record in read_all(reopened(log, cleanup_policy=COMPACT))] == [3, 4]


def by_retention(log: PartitionLog) -> None:
    log.settings = TopicSettings(
        cleanup_policy=frozenset({"compact", "delete"}), segment_bytes=1 << 20, retention_bytes=300
    )
    assert log.apply_retention(NOW)


def by_truncation(log: PartitionLog) -> None:
    """The segments end up as long as they were, with another record in one of them."""
    log.truncate_to(2, NOW)
    add(log, b"2" * 100)
    add(log, b"3" * 100)


def by_closing(log: PartitionLog) -> None:
    log.close()


def by_failing(log: PartitionLog) -> None:
    log.fail(StorageError("the disk is gone"))


def by_policy(log: PartitionLog) -> None:
    log.settings = TopicSettings(segment_bytes=1 << 20)


@pytest.mark.parametrize("change", [by_retention, by_truncation, by_closing, by_failing, by_policy])
def test_what_changed_meanwhile_stays_as_it_is(
    log: PartitionLog, change: Callable[[PartitionLog], None]
) -> None:
    assignment, made = prepared(log)
    change(log)
    segments = log.segments

    with pytest.raises(CleaningAborted):
        assignment.put_in_place(made[0], NOW)

    assert log.segments == segments
    assert all(Path(segment.log_path).exists() for segment in segments)


def test_a_job_names_what_the_files_do_not_tell(log: PartitionLog) -> None:
    for sequence in (0, 1):
        data = build_batch(
            [Record(0, NOW, b"a", b"1")],
            producer_id=7,
            producer_epoch=2,
            base_sequence=sequence,
            is_transactional=True,
        )
        append(log, data)
    assert log.roll_if_due(NOW + (1 << 50))
    log.append_marker(7, 2, is_commit=False, coordinator_epoch=0, now_ms=NOW)
    log.append_marker(8, 5, is_commit=False, coordinator_epoch=0, now_ms=NOW)

    job = Assignment(log, cleanable_of(log, NOW)).job(
        CleanerSettings(
            log_cleaner_threads=2,
            log_cleaner_dedupe_buffer_size=1000,
            log_cleaner_io_buffer_size=500,
            log_cleaner_io_max_bytes_per_second=10.0,
            log_cleaner_io_buffer_load_factor=0.5,
        ),
        NOW,
    )

    assert job.end == 6
    assert [base_offset for base_offset, _ in job.segments] == [0, 1, 2, 3, 4]
    assert job.last_batches == (LastBatch(7, 2, 5), LastBatch(8, 5, -1))
    assert [tuple(each) for each in job.aborted_behind] == [(7, 4, 6, 7)]
    assert (job.map_bytes, job.io_bytes, job.bytes_per_second, job.map_load_factor) == (500, 250, 5.0, 0.5)


def test_only_compacted_logs_that_work_are_cleaned(log: PartitionLog) -> None:
    assert is_compacted(log)
    log.settings = TopicSettings(cleanup_policy=frozenset({"compact", "delete"}))
    assert is_compacted(log)
    log.settings = TopicSettings(cleanup_policy=frozenset({"delete"}))
    assert not is_compacted(log)
    log.settings = TopicSettings(cleanup_policy=COMPACT)
    log.fail(StorageError("the disk is gone"))
    assert not is_compacted(log)


def test_a_fingerprint_changes_with_the_sealed_segments_only(log: PartitionLog) -> None:
    before = fingerprint(log)
    append(log)
    assert fingerprint(log) == before
    add(log)
    assert fingerprint(log) != before
