"""What a task leaves behind when its batch is written, and what follows when it runs again. Pure.

A task has a transactional id and a group of its own, named alike after the sink and the task's number. The
group's committed position in the marker topic is the number of the last batch that the task has written, and
beside it stands how many rows these were. Position and rows of the topic are of one transaction: either
both are there or neither.

    marker   none or a smaller number   ──▶ FREE        write
             this number                ──▶ WRITTEN     write nothing, if it is the same batch
             a larger number            ──▶ OVERTAKEN   a zombie's work, or a checkpoint that was set back

A batch counts as the same if the task has as many rows as when it was written. Spark promises more, that
a batch which runs again has the same tasks with the same rows; a program that was changed in between, or a
checkpoint that was edited, breaks that promise, and then rows would be missing or be there twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from riverlog.errors import RiverlogError

PREFIX = "riverlog-sink"
_ROWS = "rows="


class BatchChanged(RiverlogError):
    """A batch is in the sink, and the one that runs now under its number is another: ends the query."""


class BatchIncomplete(RiverlogError):
    """A batch ended without a report of each of its tasks: ends the query, which runs it again."""


class Standing(Enum):
    """How a batch stands to what its task has written."""

    FREE = "free"
    WRITTEN = "written"
    OVERTAKEN = "overtaken"


class Place(NamedTuple):
    """One task of one batch of one sink."""

    sink: str
    batch: int
    task: int

    @property
    def name(self) -> str:
        """The transactional id, and the group, of the task in all batches."""
        return f"{PREFIX}-{self.sink}-{self.task}"

    def __str__(self) -> str:
        return f"task {self.task} of batch {self.batch} of the sink {self.sink}"


class Marker(NamedTuple):
    """What a task has written last. `rows` is None where somebody else set the position."""

    batch: int
    rows: int | None

    @property
    def note(self) -> str:
        """What stands beside the position."""
        return f"{_ROWS}{self.rows}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a task says to the driver at its end."""

    place: Place
    rows: int
    is_repetition: bool = False
    """Whether the rows were there already."""


def marker_of(position: int, note: str | None) -> Marker | None:
    """Read a committed position and what stands beside it; a negative position stands for none."""
    if position < 0:
        return None
    text = (note or "").removeprefix(_ROWS)
    return Marker(position, int(text) if (note or "").startswith(_ROWS) and text.isdigit() else None)


def standing(place: Place, marker: Marker | None) -> Standing:
    """Say what a task that has fenced its predecessor finds."""
    if marker is None or marker.batch < place.batch:
        return Standing.FREE
    return Standing.WRITTEN if marker.batch == place.batch else Standing.OVERTAKEN


def check_overtaken(place: Place, marker: Marker) -> None:
    """Refuse to pass over a batch that lies behind what is written."""
    raise BatchChanged(
        f"{place}: batch {marker.batch} is written already. If the checkpoint was set back on purpose, so "
        "that batches are computed anew, give the sink another `sinkId`, and they are written again; with "
        "`failOnChangedBatch=false` they are passed over"
    )


def check_same(place: Place, marker: Marker, rows: int) -> None:
    """Refuse to pass over a batch that is not the one which was written."""
    if marker.rows is not None and marker.rows != rows:
        raise BatchChanged(
            f"{place} has {rows} rows, and had {marker.rows} when it was written: a batch that was not "
            "finished was changed before it ran again (the program, the number of its tasks, an option of "
            "its source, or the checkpoint), so rows would be missing or be there twice. Finish the batch "
            "with what it began with; with `failOnChangedBatch=false` the task's part stands as written first"
        )


def check_reports(reports: Sequence[Report | None], batch: int) -> int:
    """Check that each task of a batch has reported, once and for this batch; give the number of rows."""
    tasks = sorted(report.place.task for report in reports if report is not None)
    if tasks != list(range(len(reports))):
        raise BatchIncomplete(f"batch {batch}: {len(reports)} tasks ran, and reports came from {tasks}")
    assert all(report is not None and report.place.batch == batch for report in reports)
    return sum(report.rows for report in reports if report is not None)
