"""Of the searches for each word, how many lead to a click within ten minutes?

    searches ──▶┐ a click of the same search,   ┌──▶ clicked   ┐ count by word and
    clicks   ──▶┘ at most ten minutes later     └──▶ not       ┘ quarter of an hour ──▶ search-click-rates

A search that nobody clicks is only known to be one when the time for a click is over: the join of two streams
holds it until the watermark says so, and then gives it without a click. Searches are counted as sets, since
one may be clicked several times, and either record may be delivered twice.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from riverlog.examples.arrivals import disordered, milliseconds
from riverlog.examples.example import FAR, Arrival, Example, Input, Row, rows_on

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEARCHES = Input("searches", "search string, word string, at timestamp", "search")
CLICKS = Input("clicks", "search string, place int, at timestamp", "search")
TIME_OUT = timedelta(minutes=10)
WINDOW = timedelta(minutes=15)
DELAY = timedelta(minutes=4)

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SPAN = timedelta(hours=2)
WORDS = {
    "kettle": 0.62,
    "running shoes": 0.55,
    "lamp": 0.41,
    "bicycle bell": 0.70,
    "usb cable": 0.48,
    "garden chair": 0.33,
    "jigsaw": 0.27,
    "gift for her": 0.08,
}
"""What people look for, the most wanted first, and how often they find it."""


def pipeline(searches: DataFrame, clicks: DataFrame) -> DataFrame:
    """Give the share of searches that were clicked, by word and quarter of an hour."""
    from pyspark.sql import functions as F

    asked = searches.withWatermark("at", f"{DELAY.seconds} seconds")
    answered = clicks.select("search", F.col("at").alias("clicked_at")).withWatermark(
        "clicked_at", f"{DELAY.seconds} seconds"
    )
    in_time = (F.col("clicked_at") >= F.col("at")) & (
        F.col("clicked_at") <= F.col("at") + F.expr(f"interval {TIME_OUT.seconds} seconds")
    )
    is_same = asked["search"] == answered["search"]
    joined = asked.join(answered, is_same & in_time, "left_outer").select(
        asked["search"], "word", "at", "clicked_at"
    )
    clicked = F.when(F.col("clicked_at").isNotNull(), F.col("search"))
    counted = joined.groupBy(F.window("at", f"{WINDOW.seconds} seconds"), "word").agg(
        F.size(F.collect_set("search")).alias("searches"), F.size(F.collect_set(clicked)).alias("clicked")
    )
    return counted.select(
        F.col("window")["start"].alias("since"),
        "word",
        "searches",
        "clicked",
        (F.col("clicked") / F.col("searches")).alias("rate"),
    )


def events(seed: int, count: int) -> list[Arrival]:
    """Make two hours of searches, most words seldom sought; some clicks come after the time for them."""
    chance = random.Random(seed)
    words = list(WORDS)
    sent: list[tuple[datetime, Arrival]] = []
    for number in range(count * 5 // 8):
        word = chance.choices(words, [1 / (rank + 1) for rank in range(len(words))])[0]
        at = START + milliseconds(chance.random() * SPAN.total_seconds())
        search = f"s{seed}-{number}"
        sent.append((at, Arrival(SEARCHES.topic, {"search": search, "word": word, "at": at})))
        clicked_at = at
        while chance.random() < WORDS[word]:
            clicked_at += milliseconds(chance.lognormvariate(4.0, 1.5))
            click = {"search": search, "place": min(10, int(chance.expovariate(0.5)) + 1), "at": clicked_at}
            sent.append((clicked_at, Arrival(CLICKS.topic, click)))
    return disordered(chance, sent, DELAY)


def expected(arrivals: Sequence[Arrival]) -> list[Row]:
    """Go through all searches and look for a click of each."""
    clicks: dict[str, list[datetime]] = defaultdict(list)
    for click in rows_on(CLICKS.topic, arrivals):
        clicks[click["search"]].append(click["at"])
    searches = {row["search"]: row for row in rows_on(SEARCHES.topic, arrivals)}
    verdicts: dict[tuple[datetime, str], list[bool]] = defaultdict(list)
    for search, row in searches.items():
        since = row["at"] - (row["at"] - START) % WINDOW
        is_clicked = any(row["at"] <= at <= row["at"] + TIME_OUT for at in clicks[search])
        verdicts[since, row["word"]].append(is_clicked)
    return [
        {
            "since": since,
            "word": word,
            "searches": len(found),
            "clicked": sum(found),
            "rate": sum(found) / len(found),
        }
        for (since, word), found in verdicts.items()
    ]


def line(row: Row) -> str:
    """Say a rate in words."""
    return f"{row['since'][11:16]}  {row['word']:<14} {row['clicked']:>3} of {row['searches']:>3} clicked"


EXAMPLE = Example(
    name="search-clicks",
    title="share of searches that are clicked: two streams joined, unmatched after ten minutes",
    inputs=(SEARCHES, CLICKS),
    output="search-click-rates",
    pipeline=pipeline,
    events=events,
    expected=expected,
    line=line,
    closing=(
        Arrival(SEARCHES.topic, {"search": "-", "word": "-", "at": FAR}),
        Arrival(CLICKS.topic, {"search": "-", "place": 1, "at": FAR}),
    ),
)
