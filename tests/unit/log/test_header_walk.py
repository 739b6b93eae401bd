from pathlib import Path

import pytest

from riverlog.errors import CorruptBatch
from riverlog.log import header_walk
from riverlog.log.disk import READ
from riverlog.log.header_walk import ScannedRun, scan_batches, walk_headers
from riverlog.log.open_files import LogFile
from riverlog.protocol.batches import WalkStop, patch_offset_and_epoch
from riverlog.protocol.records import Record, build_batch
from tests.batch_builders import batch, with_header
from tests.faulty_disk import FaultyDisk


def log_of(directory: Path, *batches: bytes, disk: FaultyDisk) -> tuple[LogFile, int]:
    path = directory / "a.log"
    path.write_bytes(b"".join(batches))
    return LogFile(disk.open(str(path), READ), str(path), disk.close), path.stat().st_size


def numbered(count: int, *, size: int = 10) -> list[bytes]:
    """Batches of one record each, with rising offsets."""
    made = []
    for offset in range(count):
        data = batch(1) if size < 100 else with_padding(size)
        patch_offset_and_epoch(data, 0, offset, 0)
        made.append(bytes(data))
    return made


def with_padding(size: int) -> bytearray:
    return build_batch([Record(0, 1, None, b"x" * size)])


def offsets(runs: list[ScannedRun]) -> list[int]:
    return [header.base_offset for run in runs for _position, header in run.batches]


@pytest.mark.parametrize("size", [10, 5_000, 100_000])
def test_a_walk_gives_every_header_with_its_position(tmp_path: Path, size: int) -> None:
    disk = FaultyDisk()
    batches = numbered(20, size=size)
    file, end = log_of(tmp_path, *batches, disk=disk)

    walked = list(walk_headers(disk, file, 0, end))

    assert [header.base_offset for _, header in walked] == list(range(20))
    assert [position for position, _ in walked] == [sum(map(len, batches[:n])) for n in range(20)]


def test_a_walk_over_small_batches_reads_many_at_once_and_over_large_ones_not_their_records(
    tmp_path: Path,
) -> None:
    disk = FaultyDisk()
    small, small_end = log_of(tmp_path, *numbered(100), disk=disk)
    list(walk_headers(disk, small, 0, small_end))
    reads_of_small = disk.calls["pread"]
    large, large_end = log_of(tmp_path, *numbered(5, size=1_000_000), disk=disk)

    list(walk_headers(disk, large, 0, large_end))

    assert reads_of_small == 1
    assert disk.calls["pread"] - reads_of_small == 5


def test_a_walk_stops_with_an_error_where_no_batch_is(tmp_path: Path) -> None:
    disk = FaultyDisk()
    good = numbered(2)
    file, end = log_of(tmp_path, *good, bytes(200), disk=disk)

    with pytest.raises(CorruptBatch, match=rf"a.log at byte {sum(map(len, good))}"):
        list(walk_headers(disk, file, 0, end))


def test_a_walk_stops_with_an_error_inside_a_header(tmp_path: Path) -> None:
    disk = FaultyDisk()
    file, end = log_of(tmp_path, *numbered(2), b"\0" * 30, disk=disk)

    with pytest.raises(CorruptBatch, match="inside a batch header"):
        list(walk_headers(disk, file, 0, end))


@pytest.mark.parametrize("piece", [1, 50, 100, 333, 4096, 1 << 20])
def test_a_scan_finds_all_batches_whatever_the_size_of_a_piece(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(header_walk, "SCAN_BYTES", piece)
    disk = FaultyDisk()
    file, end = log_of(tmp_path, *numbered(30), *numbered(3, size=2_000), disk=disk)

    runs = list(scan_batches(disk, file, 0, end))

    assert offsets(runs) == [*range(30), *range(3)]
    assert (runs[-1].end, runs[-1].stop) == (end, WalkStop.END)


@pytest.mark.parametrize("piece", [100, 333, 1 << 20])
@pytest.mark.parametrize(
    ("tail", "stop"),
    [
        (numbered(1)[0][:-1], WalkStop.TORN_BATCH),
        (numbered(1)[0][:40], WalkStop.TORN_HEADER),
        (bytes(500), WalkStop.BAD_MAGIC),
        (bytes(with_header(batch(1), crc=1)) + numbered(1)[0], WalkStop.BAD_CRC),
    ],
)
def test_a_scan_ends_before_the_first_batch_that_is_not_whole_and_valid(
    tmp_path: Path, piece: int, tail: bytes, stop: WalkStop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(header_walk, "SCAN_BYTES", piece)
    disk = FaultyDisk()
    good = numbered(10)
    file, end = log_of(tmp_path, *good, tail, disk=disk)

    runs = list(scan_batches(disk, file, 0, end))

    assert offsets(runs) == list(range(10))
    assert (runs[-1].end, runs[-1].stop) == (sum(map(len, good)), stop)


def test_a_batch_that_claims_gigabytes_is_torn_and_costs_no_memory(tmp_path: Path) -> None:
    disk = FaultyDisk()
    giant = with_header(batch(1), batch_length=2**31 - 1, crc=0)
    file, end = log_of(tmp_path, *numbered(1), bytes(giant), disk=disk)

    runs = list(scan_batches(disk, file, 0, end))

    assert runs[-1].stop is WalkStop.TORN_BATCH
    assert len(runs[-1].buffer) <= end


def test_an_empty_range_holds_nothing(tmp_path: Path) -> None:
    disk = FaultyDisk()
    file, _ = log_of(tmp_path, disk=disk)

    assert offsets(list(scan_batches(disk, file, 0, 0))) == []
    assert list(walk_headers(disk, file, 0, 0)) == []
