from pathlib import Path

import pytest

from riverlog.log.open_files import FileSlice
from riverlog.log.segment_chain import PLACES_MAX, SegmentChain
from riverlog.protocol.batches import read_header
from tests.batch_builders import batch
from tests.faulty_disk import FaultyDisk
from tests.log_builders import append, new_log

SIZE = len(batch())
END = 30


def chain(directory: Path, disk: FaultyDisk | None = None) -> SegmentChain:
    """Ten batches of three records, three batches per segment."""
    log = new_log(directory, disk=disk, segment_bytes=SIZE * 3)
    for _ in range(10):
        append(log)
    return log._chain


def base_of(found: tuple[FileSlice, int] | None) -> int:
    assert found is not None
    return read_header(found[0].read()).base_offset


@pytest.mark.parametrize("offset", range(END))
def test_a_slice_begins_with_the_batch_that_holds_the_offset(tmp_path: Path, offset: int) -> None:
    found = chain(tmp_path).slice(offset, END, END, SIZE, must_return_one_batch=True)

    assert base_of(found) == offset // 3 * 3


def test_a_slice_ends_with_its_segment(tmp_path: Path) -> None:
    made = chain(tmp_path)

    found = made.slice(3, END, END, 10**6, must_return_one_batch=True)

    assert found is not None
    assert (found[0].length, found[1]) == (2 * SIZE, 9)


@pytest.mark.parametrize("limit", [3, 6, 9, 12, 27])
def test_a_slice_ends_before_the_limit(tmp_path: Path, limit: int) -> None:
    found = chain(tmp_path).slice(limit - 1, limit, END, 10**6, must_return_one_batch=True)

    assert found is not None
    assert (found[0].length, found[1]) == (SIZE, limit)


def test_the_place_where_a_read_ended_is_remembered_only_so_long_as_it_is_right(tmp_path: Path) -> None:
    disk = FaultyDisk()
    made = chain(tmp_path, disk)
    made.slice(0, END, END, SIZE, must_return_one_batch=True)
    disk.calls.clear()

    found = made.slice(3, END, END, SIZE * 2, must_return_one_batch=True)
    assert base_of(found) == 3
    assert disk.calls["pread"] == 0
    dropped = made.drop_first(1)

    assert len(dropped) == 1
    assert made.slice(3, END, END, SIZE, must_return_one_batch=True) is not None
    assert base_of(made.slice(9, END, END, SIZE, must_return_one_batch=True)) == 9


def test_places_are_bounded(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for _ in range(PLACES_MAX * 2):
        append(log)

    for offset in range(0, PLACES_MAX * 6, 3):
        log._chain.slice(offset, PLACES_MAX * 6, PLACES_MAX * 6, SIZE, must_return_one_batch=True)

    assert len(log._chain._places) == PLACES_MAX


def test_a_batch_is_found_in_whatever_segment_it_is(tmp_path: Path) -> None:
    made = chain(tmp_path)

    for offset in range(END):
        found = made.find(offset)
        assert found is not None
        assert found[0].base_offset == offset // 9 * 9
        assert found[2].base_offset == offset // 3 * 3

    assert made.find(END) is None


def test_segments_end_where_the_next_one_begins(tmp_path: Path) -> None:
    made = chain(tmp_path)

    assert [made.end_offset_of(number, END) for number in range(4)] == [9, 18, 27, 30]


def test_segments_can_be_taken_from_both_ends(tmp_path: Path) -> None:
    made = chain(tmp_path)

    assert [segment.base_offset for segment in made.drop_after(2)] == [27]
    assert made.active.base_offset == 18
    assert [segment.base_offset for segment in made.drop_first(2)] == [0, 9]
    assert [segment.base_offset for segment in made] == [18]
