"""Two thousand people want to be told when a price leaves their bounds: stored queries against every tick.

    query "alert-17"   symbol = HOLT, price >= 104.00
    tick   HOLT 104.20  ──▶ alert-17 ...

Every tick is held against all the queries, of which an index lets it meet only those of its symbol.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from riverlog.examples.arrivals import disordered, milliseconds
from riverlog.examples.example import Arrival, Example, Input, Row, rows_on

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from riverlog.pipelines import Query

TICKS = Input("ticks", "tick string, symbol string, at timestamp, cents long", "symbol")
DELAY = timedelta(minutes=4)

START = datetime(2026, 3, 2, 14, tzinfo=UTC)
SPAN = timedelta(hours=1)
SYMBOLS = [f"{first}{rest}" for first in "BHKMRST" for rest in ("ALL", "EAR", "OLT", "UND")]
OPENED_CENTS = 10_000
ALERTS = 2000
ALERTS_SEED = 7


def queries() -> list[Query]:
    """Give what people have asked for; bounds lie some percent away from the opening price."""
    from riverlog.pipelines import Query

    chance = random.Random(ALERTS_SEED)
    asked = []
    for number in range(ALERTS):
        bound = round(OPENED_CENTS * (1 + chance.choice([1, -1]) * chance.uniform(0.02, 0.1)))
        bounds = (bound, None) if bound > OPENED_CENTS else (None, bound)
        symbol = chance.choice(SYMBOLS)
        asked.append(Query(f"alert-{number:04}", equals={"symbol": symbol}, ranges={"cents": bounds}))
    return asked


def pipeline(ticks: DataFrame) -> DataFrame:
    """Give a row for each tick and alert that it sets off."""
    from riverlog.pipelines import match_queries

    once = ticks.withWatermark("at", f"{DELAY.seconds} seconds").dropDuplicatesWithinWatermark(["tick"])
    alerts = once.transform(match_queries(queries(), into="alert"))
    return alerts.select("alert", "symbol", "cents", "at")


def events(seed: int, count: int) -> list[Arrival]:
    """Make an hour of prices that wander."""
    chance = random.Random(seed)
    cents = dict.fromkeys(SYMBOLS, float(OPENED_CENTS))
    sent: list[tuple[datetime, Arrival]] = []
    for number in range(count):
        at = START + milliseconds((number + chance.random()) / count * SPAN.total_seconds())
        symbol = chance.choice(SYMBOLS)
        cents[symbol] *= 1 + chance.gauss(0, 0.004)
        tick = {"tick": f"t{seed}-{number}", "symbol": symbol, "at": at, "cents": round(cents[symbol])}
        sent.append((at, Arrival(TICKS.topic, tick)))
    return disordered(chance, sent, DELAY)


def expected(arrivals: Sequence[Arrival]) -> list[Row]:
    """Hold every tick against every query."""
    wanted = [(query.name, query.equals["symbol"], *query.ranges["cents"]) for query in queries()]
    ticks = {row["tick"]: row for row in rows_on(TICKS.topic, arrivals)}
    return [
        {"alert": name, "symbol": row["symbol"], "cents": row["cents"], "at": row["at"]}
        for row in ticks.values()
        for name, symbol, low, high in wanted
        if symbol == row["symbol"]
        and (low is None or row["cents"] >= low)
        and (high is None or row["cents"] <= high)
    ]


def line(row: Row) -> str:
    """Say an alert in words."""
    return f"{row['at'][11:19]}  {row['alert']}: {row['symbol']} at {row['cents'] / 100:.2f}"


EXAMPLE = Example(
    name="price-alerts",
    title=f"prices held against {ALERTS:,} stored queries, tick by tick",
    inputs=(TICKS,),
    output="price-alerts",
    pipeline=pipeline,
    events=events,
    expected=expected,
    line=line,
)
