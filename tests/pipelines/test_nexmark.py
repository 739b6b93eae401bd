"""The bench's NEXMark queries, on a stream of a few thousand events, beside the same questions in Python."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bench.pipelines.nexmark import generator
from bench.pipelines.nexmark.queries import QUERIES
from riverlog.testing.pipelines import Streams

COUNT = 4000
FEEDS = 3
SEED = 4
# Nearly the time that 400,000 events take in the bench, so that windows of ten seconds follow each other.
STRETCH = 100

Event = dict[str, Any]


def stretched() -> list[Event]:
    events = [json.loads(value) for value in generator.events(SEED, COUNT)]
    for event in events:
        if event["at"] < generator.CLOSES_MS:
            at = generator.BEGINS_MS + (event["at"] - generator.BEGINS_MS) * STRETCH
            if "expires" in event:
                event["expires"] = at + (event["expires"] - event["at"]) * STRETCH
            event["at"] = at
    return events


def moment(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def window(event: Event) -> datetime:
    return moment(event["at"] // 10_000 * 10_000)


def is_closing(event: Event) -> bool:
    return bool(event["at"] == generator.CLOSES_MS)


def of(kind: str, events: list[Event]) -> list[Event]:
    return [event for event in events if event["kind"] == kind]


def won(events: list[Event]) -> list[tuple[Event, int]]:
    """Give each auction that somebody bid for in time with its highest bid, in the order of their ends."""
    bids = defaultdict(list)
    for bid in of("bid", events):
        bids[bid["auction"]].append(bid)
    closed = []
    for auction in of("auction", events):
        prices = [
            bid["price"] for bid in bids[auction["id"]] if auction["at"] <= bid["at"] <= auction["expires"]
        ]
        if prices and not is_closing(auction):
            closed.append((auction, max(prices)))
    return sorted(closed, key=lambda each: (each[0]["expires"], each[0]["id"]))


def q0(events: list[Event]) -> list[Any]:
    return [(bid["auction"], bid["bidder"], bid["price"], moment(bid["at"])) for bid in of("bid", events)]


def q1(events: list[Event]) -> list[Any]:
    return [(auction, bidder, pytest.approx(price * 0.908), at) for auction, bidder, price, at in q0(events)]


def q2(events: list[Event]) -> list[Any]:
    return [(bid["auction"], bid["price"]) for bid in of("bid", events) if bid["auction"] % 123 == 0]


def q3(events: list[Event]) -> list[Any]:
    sellers = {each["id"]: each for each in of("person", events) if each["state"] in ("OR", "ID", "CA")}
    return [
        (*(sellers[each["seller"]][name] for name in ("name", "city", "state")), each["id"])
        for each in of("auction", events)
        if each["category"] == 10 and each["seller"] in sellers
    ]


def q4(events: list[Event]) -> list[Any]:
    prices = defaultdict(list)
    for auction, price in won(events):
        prices[moment(auction["expires"] // 60_000 * 60_000), auction["category"]].append(price)
    return [(*group, pytest.approx(sum(found) / len(found))) for group, found in prices.items()]


def q5(events: list[Event]) -> list[Any]:
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for bid in of("bid", events):
        for back in range(5):
            since = bid["at"] // 2000 * 2000 - back * 2000
            if not is_closing(bid):
                counts[since][bid["auction"]] += 1
    best = {since: max((bids, auction) for auction, bids in found.items()) for since, found in counts.items()}
    return [(moment(since), auction, bids) for since, (bids, auction) in best.items()]


def q6(events: list[Event]) -> list[Any]:
    prices: dict[int, list[int]] = defaultdict(list)
    averages = []
    for auction, price in won(events):
        last = prices[auction["seller"]] = [*prices[auction["seller"]], price][-10:]
        averages.append((auction["seller"], moment(auction["expires"]), pytest.approx(sum(last) / len(last))))
    return averages


def q7(events: list[Event]) -> list[Any]:
    highest: dict[datetime, tuple[int, int, int]] = {}
    for bid in of("bid", events):
        if not is_closing(bid):
            mine = (bid["price"], bid["bidder"], bid["auction"])
            highest[window(bid)] = max(highest.get(window(bid), mine), mine)
    return [(since, *found) for since, found in highest.items()]


def q8(events: list[Event]) -> list[Any]:
    sellers = {(each["seller"], window(each)) for each in of("auction", events)}
    return [
        (each["id"], each["name"], window(each))
        for each in of("person", events)
        if (each["id"], window(each)) in sellers
    ]


@pytest.mark.slow
@pytest.mark.parametrize("by_hand", [q0, q1, q2, q3, q4, q5, q6, q7, q8])
def test_a_query_answers_what_is_found_by_hand(
    by_hand: Callable[[list[Event]], list[Any]], riverlog_streams: Streams
) -> None:
    events = stretched()
    source = riverlog_streams.source(generator.SCHEMA)
    output = riverlog_streams.start(QUERIES[by_hand.__name__](source.frame))

    size = -(-len(events) // FEEDS)
    for start in range(0, len(events), size):
        source.feed(*events[start : start + size])

    expected = by_hand(events)
    assert expected
    assert sorted(output.rows(), key=repr_of) == sorted(expected, key=repr_of)


def repr_of(row: tuple[Any, ...]) -> str:
    return repr([getattr(value, "expected", value) for value in row])
