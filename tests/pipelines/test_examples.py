"""The examples on a stream in disorder, beside what plain Python computes over all their events at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from riverlog.examples import Arrival, Example, comparable, examples
from riverlog.examples.app import app
from riverlog.testing.pipelines import Source, Streams

from .histories import seeds

COUNT = 240
FEEDS = 3


@pytest.mark.parametrize("seed", seeds(8))
@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_a_stream_in_disorder_gives_what_a_computation_over_all_events_gives(
    example: Example, seed: int, riverlog_streams: Streams
) -> None:
    print(f"{example.name}, seed {seed}")
    arrivals = example.events(seed, COUNT)
    sources = {each.topic: riverlog_streams.source(each.schema) for each in example.inputs}
    results = example.pipeline(*(source.frame for source in sources.values()))
    output = riverlog_streams.start(results)

    for feed in feeds(example, arrivals):
        deliver(sources, feed)
    deliver(sources, example.closing)

    rows = [dict(zip(results.columns, row, strict=True)) for row in output.rows()]
    expected = comparable(example.expected(arrivals))
    assert len(expected) >= 5
    assert output.dropped() == 0
    assert comparable(example.settled(rows)) == expected


def test_the_app_has_each_example_as_a_query(riverlog_streams: Streams) -> None:
    class Topics:
        def topic(self, name: str, *, schema: str) -> Any:
            asked.append(name)
            return riverlog_streams.source(schema).frame

    for query, example in zip(app.queries, examples(), strict=True):
        asked: list[str] = []
        frame = query.function(Topics())

        assert (query.name, query.output) == (example.name, example.output)
        assert asked == [each.topic for each in example.inputs]
        assert frame.isStreaming


def feeds(example: Example, arrivals: Sequence[Arrival]) -> Iterator[Sequence[Arrival]]:
    """Cut what arrives into batches: by turns of the topics where the result goes by them."""
    if example.goes_by_arrival:
        for _, turn in itertools.groupby(arrivals, key=lambda arrival: arrival.topic):
            yield list(turn)
        return
    size = -(-len(arrivals) // FEEDS)
    for start in range(0, len(arrivals), size):
        yield arrivals[start : start + size]


def deliver(sources: dict[str, Source], arrivals: Sequence[Arrival]) -> None:
    for topic, source in sources.items():
        rows = [arrival.row or {} for arrival in arrivals if arrival.topic == topic]
        if rows:
            source.feed(*rows)
