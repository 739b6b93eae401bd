"""The nine queries, each from the stream of all events to the stream of its answers.

q4 and q6 ask for the winning bid of each auction, which is known when the auction has expired: a stateful
processor per auction, with a timer. q4 gives its averages by minute, since an average over everything would
be said anew with each auction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from riverlog.pipelines import top_n

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

DELAY = "1 second"
WINDOW = "10 seconds"
SLIDE = "2 seconds"
LAST = 10
EARLY_MS = 2_000
"""How long a bid may wait for its auction, which may come later by another partition."""

AUCTION = "opened long, category int, seller long, expires long"
CLOSED = "id long, expires timestamp, category int, seller long, price long"
AVERAGED = "seller long, expires timestamp, average double"


def timed(events: DataFrame) -> DataFrame:
    """Give events with their time as a timestamp, and a watermark on it."""
    return events.withColumn("time", F.timestamp_millis("at")).withWatermark("time", DELAY)


def persons(events: DataFrame) -> DataFrame:
    """Give those who come."""
    return timed(events).where("kind = 'person'").select("id", "name", "city", "state", "time")


def auctions(events: DataFrame) -> DataFrame:
    """Give what is offered."""
    return timed(events).where("kind = 'auction'").select("id", "category", "seller", "expires", "time")


def bids(events: DataFrame) -> DataFrame:
    """Give the bids."""
    return timed(events).where("kind = 'bid'").select("auction", "bidder", "price", "time")


def q0(events: DataFrame) -> DataFrame:
    """Pass bids through."""
    return bids(events)


def q1(events: DataFrame) -> DataFrame:
    """Convert the price of each bid from dollars to euros."""
    return bids(events).withColumn("price", F.col("price") * 0.908)


def q2(events: DataFrame) -> DataFrame:
    """Pick the bids of certain auctions."""
    return bids(events).where("auction % 123 = 0").select("auction", "price")


def q3(events: DataFrame) -> DataFrame:
    """Join: who sells what of a category in some states?"""
    offered = auctions(events).where("category = 10").select(F.col("id").alias("auction"), "seller")
    sellers = persons(events).where("state in ('OR', 'ID', 'CA')").select("id", "name", "city", "state")
    joined = offered.join(sellers, offered["seller"] == sellers["id"])
    return joined.select("name", "city", "state", "auction")


def q4(events: DataFrame) -> DataFrame:
    """Average the winning prices of each category, by minute."""
    closed = winning(events).where("price is not null")
    grouped = closed.groupBy(F.window("expires", "1 minute"), "category")
    averaged = grouped.agg(F.avg("price").alias("average"))
    return averaged.select(F.col("window")["start"].alias("since"), "category", "average")


def q5(events: DataFrame) -> DataFrame:
    """Find the auction with the most bids of the last ten seconds, every two."""
    counted = bids(events).groupBy(F.window("time", WINDOW, SLIDE), "auction").agg(F.count("*").alias("bids"))
    hottest = counted.transform(top_n(1, by=["window"], order=["bids", "auction"]))
    return hottest.select(F.col("window")["start"].alias("since"), "auction", "bids")


def q6(events: DataFrame) -> DataFrame:
    """Average the last ten winning prices of each seller, at each new one."""
    closed = winning(events).where("price is not null")
    return closed.groupBy("seller").transformWithState(
        AverageLast(), AVERAGED, "Append", "EventTime", eventTimeColumnName="expires"
    )


def q7(events: DataFrame) -> DataFrame:
    """Find the highest bid of each ten seconds."""
    highest = F.max(F.struct("price", "bidder", "auction")).alias("bid")
    found = bids(events).groupBy(F.window("time", WINDOW)).agg(highest)
    return found.select(F.col("window")["start"].alias("since"), "bid.price", "bid.bidder", "bid.auction")


def q8(events: DataFrame) -> DataFrame:
    """Find who came and offered something within the same ten seconds."""
    came = persons(events).select("id", "name", F.window("time", WINDOW).alias("window"))
    offered = auctions(events).select("seller", F.window("time", WINDOW).alias("at"))
    sellers = offered.dropDuplicates(["seller", "at"])
    joined = came.join(sellers, (came["id"] == sellers["seller"]) & (came["window"] == sellers["at"]))
    return joined.select("id", "name", F.col("window")["start"].alias("since"))


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    each.__name__: each for each in (q0, q1, q2, q3, q4, q5, q6, q7, q8)
}


def winning(events: DataFrame) -> DataFrame:
    """Give each auction once it has expired, with its highest bid, null if nobody bid in time."""
    told = timed(events).where("kind in ('auction', 'bid')")
    each = told.select(
        F.coalesce("auction", "id").alias("id"), "time", "at", "category", "seller", "expires", "price"
    )
    return each.groupBy("id").transformWithState(
        CloseAuction(), CLOSED, "Append", "EventTime", eventTimeColumnName="expires"
    )


class CloseAuction(StatefulProcessor):
    """Keep an auction and its highest bid until it has expired."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark's call at the start of a task."""
        self._handle = handle
        self._auction = handle.getValueState("auction", AUCTION)
        self._best = handle.getValueState("best", "price long")
        self._early = handle.getListState("early", "at long, price long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803, ARG002
        """Take an auction, and bids in time; those that come before their auction wait for it."""
        offered = [list(row) for row in rows]
        mine = self._auction.get()
        for _, _, at, category, seller, expires, _ in offered:
            if expires is not None:
                mine = (at, category, seller, expires)
                self._auction.update(mine)
                self._handle.registerTimer(expires)
        told = [(row[2], row[6]) for row in offered if row[5] is None]
        if mine is None:
            if told:
                self._early.appendList(told)
                self._handle.registerTimer(max(at for at, _ in told) + EARLY_MS)
            return iter(())
        if self._early.exists():
            told += [tuple(each) for each in self._early.get()]
            self._early.clear()
        best = self._best.get()
        prices = [price for at, price in told if mine[0] <= at <= mine[3]]
        if prices and (best is None or max(prices) > best[0]):
            self._best.update((max(prices),))
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803, ARG002
        """Give the auction."""
        mine, best = self._auction.get(), self._best.get()
        self._early.clear()
        if mine is not None and mine[3] <= timerValues.getCurrentWatermarkInMs():
            self._auction.clear()
            self._best.clear()
            yield Row(
                id=key[0],
                expires=_moment(mine[3]),
                category=mine[1],
                seller=mine[2],
                price=None if best is None else best[0],
            )


class AverageLast(StatefulProcessor):
    """Keep the last winning prices of a seller, in the order of their times."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark's call at the start of a task."""
        self._prices = handle.getListState("prices", "price long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803, ARG002
        """Give the average at each new price."""
        prices = [each[0] for each in self._prices.get()]
        for row in sorted(rows, key=lambda row: (row["expires"], row["id"])):
            prices = [*prices, row["price"]][-LAST:]
            yield Row(seller=key[0], expires=row["expires"], average=sum(prices) / len(prices))
        self._prices.put([(price,) for price in prices])


def _moment(milliseconds: int) -> Any:
    from riverlog.pipelines.ordered import moment

    return moment(milliseconds * 1000)
