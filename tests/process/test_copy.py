"""Records are copied from topic to topic, each once and in order, whoever dies or freezes on the way.

A failing run prints its seed; RIVERLOG_TEST_SEED=N repeats the choices (not the scheduling).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.process.copy_rounds import CopyRounds


def test_a_copy_equals_its_source_after_three_rounds_of_crashes(tmp_path: Path, seed: int) -> None:
    CopyRounds(tmp_path / "data", seed, print).run(3)


@pytest.mark.slow
def test_a_copy_equals_its_source_after_a_hundred_rounds_of_crashes(tmp_path: Path, seed: int) -> None:
    CopyRounds(tmp_path / "data", seed, print).run(100)


@pytest.mark.slow
def test_a_copy_by_aiokafka_equals_its_source_after_thirty_rounds_of_crashes(
    tmp_path: Path, seed: int
) -> None:
    CopyRounds(tmp_path / "data", seed, print, "tests.process.aiokafka_copier").run(30)
