from pathlib import Path

import pytest

from bench.report import END_MARK, START_MARK, markdown, record, summary, terminal
from bench.results import Results, RowResult
from bench.row import Figure, Row, System, at_least

ROW = Row(
    name="speed",
    title="how fast it is",
    figures=(Figure("rate", "rate", "k/s", at_least(2.0), digits=1), Figure("cpu", "CPU", "s")),
    measure=lambda _broker, _scale: {},
)
GOOD = RowResult(
    "speed",
    {
        System.PEER: [{"rate": 1000.0, "cpu": 2.0}],
        System.SUBJECT: [{"rate": 2500.0, "cpu": 1.0}],
        System.SUBJECT_FSYNC: [{"rate": 1500.0, "cpu": 1.5}],
    },
)
SLOW = RowResult("speed", {System.PEER: [{"rate": 1000.0}], System.SUBJECT: [{"rate": 1500.0}]})
FAILED = RowResult("speed", {System.PEER: []}, failure="BrokerFailed: it has ended\nits output")


def results(*rows: RowResult) -> Results:
    return Results("2026-01-02 03:04 UTC", {"cores": "2"}, runs=1, scale=1.0, rows=list(rows))


def test_a_row_is_shown_with_ratio_budget_and_verdict() -> None:
    page = markdown(results(GOOD), {"speed": ROW})

    assert "| rate | k/s | 1,000.0 | 2,500.0 | 2.50 (2.50-2.50) | ≥ 2 x | yes | 1,500.0 |" in page
    assert "| CPU | s | 2.00 | 1.00 | 0.50 (0.50-0.50) |  |  | 1.50 |" in page
    assert "| cores | 2 |" in page


def test_a_missed_budget_stands_out() -> None:
    assert "NO" in terminal(ROW, SLOW)
    assert summary([(ROW, SLOW)]).splitlines() == ["0 of 1 budgets met", "not met: speed: rate"]


def test_a_row_without_result_says_why_and_meets_nothing() -> None:
    assert "FAILED: BrokerFailed: it has ended\nits output" in terminal(ROW, FAILED)
    assert "No result: BrokerFailed: it has ended\n" in markdown(results(FAILED), {"speed": ROW})
    assert summary([(ROW, FAILED)]).splitlines() == ["0 of 0 budgets met", "without result: speed"]


def test_recording_replaces_only_what_was_measured() -> None:
    page = f"before\n{START_MARK}\nold\n{END_MARK}\nafter\n"

    assert record(page, "new") == f"before\n{START_MARK}\nnew\n{END_MARK}\nafter\n"


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks"):
        record(f"before\n{START_MARK}\n", "new")


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    kept = tmp_path / "results" / "run.json"
    run = results(GOOD, FAILED)

    run.write(kept)

    assert Results.read(kept) == run
