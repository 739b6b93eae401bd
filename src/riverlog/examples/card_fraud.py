"""Somebody tries a stolen card with small amounts, and then empties it: a pattern in the payments of a card.

    payment 0.80 · payment 0.50 · payment 899.00     all within ten minutes: suspicion
    payment 0.80 · payment 0.50 · confirmed · ...    the holder has said that it was them: none

A payment may be delivered twice, and a trial counted twice would be a suspicion: duplicates go first.
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

CARD_USE = Input(
    "card-use", "use string, card string, at timestamp, kind string, merchant string, cents long", "card"
)
TRIAL_CENTS = 100
HAUL_CENTS = 50_000
TRIALS_MIN, TRIALS_MAX = 2, 5
WITHIN = timedelta(minutes=10)
DELAY = timedelta(minutes=4)

START = datetime(2026, 3, 2, 18, tzinfo=UTC)
SPAN = timedelta(hours=2)
MERCHANTS = ("grocer", "baker", "fuel station", "pharmacy", "bookshop", "cinema")
ONLINE = ("app store", "donations", "game credits", "ringtones")
TARGETS = ("electronics", "jeweller", "gift cards")


def pipeline(card_use: DataFrame) -> DataFrame:
    """Give a suspicion for each card that is tried and then emptied."""
    from pyspark.sql import functions as F

    from riverlog.pipelines import Pattern, absent, match_pattern, step

    pattern = Pattern(
        [
            step(
                "trials",
                f"kind = 'payment' and cents <= {TRIAL_CENTS}",
                at_least=TRIALS_MIN,
                at_most=TRIALS_MAX,
            ),
            absent("confirmed", "kind = 'confirmed'"),
            step("haul", f"kind = 'payment' and cents >= {HAUL_CENTS}"),
        ],
        within=WITHIN,
    )
    once = card_use.withWatermark("at", f"{DELAY.seconds} seconds").dropDuplicatesWithinWatermark(["use"])
    found = once.transform(
        match_pattern(pattern, by=["card"], event_time="at", columns=["merchant", "cents"])
    )
    return found.select(
        "card",
        F.col("began_at").alias("since"),
        "at",
        F.col("trials")["merchant"].alias("tried_at"),
        F.col("haul")["merchant"].alias("merchant"),
        F.col("haul")["cents"].alias("cents"),
    )


def events(seed: int, count: int) -> list[Arrival]:
    """Make an evening of card payments: everyday ones, thefts, and what only looks like a theft."""
    chance = random.Random(seed)
    cards = [f"card-{number:03}" for number in range(max(4, count // 12))]
    uses: list[Row] = []

    def use(card: str, at: datetime, merchant: str, cents: int, kind: str = "payment") -> None:
        named = {"use": f"u{seed}-{len(uses)}", "card": card, "at": at}
        uses.append({**named, "kind": kind, "merchant": merchant, "cents": cents})

    while len(uses) < count:
        card = chance.choice(cards)
        at = START + milliseconds(chance.random() * SPAN.total_seconds())
        if chance.random() < 0.9:
            cents = chance.choice([90, 250, 1_000, 4_000, 9_000, 60_000])
            use(card, at, chance.choice(MERCHANTS), cents + chance.randrange(100))
            continue
        for _ in range(chance.randrange(1, 7)):
            use(card, at, chance.choice(ONLINE), chance.randrange(1, TRIAL_CENTS + 1))
            at += milliseconds(chance.uniform(5, 120))
        if chance.random() < 0.3:
            use(card, at, "bank", 0, kind="confirmed")
        at += milliseconds(chance.choice([60, 200, 700]) * chance.random())
        use(card, at, chance.choice(TARGETS), HAUL_CENTS + chance.randrange(90_000))
    return disordered(chance, [(row["at"], Arrival(CARD_USE.topic, row)) for row in uses], DELAY)


def expected(arrivals: Sequence[Arrival]) -> list[Row]:
    """For each large payment, look back for the first trial from which the rest follows."""
    by_card: dict[str, list[Row]] = defaultdict(list)
    for row in {row["use"]: row for row in rows_on(CARD_USE.topic, arrivals)}.values():
        by_card[row["card"]].append(row)
    suspicions = []
    for card, rows in by_card.items():
        rows.sort(key=lambda row: row["at"])
        begin = 0
        for place, haul in enumerate(rows):
            if haul["kind"] != "payment" or haul["cents"] < HAUL_CENTS:
                continue
            begin = _after_confirmation(rows, begin, place)
            trials = [
                row
                for row in rows[begin:place]
                if row["cents"] <= TRIAL_CENTS and haul["at"] - row["at"] <= WITHIN
            ][:TRIALS_MAX]
            if len(trials) < TRIALS_MIN:
                continue
            begin = place + 1
            suspicions.append(
                {
                    "card": card,
                    "since": trials[0]["at"],
                    "at": haul["at"],
                    "tried_at": [row["merchant"] for row in trials],
                    "merchant": haul["merchant"],
                    "cents": haul["cents"],
                }
            )
    return suspicions


def _after_confirmation(rows: list[Row], begin: int, end: int) -> int:
    confirmed = [place for place in range(begin, end) if rows[place]["kind"] == "confirmed"]
    return confirmed[-1] + 1 if confirmed else begin


def line(row: Row) -> str:
    """Say a suspicion in words."""
    return (
        f"{row['at'][11:19]}  {row['card']}: {len(row['tried_at'])} trials since {row['since'][11:19]}, "
        f"then {row['cents'] / 100:,.2f} at {row['merchant']}"
    )


EXAMPLE = Example(
    name="card-fraud",
    title="cards tried with small amounts and then emptied: a pattern of steps within ten minutes",
    inputs=(CARD_USE,),
    output="card-suspicions",
    pipeline=pipeline,
    events=events,
    expected=expected,
    line=line,
    closing=(
        Arrival(
            CARD_USE.topic,
            {"use": "-", "card": "-", "at": FAR, "kind": "closing", "merchant": "-", "cents": 0},
        ),
    ),
)
