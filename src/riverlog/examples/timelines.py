"""Everybody's timeline: the posts of those one follows, kept up to date as both change.

    posts    written, edited, deleted ──▶┐ by author   ┌──▶ insert ada  "bob: hello"
    follows  begun, ended             ──▶┘             └──▶ retract ada "bob: hi"

Both are tables, told as changes with a version; an older version that arrives later changes nothing. What
comes out are changes of a timeline; insertions less retractions are the timeline as it stands.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from riverlog.examples.arrivals import disordered
from riverlog.examples.example import Arrival, Example, Input, Row, rows_on

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

POSTS = Input("posts", "author string, post long, version long, text string, gone boolean", "author")
FOLLOWS = Input("follows", "author string, reader string, version long, gone boolean", "author")

START = datetime(2026, 3, 2, 20, tzinfo=UTC)
EVERY = timedelta(seconds=1)
DISORDER = timedelta(seconds=20)
PEOPLE = ("ada", "bob", "cleo", "dan", "eve", "finn", "gus", "hana")
SUBJECTS = ("tea", "trains", "the weather", "my cat", "a bug", "lunch", "the match", "a book")
MOODS = ("I like", "Not again:", "Thinking of", "Who else has seen", "Finally,")


def pipeline(posts: DataFrame, follows: DataFrame) -> DataFrame:
    """Give the changes of all timelines."""
    from riverlog.pipelines import table_view

    changes = posts.transform(
        table_view(
            follows,
            on=["author"],
            left_key=["post"],
            right_key=["reader"],
            order="version",
            deleted="gone",
        )
    )
    return changes.select("reader", "operation", "author", "post", "text")


def events(seed: int, count: int) -> list[Arrival]:
    """Make an evening in a small network: who is followed by many writes much."""
    chance = random.Random(seed)
    posts: dict[int, Row] = {}
    follows: dict[tuple[str, str], Row] = {}
    sent: list[tuple[datetime, Arrival]] = []
    for version in range(count):
        at = START + version * EVERY
        author = chance.choices(PEOPLE, [1 / (rank + 1) for rank in range(len(PEOPLE))])[0]
        if chance.random() < 0.4:
            reader = chance.choice([person for person in PEOPLE if person != author])
            known = follows.get((author, reader))
            row: Row = {"author": author, "reader": reader, "version": version}
            row["gone"] = known is not None and not known["gone"]
            follows[author, reader] = row
            sent.append((at, Arrival(FOLLOWS.topic, row)))
            continue
        standing = [each for each in posts.values() if each["author"] == author and not each["gone"]]
        if standing and chance.random() < 0.35:
            row = {**chance.choice(standing), "version": version}
            row["gone"] = chance.random() < 0.3
        else:
            row = {"author": author, "post": len(posts), "version": version, "gone": False}
        row["text"] = f"{chance.choice(MOODS)} {chance.choice(SUBJECTS)}"
        posts[row["post"]] = row
        sent.append((at, Arrival(POSTS.topic, row)))
    return disordered(chance, sent, DISORDER)


def expected(arrivals: Sequence[Arrival]) -> list[Row]:
    """Join the newest versions of both tables."""
    posts = {row["post"]: row for row in _by_version(rows_on(POSTS.topic, arrivals))}
    follows = {(row["author"], row["reader"]): row for row in _by_version(rows_on(FOLLOWS.topic, arrivals))}
    return [
        {"reader": reader, "author": author, "post": number, "text": post["text"]}
        for (author, reader), follow in follows.items()
        for number, post in posts.items()
        if post["author"] == author and not follow["gone"] and not post["gone"]
    ]


def settled(changes: Sequence[Row]) -> list[Row]:
    """Add up insertions and retractions."""
    view: Counter[tuple[str, str, int, str]] = Counter()
    for row in changes:
        by = 1 if row["operation"] == "insert" else -1
        view[row["reader"], row["author"], row["post"], row["text"]] += by
    return [
        {"reader": reader, "author": author, "post": post, "text": text}
        for (reader, author, post, text), times in view.items()
        for _ in range(times)
    ]


def _by_version(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: int(row["version"]))


def line(row: Row) -> str:
    """Say a change in words."""
    sign = "+" if row["operation"] == "insert" else "-"
    return f"{sign} {row['reader']:<4} sees {row['author']}: {row['text']}"


EXAMPLE = Example(
    name="timelines",
    title="posts of those one follows: two changing tables joined, with insertions and retractions",
    inputs=(POSTS, FOLLOWS),
    output="timelines",
    pipeline=pipeline,
    events=events,
    expected=expected,
    line=line,
    settled=settled,
)
