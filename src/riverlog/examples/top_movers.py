"""The ten symbols that moved most on a day of trading.

    trades, by symbol ──▶ first and last price of the day ──▶ moves, by day ──▶ ten largest ──▶ top-movers
                          (phase 1: a task has some symbols)   (phase 2: ten of each task, then ten of all)

The second question is asked of other groups than the first, so between them rows change their task. Spark
does that; the ranking keeps ten rows a task on the way, so that nobody ever holds a whole market.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from riverlog.examples.arrivals import disordered, milliseconds
from riverlog.examples.example import FAR, Arrival, Example, Input, Row, rows_on

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TRADES = Input("trades", "trade long, symbol string, at timestamp, cents long", "symbol")
PLACES = 10
DELAY = timedelta(minutes=20)

DAY = datetime(2026, 3, 2, tzinfo=UTC)
OPENS, CLOSES = timedelta(hours=8), timedelta(hours=16, minutes=30)
SYMBOLS = [first + second + third for first in "ABCH" for second in "IORU" for third in "LNTX"]


def pipeline(trades: DataFrame) -> DataFrame:
    """Give the ten largest moves of each day, up or down, in hundredths of a percent."""
    from pyspark.sql import functions as F

    from riverlog.pipelines import top_n

    timed = trades.withWatermark("at", f"{DELAY.seconds} seconds")
    # Two trades of one instant are told apart by their number.
    order = F.struct("at", "trade")
    by_symbol = timed.groupBy(F.window("at", "1 day").alias("day"), "symbol").agg(
        F.min_by("cents", order).alias("opened"), F.max_by("cents", order).alias("closed")
    )
    moves = by_symbol.withColumn("moved", F.expr("(closed - opened) * 10000 div opened")).withColumn(
        "size", F.abs("moved")
    )
    ranked = moves.transform(top_n(PLACES, by=["day"], order=["size", "symbol"]))
    return ranked.select(F.col("day")["start"].alias("day"), "rank", "symbol", "opened", "closed", "moved")


def events(seed: int, count: int) -> list[Arrival]:
    """Make two days of trading: prices that wander, some with the wind behind them."""
    chance = random.Random(seed)
    cents = {symbol: chance.uniform(500, 50_000) for symbol in SYMBOLS}
    wind = {symbol: chance.gauss(0, 0.002) for symbol in SYMBOLS}
    times = sorted(
        DAY + timedelta(days=day) + OPENS + milliseconds(chance.random() * (CLOSES - OPENS).total_seconds())
        for day in range(2)
        for _ in range(count // 2)
    )
    sent: list[tuple[datetime, Arrival]] = []
    for number, at in enumerate(times):
        symbol = chance.choice(SYMBOLS)
        cents[symbol] *= 1 + wind[symbol] + chance.gauss(0, 0.004)
        trade = {"trade": number, "symbol": symbol, "at": at, "cents": round(cents[symbol])}
        sent.append((at, Arrival(TRADES.topic, trade)))
    return disordered(chance, sent, DELAY)


def expected(arrivals: Sequence[Arrival]) -> list[Row]:
    """Sort the trades of each day and symbol, then the symbols of each day."""
    trades = sorted(rows_on(TRADES.topic, arrivals), key=lambda row: (row["at"], row["trade"]))
    prices: dict[datetime, dict[str, list[int]]] = {}
    for row in trades:
        day = row["at"].replace(hour=0, minute=0, second=0, microsecond=0)
        prices.setdefault(day, {}).setdefault(row["symbol"], []).append(row["cents"])
    result = []
    for day, symbols in prices.items():
        moves = [
            (_move(found[0], found[-1]), symbol, found[0], found[-1]) for symbol, found in symbols.items()
        ]
        moves.sort(key=lambda move: (abs(move[0]), move[1]), reverse=True)
        for rank, (moved, symbol, opened, closed) in enumerate(moves[:PLACES], 1):
            place = {"day": day, "rank": rank, "symbol": symbol}
            result.append({**place, "opened": opened, "closed": closed, "moved": moved})
    return result


def _move(opened: int, closed: int) -> int:
    """Give a move in hundredths of a percent, towards zero as SQL's `div` rounds."""
    return int((closed - opened) * 10_000 / opened)


def line(row: Row) -> str:
    """Say a place in words."""
    return f"{row['day'][:10]}  {row['rank']:>2}. {row['symbol']} {row['moved'] / 100:+.2f} %"


EXAMPLE = Example(
    name="top-movers",
    title="the ten largest moves of a day of trading: aggregated by symbol, then ranked by day",
    inputs=(TRADES,),
    output="top-movers",
    pipeline=pipeline,
    events=events,
    expected=expected,
    line=line,
    closing=(Arrival(TRADES.topic, {"trade": -1, "symbol": "-", "at": FAR, "cents": 1}),),
)
