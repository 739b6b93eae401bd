"""The how-to about testing: each of its examples runs as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-with-a-real-broker.md"
EXAMPLES = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL))


def run(directory: Path, *arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, *arguments], cwd=directory, capture_output=True, text=True, timeout=120, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def test_every_example_is_found() -> None:
    assert PAGE.read_text().count("```python") == len(EXAMPLES) == 6


@pytest.mark.parametrize("name", sorted(name for name in EXAMPLES if name.startswith("test_")))
def test_each_test_on_the_page_passes(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(EXAMPLES[name])

    printed = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", name)

    assert "1 passed" in printed


def test_the_settings_on_the_page_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(EXAMPLES["conftest.py"])
    (tmp_path / "test_settings.py").write_text(
        "def test_settings(riverlog_broker):\n    assert riverlog_broker.bootstrap\n"
    )

    printed = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider")

    assert "1 passed" in printed


def test_the_program_on_the_page_prints_an_address(tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(EXAMPLES["example.py"])

    assert run(tmp_path, "example.py").startswith("a broker listens on 127.0.0.1:")
