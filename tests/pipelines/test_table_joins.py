"""Joins with a table kept from its changes, beside the same join on all data at once."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

from riverlog.errors import RiverlogError
from riverlog.pipelines import ColumnRefused, stream_table_join, temporal_join
from riverlog.testing.pipelines import Streams

from .histories import history, seeds

EVENTS = "user string, at timestamp, page string"
VERSIONS = "user string, since timestamp, plan string, gone boolean"
DELAY = timedelta(minutes=5)


PLANS = ["free", "paid", None]
Tagged = tuple[Any, ...]


def click_or_change(chance: random.Random, time: datetime) -> Tagged:
    """(user, time, is a change, page or plan, gone)"""
    if chance.random() < 0.7:
        return (chance.choice("abc"), time, False, chance.choice(["home", "shop"]), None)
    return (chance.choice("ab"), time, True, chance.choice(PLANS), chance.random() < 0.2)


def clicks_of(batch: list[Tagged]) -> list[Tagged]:
    return [(user, time, page) for user, time, is_change, page, _ in batch if not is_change]


def changes_of(batch: list[Tagged]) -> list[Tagged]:
    return [(user, time, plan, gone) for user, time, is_change, plan, gone in batch if is_change]


def valid_at(changes: list[Tagged], user: str, time: datetime) -> tuple[Any, Any]:
    """By hand: the last change that is not after the time; of those at one time the last by content."""
    rows = [(since, None if gone else (since, plan)) for who, since, plan, gone in changes if who == user]
    valid = [row for row in rows if row[0] <= time]
    newest = max(valid, key=lambda row: (row[0], repr(_stored(row[1]))), default=(None, None))[1]
    return newest if newest is not None else (None, None)


def _stored(version: tuple[datetime, Any] | None) -> Row | None:
    return None if version is None else Row(since="the same", plan=version[1])


@pytest.mark.parametrize("seed", seeds(3))
def test_each_event_meets_the_version_of_its_time_whatever_the_disorder(
    riverlog_streams: Streams, seed: int
) -> None:
    made = history(seed, click_or_change, delay=DELAY, count=90)
    events = riverlog_streams.source(EVENTS, event_time="at", delay=DELAY)
    versions = riverlog_streams.source(VERSIONS)
    joined = events.frame.transform(
        temporal_join(versions.frame, on=["user"], event_time="at", valid_from="since", deleted="gone")
    )
    output = riverlog_streams.start(joined)

    for batch in made.batches:
        versions.feed(*(each for each in changes_of(batch) if each in changes_of(made.punctual)))
        events.feed(*clicks_of(batch))
    events.advance("20:00:00")

    changes = changes_of(made.punctual)
    expected = [(*click, *valid_at(changes, click[0], click[1])) for click in clicks_of(made.punctual)]
    assert output.dropped() == len(clicks_of(made.late))
    assert sorted(output.rows(), key=repr) == sorted(expected, key=repr)


def test_a_stream_meets_the_newest_row_that_has_arrived(riverlog_streams: Streams) -> None:
    clicks = riverlog_streams.source("user string, page string")
    changes = riverlog_streams.source("user string, offset long, plan string, gone boolean")
    snapshot = riverlog_streams.spark.createDataFrame(
        [("z", 7, "old", False)], "user string, offset long, plan string, gone boolean"
    )
    output = riverlog_streams.start(
        clicks.frame.transform(
            stream_table_join(changes.frame, on=["user"], order="offset", deleted="gone", snapshot=snapshot)
        )
    )

    clicks.feed(("a", "p1"), ("z", "p2"))
    assert sorted(output.take()) == [("a", "p1", None, None), ("z", "p2", 7, "old")]
    changes.feed(("a", 3, "paid", False), ("a", 2, "free", None), ("z", 6, "older", False))
    clicks.feed(("a", "p3"), ("z", "p4"))
    assert sorted(output.take()) == [("a", "p3", 3, "paid"), ("z", "p4", 7, "old")]
    changes.feed(("a", 4, None, True))
    changes.feed(("a", 1, "free", False))
    clicks.feed(("a", "p5"))
    assert output.take() == [("a", "p5", None, None)]


def test_what_cannot_be_joined_is_refused_by_name(riverlog_streams: Streams) -> None:
    events = riverlog_streams.source(EVENTS, event_time="at").frame
    versions = riverlog_streams.source(VERSIONS).frame
    join = {"on": ["user"], "event_time": "at", "valid_from": "since"}

    with pytest.raises(RiverlogError, match="how='outer'"):
        temporal_join(versions, **join, how="outer")  # type: ignore[arg-type]  # asked for its effect
    with pytest.raises(ColumnRefused, match="valid_from='plan' is of type string"):
        events.transform(temporal_join(versions, **join | {"valid_from": "plan"}))  # type: ignore[arg-type]
    with pytest.raises(ColumnRefused, match="deleted='dead' names no column"):
        events.transform(temporal_join(versions, **join, deleted="dead"))  # type: ignore[arg-type]
    with pytest.raises(ColumnRefused, match="on='user' is of type string in the events and int"):
        events.transform(stream_table_join(versions.withColumn("user", F.lit(1)), on=["user"], order="since"))
    with pytest.raises(ColumnRefused, match="'page' is a column of the frame already"):
        events.transform(stream_table_join(versions.withColumn("page", F.lit(1)), on=["user"], order="since"))
