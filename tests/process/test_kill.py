"""kill -9 under load: what was acknowledged with acks=all is there, once, in order, at its offset.

A failing run prints its seed; RIVERLOG_TEST_SEED=N repeats the choices (not the scheduling).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.process.crash_rounds import CrashRounds


def run_rounds(data: Path, seed: int, rounds: int) -> None:
    crashes = CrashRounds(data, seed, print)
    crashes.run(rounds)
    starts = sorted(crashes.starts_seconds)
    print(f"{len(starts)} starts: median {starts[len(starts) // 2]:.2f} s, longest {starts[-1]:.2f} s")


def test_what_was_acknowledged_survives_ten_kills_under_load(tmp_path: Path, seed: int) -> None:
    run_rounds(tmp_path / "data", seed, 10)


@pytest.mark.slow
def test_what_was_acknowledged_survives_two_hundred_kills_under_load(tmp_path: Path, seed: int) -> None:
    run_rounds(tmp_path / "data", seed, 200)
