"""A version brought to an exact position of its input, and left there at rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from riverlog.errors import RiverlogError
from riverlog.pipelines.jobs.checkpoint import Position, is_at_or_after, position_of
from riverlog.pipelines.jobs.limits import until
from riverlog.pipelines.jobs.measuring import Tally
from riverlog.pipelines.jobs.preparing import Cluster, Prepared
from riverlog.pipelines.jobs.running import Running, start
from riverlog.pipelines.jobs.state_directory import VersionState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_SECONDS = 1
REPORT_SECONDS = 5.0


class NotSettled(RiverlogError):
    """A version does not rest at a position at which another can take over: says why."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Where a version rests: how far each of its topics was read."""

    position: Position
    batch: int


def rest_of(state: VersionState) -> Rest:
    """Tell where a version that does not run has come to rest. Raises `NotSettled`."""
    contract = state.contract()
    if contract is None:
        raise NotSettled(f"{state.title} was never started from {state.directory}")
    progress = state.progress()
    if not progress.is_settled(moves_with_watermark=contract.moves_with_watermark):
        raise NotSettled(
            f"{state.title} did not end at the end of a batch: it was killed, or had to stop in time. Run "
            "it once "
            "more with the file that has it (`riverlog run`), and let it be stopped"
        )
    return Rest(position_of(progress.offsets), progress.done)


def position_now(state: VersionState) -> Position:
    """Tell how far a version has come in what it has finished, also while it runs."""
    return position_of(state.progress().offsets)


def advance(
    spark: SparkSession,
    prepared: Prepared,
    cluster: Cluster,
    position: Position,
    report: Callable[[Tally], None],
) -> None:
    """Run a version, whose state the caller has locked, until it has read up to this position and rests.

    Raises `RiverlogError` with Spark's reason where it fails.
    """
    shared = _shared(prepared, position)
    running = start(spark, prepared, cluster, limits=until(shared), until_caught_up=True)
    try:
        _wait(running, report)
    finally:
        if running.is_active:
            running.handle.stop()
        prepared.state.limit(None)
    failure = running.failure()
    if failure:
        raise RiverlogError(f"{prepared.state.title} failed: {failure}")


def is_there(state: VersionState, prepared: Prepared, position: Position) -> bool:
    """Say whether a version has read up to a position, of what it reads at all."""
    return is_at_or_after(position_now(state), _shared(prepared, position))


def _shared(prepared: Prepared, position: Position) -> Position:
    """What of a position is about sources that this version reads too, from the same topics."""
    reads = {source.name: source.reads for source in prepared.contract.sources}
    return {
        name: topics
        for name, topics in position.items()
        if name in reads and all(topic in reads[name].split(",") for topic in topics)
    }


def _wait(running: Running, report: Callable[[Tally], None]) -> None:
    told_at = monotonic()
    while not running.handle.awaitTermination(LOOK_SECONDS):
        if monotonic() - told_at >= REPORT_SECONDS:
            running.look()
            report(running.tally)
            told_at = monotonic()
    running.look()
    report(running.tally)
