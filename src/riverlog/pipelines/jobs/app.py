"""An app: queries with names, outputs and versions, as a user writes them down.

    app = App("shop")

    @app.query("clicks-per-minute", output="clicks-per-minute", key="page")
    def clicks_per_minute(context):
        clicks = context.topic("clicks", schema="page string, at timestamp")
        return clicks.withWatermark("at", "10 seconds").groupBy(...).count()

A function gives a streaming DataFrame. With a column `value` it is written as it is; else its columns
become a JSON object, and `key` names the column, or columns, of the record's key. A function that writes
elsewhere gives a `DataStreamWriter` and its query has no output. A query may be there in several versions,
for as long as one wants to be able to go back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from riverlog.errors import RiverlogError
from riverlog.pipelines.jobs.pointers import topic_of
from riverlog.pipelines.jobs.real_time import MICRO_BATCH, MODES, REAL_TIME

NAME_CHARACTERS_MAX = 200
OUTPUT_MODES = ("append", "update", "complete")

_NAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]*")


class AppRefused(RiverlogError):
    """An app, or something asked of it, makes no sense: says what, and what would."""


@dataclass(frozen=True, slots=True)
class Query:
    """One version of a query, as it was declared."""

    app: str
    name: str
    version: int
    function: Callable[[Any], Any]
    output: str | None
    key: tuple[str, ...]
    output_mode: str
    trigger: str | None
    partitions: int
    mode: str = MICRO_BATCH

    @property
    def topic(self) -> str:
        """The topic of this version's output; empty where it writes elsewhere."""
        return topic_of(self.output, self.version) if self.output else ""

    @property
    def title(self) -> str:
        """The query as people are told of it."""
        return f"{self.name} v{self.version}"

    @property
    def is_real_time(self) -> bool:
        """Whether records pass through one by one instead of in batches."""
        return self.mode == REAL_TIME


class App:
    """Queries that run together; `riverlog run FILE` starts the one that the file defines."""

    def __init__(self, name: str) -> None:
        _check_name("app", name)
        self.name = name
        self.queries: list[Query] = []

    def query(
        self,
        name: str,
        *,
        output: str | None = None,
        version: int = 1,
        key: str | Sequence[str] = (),
        output_mode: str = "append",
        trigger: str | None = None,
        partitions: int = -1,
        mode: str = MICRO_BATCH,
    ) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
        """Declare a function to be a query.

        `output` is the readable name of a topic: version 2 writes into `OUTPUT.v2`. `trigger` is the time
        between batches ("10 seconds"); without it one follows the other. `partitions` are those of the
        output when it is made, -1 for the broker's default. With `mode="real-time"` each record passes
        within milliseconds, at least once, where the query allows it; `trigger` is then the time between
        checkpoints.
        """
        _check_name("query", name)
        if output is not None:
            _check_name("output", output)
        if version < 1:
            raise AppRefused(f"query {name}: version={version} is not accepted: expected 1 or more")
        _check_choice(name, "output_mode", output_mode, OUTPUT_MODES)
        _check_choice(name, "mode", mode, MODES)
        if mode == REAL_TIME:
            _check_real_time(name, output, output_mode)
        columns = (key,) if isinstance(key, str) else tuple(key)

        def declare(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
            made = Query(
                self.name, name, version, function, output, columns, output_mode, trigger, partitions, mode
            )
            if self.find(name, version):
                raise AppRefused(f"app {self.name} has {made.title} twice: give one of them another version")
            other = next((each for each in self.queries if each.output and each.output == output), made)
            if other.name != name:
                raise AppRefused(
                    f"the output {output} is written by {other.name} and {name}: it has one query"
                )
            self.queries.append(made)
            return function

        return declare

    def find(self, name: str, version: int) -> Query | None:
        """Give one version of a query, None if there is none."""
        return next((each for each in self.queries if (each.name, each.version) == (name, version)), None)

    def versions(self, name: str) -> list[Query]:
        """Give all versions of a query, oldest first; raise `AppRefused` naming those that there are."""
        found = sorted((each for each in self.queries if each.name == name), key=lambda each: each.version)
        if not found:
            raise AppRefused(
                f"app {self.name} has no query {name}; it has: {', '.join(self.names()) or 'none'}"
            )
        return found

    def names(self) -> list[str]:
        """Name the queries, in the order of the file."""
        return list(dict.fromkeys(each.name for each in self.queries))


def _check_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > NAME_CHARACTERS_MAX:
        raise AppRefused(
            f"{what} {name!r} is not accepted: letters, digits, . _ - are, at most {NAME_CHARACTERS_MAX}"
        )


def _check_choice(query: str, setting: str, value: str, accepted: Sequence[str]) -> None:
    if value not in accepted:
        raise AppRefused(f"query {query}: {setting}={value!r} is not accepted: {', '.join(accepted)} are")


def _check_real_time(query: str, output: str | None, output_mode: str) -> None:
    if output is None:
        raise AppRefused(
            f"query {query}: in real time a query writes a topic: give it output=..., or leave "
            'mode="micro-batch"'
        )
    if output_mode == "complete":
        raise AppRefused(f"query {query}: in real time output_mode='complete' is not accepted: 'update' is")
