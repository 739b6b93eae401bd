"""The timeline of those one follows, kept up to date, beside the join of both tables."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from riverlog.pipelines import ColumnRefused, table_view
from riverlog.testing.pipelines import Streams

from .histories import seeds

POSTS = "author string, post int, version long, text string, gone boolean"
FOLLOWS = "author string, reader string, version long, gone boolean"


def latest(changes: list[tuple[Any, ...]], version: int) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """By hand: the newest change of each row, by (author, key), that is no deletion."""
    rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for change in sorted(changes, key=lambda change: change[version]):
        rows[change[:2]] = change
    return {key: row for key, row in rows.items() if not row[-1]}


@pytest.mark.parametrize("seed", seeds(21))
def test_insertions_less_retractions_are_the_join_after_every_batch(
    riverlog_streams: Streams, seed: int
) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    numbers = list(range(80))
    chance.shuffle(numbers)
    posts = [
        (chance.choice("ab"), chance.randrange(3), n, chance.choice("xyz"), chance.random() < 0.3)
        for n in numbers[:40]
    ]
    follows = [(chance.choice("ab"), chance.choice("rst"), n, chance.random() < 0.3) for n in numbers[40:]]
    posts += posts[:5]
    left, right = riverlog_streams.source(POSTS), riverlog_streams.source(FOLLOWS)
    operator = table_view(
        right.frame, on=["author"], left_key=["post"], right_key=["reader"], order="version", deleted="gone"
    )
    output = riverlog_streams.start(left.frame.transform(operator))

    view: Counter[tuple[Any, ...]] = Counter()
    for upto in (15, 30, 45):
        left.feed(*posts[upto - 15 : upto])
        right.feed(*follows[upto - 15 : upto])
        for author, operation, post, text, reader in output.take():
            view[author, post, text, reader] += 1 if operation == "insert" else -1

        written, read = latest(posts[:upto], 2), latest(follows[:upto], 2)
        assert +view == Counter(
            (author, post, row[3], reader)
            for (author, post), row in written.items()
            for followed, reader in read
            if followed == author
        )
        assert min(view.values()) >= 0
    assert +view


def test_what_cannot_be_joined_is_refused_by_name(riverlog_streams: Streams) -> None:
    posts, follows = riverlog_streams.source(POSTS).frame, riverlog_streams.source(FOLLOWS).frame

    with pytest.raises(ColumnRefused, match="right_key='person' names no column"):
        posts.transform(
            table_view(follows, on=["author"], left_key=["post"], right_key=["person"], order="version")
        )
    other = follows.withColumn("version", follows.version.cast("int"))
    with pytest.raises(ColumnRefused, match="'version' is of another type on the right"):
        posts.transform(
            table_view(other, on=["author"], left_key=["post"], right_key=["reader"], order="version")
        )
