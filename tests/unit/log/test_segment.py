import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from riverlog.errors import CorruptBatch
from riverlog.log import names
from riverlog.log.disk import Disk
from riverlog.log.open_files import OpenFiles
from riverlog.log.segment import Segment
from riverlog.protocol.batches import patch_offset_and_epoch, read_header
from tests.batch_builders import BATCH_TIME_MS, batch
from tests.faulty_disk import FaultyDisk

BASE = 100
INTERVAL = 300


def grown(directory: Path, count: int, *, disk: Disk | None = None, per_batch: int = 3) -> Segment:
    """A segment of `count` batches, a second apart, with an index entry every third batch or so."""
    disk = disk or Disk()
    segment = Segment.create(disk, OpenFiles(disk, 10), str(directory), BASE, 0)
    for number in range(count):
        data = batch(per_batch, timestamp=BATCH_TIME_MS + 1000 * number)
        patch_offset_and_epoch(data, 0, BASE + per_batch * number, 0)
        disk.pwrite(segment.open().fd, data, segment.size)
        header = read_header(data)
        segment.note_batch(len(data), header.last_offset, header.max_timestamp, INTERVAL)
    return segment


def opened_again(segment: Segment) -> Segment:
    disk = Disk()
    size = Path(segment.log_path).stat().st_size
    return Segment(disk, OpenFiles(disk, 10), str(Path(segment.path).parent), BASE, size=size, created_ms=0)


def test_every_offset_is_found_in_the_batch_that_holds_it(tmp_path: Path) -> None:
    segment = grown(tmp_path, 50)
    size = segment.size // 50

    for offset in range(BASE, BASE + 150):
        found = segment.find(offset)
        assert found is not None
        assert found[0] == size * ((offset - BASE) // 3)

    assert segment.find(BASE + 150) is None


def test_a_sealed_segment_is_searched_with_its_index_not_through_all_of_it(tmp_path: Path) -> None:
    disk = FaultyDisk()
    segment = grown(tmp_path, 3000, disk=disk)
    segment.seal()
    disk.calls.clear()

    segment.find(BASE + 8000)

    assert disk.calls["pread"] < 20


def test_the_files_of_a_segment_are_named_by_its_base_offset(tmp_path: Path) -> None:
    grown(tmp_path, 1)

    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "00000000000000000100.index",
        "00000000000000000100.log",
        "00000000000000000100.timeindex",
    ]


def test_half_a_new_segment_is_taken_away_again(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.fail("open", path=names.TIME_INDEX)

    with pytest.raises(OSError, match="Input/output"):
        Segment.create(disk, OpenFiles(disk, 10), str(tmp_path), BASE, 0)

    assert list(tmp_path.iterdir()) == []


def test_reading_whole_batches_ends_at_the_last_that_fits(tmp_path: Path) -> None:
    segment = grown(tmp_path, 50)
    size = segment.size // 50

    assert segment.boundary_at_most(0, size * 10 + 1) == (size * 10, BASE + 30)
    assert segment.boundary_at_most(size * 4, size * 10) == (size * 10, BASE + 30)
    assert segment.boundary_at_most(size * 4, size * 5 - 1) == (size * 4, BASE + 12)
    assert segment.boundary_at_most(0, segment.size) == (segment.size, BASE + 150)


def test_a_timestamp_is_found_in_the_first_batch_that_reaches_it(tmp_path: Path) -> None:
    segment = grown(tmp_path, 50)
    size = segment.size // 50

    for number in (0, 1, 20, 49):
        found = segment.find_timestamp(BATCH_TIME_MS + 1000 * number, BASE)
        assert found is not None
        assert found[0] == size * number

    assert segment.find_timestamp(BATCH_TIME_MS + 49_003, BASE) is None


def test_what_was_counted_is_known_again_after_reopening(tmp_path: Path) -> None:
    segment = grown(tmp_path, 50)
    segment.seal()

    again = opened_again(segment)

    assert again.resume() == BASE + 150
    for name in (
        "size",
        "bytes_since_index_entry",
        "index_entries",
        "largest_timestamp",
        "largest_timestamp_offset",
        "first_timestamp",
    ):
        assert getattr(again, name) == getattr(segment, name), name


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b"\xff" * 64),
        lambda path: path.write_bytes(path.read_bytes()[:-8] + bytes.fromhex("00000090 7fffffff")),
        lambda path: path.write_bytes(path.read_bytes()[:-8] + bytes.fromhex("00000090 00000011")),
        lambda path: path.write_bytes(path.read_bytes()[:-8] + bytes.fromhex("00000090 ffffff00")),
        lambda path: path.write_bytes(bytes.fromhex("00000001 00000400")),
    ],
)
def test_an_offset_index_that_lies_is_built_again(
    tmp_path: Path, spoil: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    segment = grown(tmp_path, 50)
    segment.seal()
    good = Path(segment.offset_index.path).read_bytes()
    spoil(Path(segment.offset_index.path))

    again = opened_again(segment)
    if not again.has_indexes():
        again.rebuild_indexes(INTERVAL)

    with caplog.at_level(logging.WARNING):
        for offset in (BASE, BASE + 1, BASE + 74, BASE + 149):
            found = again.find(offset)
            assert found is not None
            assert found[1].base_offset == offset - (offset - BASE) % 3
    again.rebuild_indexes(INTERVAL)
    assert Path(segment.offset_index.path).read_bytes() == good


def test_a_cut_leaves_a_segment_as_if_the_rest_had_never_been(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "part").mkdir()
    cut = grown(tmp_path / "whole", 50)
    expected = grown(tmp_path / "part", 20)
    expected.save_indexes()

    cut.cut(cut.size // 50 * 20, BASE + 60)

    for name in ("size", "bytes_since_index_entry", "index_entries", "largest_timestamp"):
        assert getattr(cut, name) == getattr(expected, name), name
    for path, other in (
        (cut.offset_index.path, expected.offset_index.path),
        (cut.log_path, expected.log_path),
    ):
        assert Path(path).read_bytes() == Path(other).read_bytes()


def test_a_segment_that_ends_inside_a_batch_cannot_be_resumed(tmp_path: Path) -> None:
    segment = grown(tmp_path, 5)
    segment.seal()
    with Path(segment.log_path).open("r+b") as file:
        file.truncate(segment.size - 1)

    with pytest.raises(CorruptBatch, match="inside a batch"):
        opened_again(segment).resume(may_rebuild_indexes=False)


def test_without_timestamps_the_age_is_that_of_the_file(tmp_path: Path) -> None:
    segment = grown(tmp_path, 0)

    assert segment.largest_timestamp == -1
    assert segment.newest_ms() == Path(segment.log_path).stat().st_mtime_ns // 1_000_000
