"""One line about long work, on a terminal only."""

import io

import pytest

from riverlog.cli import progress
from riverlog.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Stands in for the `time` module."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_short_work_stays_quiet(clock: Clock) -> None:
    terminal = Terminal()
    shown = Progress(stream=terminal)

    clock.now += 0.9
    shown.advance(1000, 5000)
    shown.clear()

    assert terminal.getvalue() == ""


def test_long_work_is_shown_and_taken_away_again(clock: Clock) -> None:
    terminal = Terminal()
    shown = Progress(stream=terminal)

    clock.now += 2
    shown.advance(1000, 5000)
    shown.clear()

    line = "1,000 records, 5.0 KB in 2.0 s, 500/s"
    assert terminal.getvalue() == f"\r{line}\r{' ' * len(line)}\r"


def test_the_line_is_not_rewritten_for_every_record(clock: Clock) -> None:
    terminal = Terminal()
    shown = Progress(stream=terminal)

    clock.now += 2
    for _ in range(1000):
        shown.advance(1, 1)

    assert terminal.getvalue().count("\r") == 1
    assert shown.count == 1000


def test_nothing_is_shown_where_nobody_looks(clock: Clock) -> None:
    file, terminal = io.StringIO(), Terminal()

    for shown in (Progress(stream=file), Progress(stream=terminal, is_shown=False)):
        clock.now += 2
        shown.advance(1, 1)
        shown.clear()

    assert file.getvalue() == terminal.getvalue() == ""
