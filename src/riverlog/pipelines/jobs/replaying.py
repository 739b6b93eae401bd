"""A new version run from the beginning, until it has read as far as the old; then their outputs compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from riverlog.client import Span
from riverlog.pipelines.jobs.advancing import advance, is_there, position_now
from riverlog.pipelines.jobs.app import App, AppRefused, Query
from riverlog.pipelines.jobs.app_run import make_topic
from riverlog.pipelines.jobs.board import Board
from riverlog.pipelines.jobs.choosing import current_version
from riverlog.pipelines.jobs.comparison import Level
from riverlog.pipelines.jobs.measuring import Tally
from riverlog.pipelines.jobs.outputs import OutputComparison, Record, compare_outputs
from riverlog.pipelines.jobs.pointers import topic_of
from riverlog.pipelines.jobs.preparing import Cluster, prepare, version_of
from riverlog.pipelines.jobs.real_time import hold_refusal
from riverlog.pipelines.jobs.state_directory import VersionState, versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSES_MAX = 20
"""How often the old version's position is caught up with while it moves on."""


@dataclass(frozen=True, slots=True)
class Replay:
    """How a replay ended: which versions, whether the new one has reached the old, and their outputs."""

    query: Query
    old_version: int
    has_caught_up: bool
    comparison: OutputComparison


def replay(
    spark: SparkSession,
    app: App,
    name: str,
    version: int | None,
    *,
    root: str,
    cluster: Cluster,
    board: Board,
    report: Callable[[Tally], None],
) -> Replay:
    """Run a version of a query up to where the current one is, and compare what they put out.

    A replay that was interrupted is gone on with. Raises `AppRefused` where there is nothing to replay
    beside.
    """
    query = version_of(app, name, version)
    old_version = version_beside(board, query, root)
    state = VersionState(root, app.name, name, query.version)
    old = VersionState(root, app.name, name, old_version)
    prepared = prepare(spark, query, state, cluster)
    against = hold_refusal(old.title, old.contract()) or hold_refusal(query.title, prepared.contract)
    if against:
        raise AppRefused(against)
    verdict = prepared.verdict()
    if verdict is not None and verdict.level >= Level.MIGRATION:
        raise AppRefused(
            f"{query.title} was changed since its replay began: take that back with `riverlog pipelines "
            "retire "
            f"{app.name}/{name} --version {query.version}`, and replay anew"
        )
    with state.locked():
        make_topic(board, query)
        for _ in range(PASSES_MAX):
            advance(spark, prepared, cluster, position_now(old), report)
            # The old one may have gone on meanwhile; each pass has less to catch up with.
            if is_there(state, prepared, position_now(old)):
                break
        has_caught_up = is_there(state, prepared, position_now(old))
    old_topic = topic_of(query.output or "", old_version)
    comparison = compare_outputs(lambda: _records(board, old_topic), lambda: _records(board, query.topic))
    return Replay(query, old_version, has_caught_up, comparison)


def version_beside(board: Board, query: Query, root: str) -> int:
    """The version that readers of a query's output are on. Raises `AppRefused`."""
    if query.output is None:
        raise AppRefused(
            f"{query.title} has no output of its own, so there is nothing to compare and to switch"
        )
    pointer = board.refresh().pointer(query.output)
    current = current_version(
        None if pointer is None else pointer.version,
        [each for each in versions(root, query.app, query.name) if each != query.version],
    )
    if current is None or current == query.version:
        raise AppRefused(
            f"there is no other version of {query.name} that {query.title} could be run beside: `riverlog "
            "run` starts it"
        )
    if not VersionState(root, query.app, query.name, current).exists:
        raise AppRefused(
            f"readers of {query.output} are on version {current}, whose state is not in {root}: name its "
            "directory "
            "with --state"
        )
    return current


def _records(board: Board, topic: str) -> Iterator[Record]:
    """The committed records of a topic, as of now."""
    bounds = board.admin.bounds(topic)
    spans = {index: Span(each.earliest, each.latest) for index, each in bounds.items()}
    with closing(board.reader(topic, spans)) as reader:
        for batch in reader.batches():
            for record in batch:
                yield record.key, record.value
