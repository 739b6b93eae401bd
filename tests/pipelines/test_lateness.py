"""Late events, marked and parted."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from riverlog.pipelines import ColumnRefused, mark_late, write_split
from riverlog.pipelines.lateness import OBSERVED
from riverlog.testing.pipelines import Streams, at

SCHEMA = "sensor string, at timestamp, degrees double"


def test_what_the_watermark_has_passed_is_marked_counted_and_kept(riverlog_streams: Streams) -> None:
    source = riverlog_streams.source(SCHEMA, event_time="at", delay=timedelta(minutes=1))
    output = riverlog_streams.start(source.frame.transform(mark_late(by=["sensor"], event_time="at")))

    source.feed(("a", "10:00:00", 1.0), ("b", None, 2.0))
    assert output.take() == [("a", at("10:00:00"), 1.0, False), ("b", None, 2.0, False)]
    source.advance("10:05:00")
    source.feed(("a", "10:05:00", 3.0), ("a", "10:05:00.000001", 4.0), ("a", "10:04:00", 5.0))

    assert sorted(row[2:] for row in output.take()) == [(3.0, True), (4.0, False), (5.0, True)]
    counted = [progress.observedMetrics.get(OBSERVED) for progress in output.query.recentProgress]
    assert sum(row.events for row in counted if row) == 5
    assert sum(row.late for row in counted if row) == 2
    assert output.dropped() == 0


def test_both_halves_are_written_each_by_its_writer(riverlog_streams: Streams, tmp_path: Path) -> None:
    frame = riverlog_streams.spark.createDataFrame(
        [(1, False), (2, True), (3, False)], "n int, is_late boolean"
    )
    written: dict[str, list[int]] = {}
    write = write_split(
        lambda half: written.update(on_time=[row.n for row in half.collect()]),
        lambda half: written.update(late=[row.n for row in half.collect()]),
    )

    write(frame, 0)

    assert written == {"on_time": [1, 3], "late": [2]}
    with pytest.raises(ColumnRefused, match="flag='is_late' names no column"):
        write(frame.drop("is_late"), 1)


def test_a_frame_without_watermark_is_refused(riverlog_streams: Streams) -> None:
    with pytest.raises(ColumnRefused, match="has no watermark"):
        riverlog_streams.source(SCHEMA).frame.transform(mark_late(by=["sensor"], event_time="at"))
