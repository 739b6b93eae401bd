from pathlib import Path

import pytest

from riverlog.errors import CorruptBatch
from riverlog.log.segment_chain import SegmentChain
from riverlog.log.timestamp_lookup import first_since, latest
from riverlog.protocol.compression import Compression
from riverlog.protocol.records import Record, build_batch
from tests.batch_builders import with_header
from tests.log_builders import NOW, append, new_log


def chain(directory: Path, *batches: tuple[int, ...], codec: Compression = Compression.NONE) -> SegmentChain:
    """A batch per tuple of timestamps, each in a segment of its own."""
    log = new_log(directory, segment_bytes=100)
    for timestamps in batches:
        log.settings = type(log.settings)(segment_bytes=1000)
        append(
            log,
            build_batch(
                [Record(n, NOW + time, b"", b"") for n, time in enumerate(timestamps)], compression=codec
            ),
        )
        log.settings = type(log.settings)(segment_bytes=100)
    return log._chain


@pytest.mark.parametrize("codec", list(Compression))
def test_the_first_record_that_is_not_older_is_found_in_every_codec(
    tmp_path: Path, codec: Compression
) -> None:
    made = chain(tmp_path, (10, 30, 20), (5, 40), codec=codec)

    found = [first_since(made, NOW + time, 0) for time in (0, 10, 11, 30, 31, 41)]

    assert [each.offset if each else None for each in found] == [0, 0, 1, 1, 4, None]


def test_times_that_go_back_do_not_hide_an_earlier_offset(tmp_path: Path) -> None:
    made = chain(tmp_path, (100,), (10,), (50,))

    found = first_since(made, NOW + 40, 0)

    assert found is not None
    assert found.offset == 0


def test_the_search_begins_at_the_start_offset(tmp_path: Path) -> None:
    made = chain(tmp_path, (100, 90), (10,), (50,))

    assert first_since(made, NOW + 40, 1) == (1, NOW + 90, 0)
    assert first_since(made, NOW + 95, 1) is None
    assert first_since(made, NOW + 40, 2) == (3, NOW + 50, 0)


def test_the_largest_timestamp_is_looked_for_from_the_start_offset_on(tmp_path: Path) -> None:
    made = chain(tmp_path, (100, 90), (10,), (50,))

    assert latest(made, 0) == (0, NOW + 100, 0)
    assert latest(made, 1) == (1, NOW + 90, 0)
    assert latest(made, 2) == (3, NOW + 50, 0)


def test_records_without_a_timestamp_have_no_largest_one(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, build_batch([Record(0, -1, b"", b"")]))

    assert latest(log._chain, 0) is None


def test_records_that_cannot_be_decoded_are_named_by_file_and_position(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    good = build_batch([Record(0, NOW, b"", b"")])
    append(log, bytearray(good))
    append(log, with_header(good[:61] + b"\xff" * 20, batch_length=69))

    with pytest.raises(CorruptBatch, match=rf"0.log at byte {len(good)}"):
        first_since(log._chain, NOW, 1)
