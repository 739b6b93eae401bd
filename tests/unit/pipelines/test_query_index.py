"""Stored queries: the index finds what comparing every query with every event finds, and compares few."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverlog.pipelines.query_index import Query, QueryIndex, QueryRefused, answers

SYMBOLS = st.sampled_from("ABC")
TEXTS = st.lists(st.sampled_from(["oil", "strike", "calm"]), max_size=3).map(" ".join)
BOUNDS = st.tuples(st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))


@st.composite
def queries(draw: st.DrawFn) -> list[Query]:
    made = []
    for number in range(draw(st.integers(0, 12))):
        equals = draw(st.dictionaries(st.just("symbol"), SYMBOLS | st.frozensets(SYMBOLS, min_size=1)))
        ranges = draw(st.dictionaries(st.sampled_from(["price", "size"]), BOUNDS.filter(any_bound)))
        texts = draw(st.dictionaries(st.just("headline"), TEXTS.filter(bool)))
        if equals or ranges or texts:
            made.append(Query(f"q{number:02d}", equals, ranges, texts))
    return made


def any_bound(bounds: tuple[Any, Any]) -> bool:
    return bounds != (None, None)


EVENTS = st.fixed_dictionaries(
    {
        "symbol": st.none() | SYMBOLS,
        "price": st.none() | st.integers(0, 9),
        "size": st.none() | st.integers(0, 9),
        "headline": st.none() | TEXTS.map(str.upper),
    }
)


@given(stored=queries(), events=st.lists(EVENTS, max_size=8))
def test_the_index_finds_what_asking_every_query_finds(
    stored: list[Query], events: list[dict[str, Any]]
) -> None:
    index = QueryIndex(stored)

    for event in events:
        assert index.match(event) == [query.name for query in stored if answers(query, event)]
        waiting = [query.name for query in index.candidates(event)]
        assert len(waiting) == len(set(waiting))


def test_an_event_is_compared_with_few_of_ten_thousand_queries() -> None:
    stored = [
        Query(f"s{n}", equals={"user": n, "kind": "paid"}, ranges={"price": (5, None)}) for n in range(5000)
    ]
    stored += [Query(f"w{n}", words={"headline": f"oil word{n}"}) for n in range(4000)]
    stored += [Query(f"r{n}", ranges={"price": (n, None)}) for n in range(1000)]
    index = QueryIndex(stored)
    event = {"user": 7, "kind": "paid", "price": 9, "headline": "word3 rises with oil"}

    # One by user, one by the rarer word, and those whose bound is reached, all of which match.
    assert len(list(index.candidates(event))) == 1 + 1 + 10
    assert len(index.match(event)) == 12


def test_conditions_are_all_to_hold_and_bounds_are_included() -> None:
    query = Query(
        "q", equals={"symbol": frozenset("AB")}, ranges={"price": (3, 5)}, words={"headline": "Oil strike"}
    )
    event = {"symbol": "A", "price": 5, "headline": "a STRIKE, and oil."}

    assert answers(query, event)
    assert not answers(query, event | {"price": 6})
    assert not answers(query, event | {"symbol": "C"})
    assert not answers(query, event | {"headline": "oilstrike"})
    assert not answers(query, event | {"headline": None})


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        ([Query("q")], "'q' asks nothing"),
        ([Query("q", {"a": 1}), Query("q", {"a": 2})], "'q' is there twice"),
        ([Query("q", {"a": None})], "'a' to equal null"),
        ([Query("q", {"a": frozenset()})], "'a' to equal null or nothing"),
        ([Query("q", ranges={"a": (None, None)})], "no bound for 'a'"),
        ([Query("q", words={"a": " - "})], "no word for 'a'"),
    ],
)
def test_a_query_that_asks_nothing_clear_is_refused_by_name(stored: list[Query], why: str) -> None:
    with pytest.raises(QueryRefused, match=why):
        QueryIndex(stored)
