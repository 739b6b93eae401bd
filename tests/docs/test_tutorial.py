"""The tutorial works when pasted: its commands and programs run in order, and print what it says."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-steps.md"
BLOCKS = re.findall(r"```(console|python)\n(.*?)```", PAGE.read_text(), re.DOTALL)
STARTS_BROKER = "riverlog up &"
DEFAULT_ADDRESS = "127.0.0.1:9092"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The broker that the tutorial starts, on a free port: 9092 may be somebody's."""
    no_delay = ["--set", "group.initial.rebalance.delay.ms=0"]
    broker = subprocess.Popen(
        [sys.executable, "-m", "riverlog", "up", "--port", "0", *no_delay],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert broker.stdout is not None
    yield broker.stdout.readline().removeprefix("listening on ").strip()
    broker.terminate()
    broker.wait(30)
    broker.stdout.close()


def run(command: list[str], directory: Path, address: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    finished = subprocess.run(
        command,
        cwd=directory,
        env=os.environ | {"PATH": path, "RIVERLOG_BOOTSTRAP": address},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert finished.returncode == 0, f"{command}: {finished.stdout}{finished.stderr}"
    return finished.stdout


def test_the_tutorial_works_when_pasted(tmp_path: Path, address: str) -> None:
    ran = []
    for kind, text in BLOCKS:
        if kind == "python":
            run([sys.executable, "-c", text.replace(DEFAULT_ADDRESS, address)], tmp_path, address)
            ran.append("python")
            continue
        command, _, promised = text.removeprefix("$ ").partition("\n")
        if command.startswith("pip install") or command == STARTS_BROKER:
            continue
        printed = run(["bash", "-c", command], tmp_path, address)
        ran.append(command)
        if promised:
            assert sorted(printed.splitlines()) == sorted(promised.splitlines()), command

    assert len(ran) == 8
