"""Patterns on a stream: fraud on a card, in disorder, beside the same machine over all events at once."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from riverlog.pipelines import ColumnRefused, Pattern, absent, match_pattern, step
from riverlog.pipelines.nfa import PatternMachine
from riverlog.testing.pipelines import Streams, at

from .histories import history, seeds

SCHEMA = "card string, at timestamp, cents int, kind string"
DELAY = timedelta(minutes=5)
FRAUD = Pattern(
    [
        step("trial", "cents <= 100", at_least=2, at_most=3),
        step("lookup", "kind = 'query'", at_least=0),
        step("haul", "cents > 50000"),
    ],
    within=timedelta(minutes=3),
)


def payment(chance: random.Random, time: datetime) -> tuple[Any, ...]:
    # A microsecond of its own tells each event from the others.
    return (
        chance.choice("ab"),
        time + timedelta(microseconds=chance.randrange(10**6)),
        chance.choice([50, 80, 3000, 60000]),
        chance.choice(["payment", "query"]),
    )


def by_hand(events: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    results = []
    for card in {event[0] for event in events}:
        rows = []
        for event in sorted(
            (event for event in events if event[0] == card), key=lambda event: (event[1], repr(event))
        ):
            small, query, big = event[2] <= 100, event[3] == "query", event[2] > 50000
            hits = small | query << 1 | big << 2
            rows.append(((event[1] - epoch) // timedelta(microseconds=1), hits, event[1:]))
        made = PatternMachine(FRAUD).step([], [row for row in rows if row[1]], 10**18)
        for ended, began, trials, lookups, hauls in made.results:
            end, start = (epoch + timedelta(microseconds=time) for time in (ended, began))
            first = [each[0] if each else None for each in (lookups, hauls)]
            results.append((card, end, start, trials, *first))
    return results


@pytest.mark.parametrize("seed", seeds(5))
def test_a_stream_in_disorder_finds_what_is_there_in_all_events_at_once(
    riverlog_streams: Streams, seed: int
) -> None:
    made = history(seed, payment, delay=DELAY, count=120)
    source = riverlog_streams.source(SCHEMA, event_time="at", delay=DELAY)
    output = riverlog_streams.start(
        source.frame.transform(match_pattern(FRAUD, by=["card"], event_time="at"))
    )

    for batch in made.batches:
        source.feed(*batch)
    source.advance("20:00:00")

    expected = by_hand(made.punctual)
    assert len(expected) > 3
    assert output.kept() == 0
    assert sorted(output.rows(), key=repr) == sorted(expected, key=repr)


def test_an_absence_is_found_when_the_watermark_says_that_nothing_more_can_come(
    riverlog_streams: Streams,
) -> None:
    unpaid = Pattern(
        [step("order", "kind = 'order'"), absent("paid", "kind = 'paid'")], timedelta(minutes=10)
    )
    source = riverlog_streams.source("id int, at timestamp, kind string", event_time="at")
    output = riverlog_streams.start(
        source.frame.transform(match_pattern(unpaid, by=["id"], event_time="at", columns=["kind"]))
    )

    source.feed((1, "10:00:00", "order"), (2, "10:00:00", "order"), (1, "10:09:00", "paid"))
    source.advance("10:09:59")
    assert output.take() == []
    source.advance("10:10:00")

    assert output.take() == [(2, at("10:10:00"), at("10:00:00"), ("order",))]


def test_what_cannot_be_matched_is_refused_by_name(riverlog_streams: Streams) -> None:
    frame = riverlog_streams.source(SCHEMA, event_time="at").frame

    with pytest.raises(ColumnRefused, match="by='person' names no column"):
        frame.transform(match_pattern(FRAUD, by=["person"], event_time="at"))
    with pytest.raises(ColumnRefused, match="columns='euros' names no column"):
        frame.transform(match_pattern(FRAUD, by=["card"], event_time="at", columns=["euros"]))
    pattern = Pattern([step("card", "true")], timedelta(minutes=1))
    with pytest.raises(ColumnRefused, match="step 'card' has the name of a column of the result"):
        frame.transform(match_pattern(pattern, by=["card"], event_time="at"))
