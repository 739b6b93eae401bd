"""What the code of an app means for the checkpoints that are there, query by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from riverlog.pipelines.jobs.app import App, Query
from riverlog.pipelines.jobs.checkpoint import state_operators
from riverlog.pipelines.jobs.comparison import Difference, Level, Verdict, compare
from riverlog.pipelines.jobs.preparing import Cluster, prepare
from riverlog.pipelines.jobs.state_directory import VersionState, versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class QueryDifference:
    """A query in the file, and what it was compared with: its own checkpoint, or an older version's."""

    query: str
    version: int
    beside: int | None
    differences: tuple[Difference, ...]
    holds: tuple[str, ...]

    @property
    def level(self) -> Level:
        """What the differences ask for."""
        return Verdict(self.differences).level

    @property
    def is_unsafe(self) -> bool:
        """Whether a start on the checkpoint would be refused; a version without one starts anew."""
        return self.beside == self.version and self.level >= Level.MIGRATION

    @property
    def words(self) -> str:
        """What a person reads."""
        if self.beside is None:
            return "new: it starts from the beginning"
        if self.beside != self.version:
            return f"new: `riverlog pipelines replay` runs it beside version {self.beside}"
        return self.level.words

    def to_json(self) -> dict[str, Any]:
        """Give it as programs read it."""
        return {
            "query": self.query,
            "version": self.version,
            "compared_with": self.beside,
            "verdict": "new" if self.beside != self.version else self.level.words,
            "differences": [
                {"verdict": each.level.words, "reason": each.reason} for each in self.differences
            ],
            "checkpoint_holds": list(self.holds),
        }


def differences(spark: SparkSession, app: App, state: str, cluster: Cluster) -> list[QueryDifference]:
    """Compare every query of an app, in each of its versions, with the state that is there."""
    return [_difference(spark, query, state, cluster) for query in app.queries]


def _difference(spark: SparkSession, query: Query, root: str, cluster: Cluster) -> QueryDifference:
    state = VersionState(root, query.app, query.name, query.version)
    prepared = prepare(spark, query, state, cluster)
    there = versions(root, query.app, query.name)
    beside = query.version if query.version in there else max(there, default=None)
    if beside is None:
        return QueryDifference(query.name, query.version, None, (), ())
    other = VersionState(root, query.app, query.name, beside)
    kept = other.contract()
    if kept is None:
        unknown = Difference(
            Level.SAFE, "its checkpoint was made without a contract: Spark alone checks whether they fit"
        )
        return QueryDifference(query.name, query.version, beside, (unknown,), ())
    holds = tuple(
        f"{each.name} in {each.partitions} partitions" for each in state_operators(other.checkpoint)
    )
    return QueryDifference(
        query.name, query.version, beside, compare(kept, prepared.contract).differences, holds
    )
