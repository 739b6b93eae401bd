"""Readers of an output brought from one version to another, and versions that nobody reads taken away.

    the old one stops at the end of a batch        its input: position P      its output: ends
    the new one runs up to P, exactly, and rests                              its output: starts
    one record says: the old up to `ends`, then the new from `starts`

Both are locked from the first step to the last, so that nothing is added to either output in between.
Whatever fails before the record is written leaves readers where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from riverlog.client import UnknownTopic
from riverlog.pipelines.jobs.advancing import advance, is_there, position_now, rest_of
from riverlog.pipelines.jobs.app import App, AppRefused, Query
from riverlog.pipelines.jobs.app_run import make_topic, now_ms
from riverlog.pipelines.jobs.board import Board
from riverlog.pipelines.jobs.checkpoint import Position, is_at_or_after
from riverlog.pipelines.jobs.comparison import Level
from riverlog.pipelines.jobs.measuring import Tally
from riverlog.pipelines.jobs.pointers import Pointer, topic_of
from riverlog.pipelines.jobs.preparing import Cluster, Prepared, prepare, version_of
from riverlog.pipelines.jobs.real_time import hold_refusal
from riverlog.pipelines.jobs.records import ALIVE, Status
from riverlog.pipelines.jobs.state_directory import VersionState, versions
from riverlog.pipelines.jobs.stopping import stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Switch:
    """What a switch does, or did: `pointer` is the new one, None for a dry run."""

    query: Query
    old_version: int
    is_old_running: bool
    behind: int
    pointer: Pointer | None = None


@dataclass(frozen=True, slots=True)
class Retirement:
    """What is taken away with a version."""

    name: str
    version: int
    topic: str
    records: int
    directory: str


def switch(
    spark: SparkSession,
    app: App,
    name: str,
    to: int,
    *,
    root: str,
    cluster: Cluster,
    board: Board,
    stop_seconds: float,
    dry_run: bool,
    report: Callable[[Tally], None],
) -> Switch:
    """Let readers of a query's output go on with another version. Errors say what to do."""
    query = version_of(app, name, to)
    pointer = _pointer(board, query)
    if pointer.version == to:
        raise AppRefused(f"readers of {pointer.output} are on version {to} already")
    new, old = (VersionState(root, app.name, name, each) for each in (to, pointer.version))
    for state, version in ((old, pointer.version), (new, to)):
        if not state.exists:
            raise AppRefused(_no_state(root, name, version, is_new=state is new))
    prepared = _checked(prepare(spark, query, new, cluster))
    against = hold_refusal(old.title, old.contract()) or hold_refusal(query.title, prepared.contract)
    if against:
        raise AppRefused(against)
    status = board.known.status(app.name, name, pointer.version)
    is_running = status is not None and status.shown_state(now_ms()) in ALIVE
    behind = _distance(position_now(new), position_now(old))
    if dry_run:
        return Switch(query, pointer.version, is_running, behind)
    if is_running:
        assert status is not None
        _stop(board, status, stop_seconds)
    with ExitStack() as locks:
        locks.enter_context(old.locked())
        locks.enter_context(new.locked())
        rest = rest_of(old)
        if not is_at_or_after(rest.position, _of_both(position_now(new), rest.position)):
            raise AppRefused(
                f"{new.title} has read further than {old.title}: run {old.title} until it has caught up, "
                "then switch"
            )
        make_topic(board, query)
        advance(spark, prepared, cluster, rest.position, report)
        rest_of(new)
        if not is_there(new, prepared, rest.position):
            raise AppRefused(
                f"{new.title} did not come as far as {old.title}: is a topic that it reads cut off?"
            )
        flipped = pointer.flipped(
            to,
            end=_ends(board, topic_of(pointer.output, pointer.version)),
            start=_ends(board, query.topic),
            now_ms=now_ms(),
        )
        board.publish(flipped)
    return Switch(query, pointer.version, is_running, behind, flipped)


def retire(board: Board, app: str, query: str, version: int, *, root: str, dry_run: bool) -> Retirement:
    """Take away the topic, the state and the status of a version that nobody reads. Raises `AppRefused`."""
    known = board.refresh()
    state = VersionState(root, app, query, version)
    pointer = next((each for each in known.pointers.values() if (each.app, each.query) == (app, query)), None)
    if pointer is not None and pointer.version == version:
        raise AppRefused(f"readers of {pointer.output} are on version {version}: switch to another one first")
    status = known.status(app, query, version)
    if not state.exists and status is None:
        there = ", ".join(str(each) for each in versions(root, app, query)) or "none"
        raise AppRefused(f"nothing is known of {state.title}; versions with state in {root}: {there}")
    topic = topic_of(pointer.output, version) if pointer else status.output if status else ""
    with state.locked():
        try:
            records = _count(board, topic) if topic else 0
        except UnknownTopic:
            topic, records = "", 0
        found = Retirement(f"{app}/{query}", version, topic, records, str(state.directory))
        if dry_run:
            return found
        if topic:
            board.admin.delete_topic(topic)
        board.forget(f"status {app}/{query} v{version}")
        state.remove()
    return found


def _pointer(board: Board, query: Query) -> Pointer:
    pointer = board.refresh().pointer(query.output) if query.output else None
    if pointer is None:
        raise AppRefused(
            f"nothing was published yet under {query.output or query.title}: `riverlog run` starts its "
            "first version"
        )
    return pointer


def _no_state(root: str, name: str, version: int, *, is_new: bool) -> str:
    if is_new:
        return f"version {version} of {name} was never run: `riverlog pipelines replay` comes first"
    return f"the state of version {version} of {name}, on which readers are, is not in {root}: see --state"


def _checked(prepared: Prepared) -> Prepared:
    verdict = prepared.verdict()
    if verdict is not None and verdict.level >= Level.MIGRATION:
        raise AppRefused(
            f"{prepared.query.title} is not what its checkpoint was made by ({verdict.level.words}): "
            f"{verdict.differences[0].reason}"
        )
    return prepared


def _stop(board: Board, status: Status, seconds: float) -> None:
    stop(board, status.name, [status], seconds)


def _ends(board: Board, topic: str) -> dict[int, int]:
    return {index: bounds.latest for index, bounds in board.admin.bounds(topic).items()}


def _count(board: Board, topic: str) -> int:
    return sum(each.latest - each.earliest for each in board.admin.bounds(topic).values())


def _of_both(position: Position, other: Position) -> Position:
    return {name: topics for name, topics in position.items() if name in other}


def _distance(behind: Position, ahead: Position) -> int:
    """How many offsets one position is behind another, in what both read."""
    return sum(
        max(0, offset - behind[name].get(topic, {}).get(index, 0))
        for name, topics in ahead.items()
        if name in behind
        for topic, parts in topics.items()
        for index, offset in parts.items()
    )
