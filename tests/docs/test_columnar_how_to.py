"""The how-to about DuckDB and Polars: its commands and programs run in order and print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.live_broker import LiveBroker

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "query-the-log-with-duckdb-and-polars.md"
STEPS = re.compile(
    r"```console\n\$ (?P<command>.*?)\n```|```python\n# (?P<name>\S+)\n(?P<program>.*?)```"
    r"(?:\n\n```text\n(?P<promised>.*?)```)?",
    re.DOTALL,
)
LEFT_OUT = ("pip install 'riverlog[arrow]' duckdb polars", "riverlog up &")
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"


class Step(NamedTuple):
    """A command, or a program and what it prints."""

    command: str | None
    name: str | None
    program: str | None
    promised: str | None


def steps() -> list[Step]:
    return [
        Step(*found.group("command", "name", "program", "promised"))
        for found in STEPS.finditer(PAGE.read_text())
    ]


def ran(command: list[str], directory: Path, bootstrap: str) -> str:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RIVERLOG_BOOTSTRAP": bootstrap,
    }
    finished = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert finished.returncode == 0, f"{command}: {finished.stdout}{finished.stderr}"
    return finished.stdout


def test_the_page_works_when_pasted(tmp_path: Path) -> None:
    programs = commands = 0
    with LiveBroker(tmp_path / "riverlog-data") as broker:
        for step in steps():
            if step.command is not None and step.command not in LEFT_OUT:
                ran(["bash", "-c", step.command], tmp_path, broker.bootstrap)
                commands += 1
            if step.program is not None:
                assert step.name is not None
                # The page's broker listens where it does by default, the test's where it is free.
                program = step.program.replace(DEFAULT_BOOTSTRAP, broker.bootstrap)
                program = re.sub(r'read\("orders"', f'read("orders", bootstrap="{broker.bootstrap}"', program)
                (tmp_path / step.name).write_text(program)
                assert ran([sys.executable, step.name], tmp_path, broker.bootstrap) == step.promised, (
                    step.name
                )
                programs += 1

    assert (commands, programs) == (3, 6)


def test_the_columns_on_the_page_are_those_there_are() -> None:
    columnar = pytest.importorskip("riverlog.columnar")

    listed = re.findall(r"^\| `(\w+)` \| (\S+)", PAGE.read_text(), re.MULTILINE)

    assert [name for name, _ in listed] == list(columnar.COLUMNS)
    for name, kind in listed:
        field = columnar.schema().field(name)
        assert str(field.type).startswith(kind.rstrip(",")), (name, kind, field.type)
