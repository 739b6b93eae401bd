"""What a task finds of what it wrote, and what follows."""

from __future__ import annotations

import pytest

from riverlog.pipelines.sinks.markers import (
    BatchChanged,
    BatchIncomplete,
    Marker,
    Place,
    Report,
    Standing,
    check_overtaken,
    check_reports,
    check_same,
    marker_of,
    standing,
)

HERE = Place("q", 7, 3)


def test_a_task_is_called_the_same_in_all_batches() -> None:
    assert HERE.name == HERE._replace(batch=8).name == "riverlog-sink-q-3"


def test_a_marker_reads_as_it_was_written() -> None:
    marker = Marker(7, 120)

    assert marker_of(marker.batch, marker.note) == marker


@pytest.mark.parametrize("note", [None, "", "set by hand", "rows=", "rows=-1"])
def test_a_position_that_somebody_else_set_is_a_marker_without_rows(note: str | None) -> None:
    assert marker_of(7, note) == Marker(7, None)


def test_a_group_without_a_position_has_no_marker() -> None:
    assert marker_of(-1001, None) is None


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        (None, Standing.FREE),
        (Marker(6, 1), Standing.FREE),
        (Marker(2, 1), Standing.FREE),
        (Marker(7, 1), Standing.WRITTEN),
        (Marker(8, 1), Standing.OVERTAKEN),
    ],
)
def test_a_batch_is_written_unless_it_or_a_later_one_is_in(marker: Marker | None, expected: Standing) -> None:
    assert standing(HERE, marker) is expected


def test_a_batch_with_other_rows_than_it_was_written_with_is_refused() -> None:
    check_same(HERE, Marker(7, 12), 12)
    check_same(HERE, Marker(7, None), 5)

    with pytest.raises(BatchChanged, match="has 5 rows, and had 12"):
        check_same(HERE, Marker(7, 12), 5)


def test_a_batch_behind_the_last_is_refused_with_a_way_out() -> None:
    with pytest.raises(BatchChanged, match="another `sinkId`"):
        check_overtaken(HERE, Marker(8, 1))


def test_a_batch_is_whole_when_each_task_has_reported_once() -> None:
    reports = [Report(Place("q", 7, task), task) for task in (2, 0, 1)]

    assert check_reports(reports, 7) == 3
    assert check_reports([], 7) == 0


@pytest.mark.parametrize(
    "reports",
    [
        [Report(HERE._replace(task=0), 1), None],
        [Report(HERE._replace(task=0), 1), Report(HERE._replace(task=0), 1)],
        [Report(HERE._replace(task=1), 1)],
    ],
)
def test_a_batch_with_a_task_that_said_nothing_is_not_whole(reports: list[Report | None]) -> None:
    with pytest.raises(BatchIncomplete, match="batch 7"):
        check_reports(reports, 7)
