"""A look-up through an index finds what a walk over the whole log finds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from riverlog.log.disk import Disk
from riverlog.log.open_files import OpenFiles
from riverlog.log.segment import Segment
from riverlog.protocol.records import Record, build_batch

BASE = 1000
BATCHES = st.lists(
    st.tuples(
        st.integers(1, 5),  # records
        st.integers(0, 3),  # offsets left out before it, as compaction does
        st.integers(0, 120),  # bytes of each value
        st.integers(0, 100),  # timestamp
    ),
    min_size=1,
    max_size=40,
)


def grown(
    directory: str, batches: list[tuple[int, int, int, int]], interval: int
) -> tuple[Segment, list[tuple[int, int, int, int]]]:
    """The segment, and (position, first offset, last offset, largest timestamp) of each batch."""
    disk = Disk()
    segment = Segment.create(disk, OpenFiles(disk, 4), directory, BASE, 0)
    offset, walked = BASE, []
    for count, hole, size, timestamp in batches:
        offset += hole
        records = [Record(offset + n, timestamp, None, bytes(size)) for n in range(count)]
        data = build_batch(records, base_offset=offset)
        disk.pwrite(segment.open().fd, data, segment.size)
        walked.append((segment.size, offset, offset + count - 1, timestamp))
        segment.note_batch(len(data), offset + count - 1, timestamp, interval)
        offset += count
    return segment, walked


@settings(max_examples=60, deadline=None)
@given(BATCHES, st.integers(0, 600), st.booleans(), st.data())
def test_index_look_ups_equal_a_walk(
    batches: list[tuple[int, int, int, int]], interval: int, is_reopened: bool, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        segment, walked = grown(directory, batches, interval)
        if is_reopened:
            segment.seal()
            disk = Disk()
            size = Path(segment.log_path).stat().st_size
            segment = Segment(disk, OpenFiles(disk, 4), directory, BASE, size=size, created_ms=0)
            assert segment.resume() == walked[-1][2] + 1
        last = walked[-1][2]

        offset = data.draw(st.integers(BASE, last + 2))
        expected = next((position for position, _, end, _ in walked if end >= offset), None)
        found = segment.find(offset)
        assert (found[0] if found else None) == expected

        timestamp = data.draw(st.integers(0, 101))
        start = data.draw(st.integers(BASE, last + 1))
        expected = next(
            (position for position, _, end, time in walked if time >= timestamp and end >= start), None
        )
        by_time = segment.find_timestamp(timestamp, start)
        assert (by_time[0] if by_time else None) == expected

        begin = data.draw(st.sampled_from([position for position, *_ in walked]))
        limit = data.draw(st.integers(begin, segment.size))
        boundaries = [position for position, *_ in walked] + [segment.size]
        boundary, next_offset = segment.boundary_at_most(begin, limit)
        assert boundary == max(each for each in boundaries if each <= limit)
        if boundary < segment.size:
            before = [end + 1 for position, _, end, _ in walked if position < boundary]
            beginning = next(first for position, first, _, _ in walked if position == boundary)
            assert next_offset in (beginning, before[-1] if before else beginning)
