"""Rows of bench.pipelines: medians, ratios of neighbouring turns, promises, and the page."""

from __future__ import annotations

from pathlib import Path

from bench.pipelines import report
from bench.pipelines.contest import Contest, Figure, Promise, is_met, line
from bench.pipelines.kept import Kept, read
from bench.pipelines.nexmark import generator
from bench.report import record

RATE = Figure("rate", "events", "k per s", digits=0)
TURNS = {"ours": [{"rate": 400}, {"rate": 300}, {"rate": 350}], "theirs": [{"rate": 200}, {"rate": 100}]}


def contest(*promises: Promise) -> Contest:
    return Contest(
        name="row",
        title="a row",
        contenders=("ours", "theirs", "absent"),
        figures=(RATE,),
        promises=promises,
        prepare=lambda broker, scale: None,
        measure=lambda broker, prepared, contender, turn: {},
    )


def kept(failure: str | None = None) -> Kept:
    return Kept("row", "today", {"cores": "2"}, 1.0, TURNS, failure)


def test_a_ratio_is_the_median_of_those_of_neighbouring_turns() -> None:
    found = line(RATE, ["ours", "theirs", "absent"], TURNS)

    assert found.medians == {"ours": 350, "theirs": 150}
    assert found.ratios == {"theirs": (2.5, 2.0, 3.0)}


def test_a_promise_is_judged_by_our_median_or_by_our_ratio_or_not_at_all() -> None:
    contenders = ["ours", "theirs", "absent"]
    lines = [line(RATE, contenders, TURNS)]

    assert is_met(Promise("rate", 380), contenders, lines) is False
    assert is_met(Promise("rate", 350), contenders, lines) is True
    assert is_met(Promise("rate", 2.5, "theirs"), contenders, lines) is True
    assert is_met(Promise("rate", 1.0, "absent"), contenders, lines) is None


def test_a_page_says_who_was_measured_and_what_was_not_kept() -> None:
    page = report.markdown(contest(Promise("rate", 380), Promise("rate", 1.0, "absent")), kept())

    assert "### A row (`row`)" in page
    assert "| events | k per s | 350 | 150 | 2.50 (2.00-3.00) |  |  |" in page
    assert "- events ≥ 380: NOT KEPT" in page
    assert "absent:" not in page


def test_a_row_without_a_result_says_why() -> None:
    assert "FAILED: it broke" in report.terminal(contest(), kept("it broke"))
    assert "No result: it broke" in report.markdown(contest(), kept("it broke\nin many words"))


def test_the_newest_result_of_a_row_is_kept(tmp_path: Path) -> None:
    assert read(tmp_path, "row") is None

    kept().write(tmp_path)

    assert read(tmp_path, "row") == kept()


def test_a_page_keeps_what_lies_outside_the_marks() -> None:
    page = f"before\n{report.START_MARK}\nold\n{report.END_MARK}\nafter\n"

    written = record(page, "new", report.START_MARK, report.END_MARK)

    assert written == f"before\n{report.START_MARK}\nnew\n{report.END_MARK}\nafter\n"


def test_an_auction_has_persons_auctions_and_bids_in_proportion() -> None:
    events = list(generator.events(1, 500))

    assert len(events) == 503
    assert sum(b'"kind":"person"' in event for event in events) == 11
    assert sum(b'"kind":"auction"' in event for event in events) == 31
    assert events == list(generator.events(1, 500))
