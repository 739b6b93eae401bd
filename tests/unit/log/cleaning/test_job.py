from dataclasses import replace

import pytest

from riverlog.log.cleaning.job import Job, LastBatch
from riverlog.log.transaction_index import AbortedTransaction
from riverlog.protocol.batches import read_header
from riverlog.protocol.control_records import TransactionMarker, build_marker_batch
from riverlog.protocol.records import Record, build_batch

JOB = Job(
    directory='/data/with "quotes"\nand lines-0',
    segments=((0, 100), (20, 200)),
    first_dirty=5,
    end=30,
    now_ms=1,
    delete_retention_ms=2,
    segment_bytes=3,
    segment_index_bytes=4,
    index_interval_bytes=5,
    map_bytes=6,
    map_load_factor=0.9,
    io_bytes=7,
    bytes_per_second=1.7976931348623157e308,
)


@pytest.mark.parametrize(
    "job",
    [
        JOB,
        replace(
            JOB,
            last_batches=(LastBatch(7, 1, -1), LastBatch(2**62, 3, 9)),
            aborted_behind=(AbortedTransaction(1, 2, 3, 4),),
        ),
    ],
)
def test_a_job_is_one_line_and_reads_as_it_was_written(job: Job) -> None:
    line = job.encode()

    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert Job.decode(line) == job


def test_a_producers_last_batch_is_known_by_its_last_offset() -> None:
    header = read_header(build_batch([Record(0, 0, b"k", b"v")] * 3, base_offset=7, producer_id=5))

    assert LastBatch(5, 0, 9).is_in(header)
    assert not LastBatch(5, 0, 8).is_in(header)
    assert not LastBatch(5, -1, -1).is_in(header)


def test_a_producer_that_wrote_nothing_in_its_epoch_is_known_by_the_marker_that_began_it() -> None:
    marker = read_header(
        build_marker_batch(TransactionMarker(False, 0), producer_id=5, producer_epoch=3, timestamp=0)
    )

    assert LastBatch(5, 3, -1).is_in(marker)
    assert not LastBatch(5, 2, -1).is_in(marker)
