"""The how-to about running and upgrading, followed from first to last, on the one Spark of the tests."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from riverlog.cli import main
from riverlog.testing import BrokerProcess, broker
from tests.docs.page import DEFAULT_ADDRESS, FILE_NAME, Reader, blocks

PAGE = "how-to/run-and-upgrade-pipelines.md"
MAY_FAIL = " || true"
OURS = ("riverlog run", "riverlog pipelines")
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@pytest.fixture
def own_broker() -> Iterator[BrokerProcess]:
    """A broker on which nobody else's apps are listed."""
    with broker() as running:
        yield running


def test_the_page_does_what_it_says(
    own_broker: BrokerProcess,
    riverlog_spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIVERLOG_BOOTSTRAP", own_broker.bootstrap)
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    reader = Reader(tmp_path, own_broker.bootstrap)
    ran, read = 0, ""

    for block in blocks(PAGE):
        if block.kind == "python":
            capsys.readouterr()
            take(block.text, tmp_path, own_broker.bootstrap)
            read = capsys.readouterr().out or read
            continue
        for command, promised in COMMAND.findall(block.text):
            printed = run_here(command, capsys) if command.startswith(OURS) else reader.run(command)
            assert printed == promised or not promised, command
            ran += 1

    assert ran > 10
    assert read == (
        'cents-per-minute.v2 b\'{"minute":"2026-01-01T10:00:00.000Z","page":"home","cents":10.0}\'\n'
        'cents-per-minute.v2 b\'{"minute":"2026-01-01T10:02:00.000Z","page":"home","cents":4.0}\'\n'
    )


def take(program: str, directory: Path, address: str) -> None:
    """Keep a program that names its file, run any other."""
    named = FILE_NAME.match(program)
    if named:
        (directory / named[1]).write_text(program)
    else:
        given: dict[str, object] = {}
        exec(program.replace(DEFAULT_ADDRESS, address), given)


def run_here(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run one of our commands in this process, which has Spark already."""
    capsys.readouterr()
    sys.modules.pop("app", None)  # each command of the page is a program that imports it anew
    code = main(shlex.split(command.removesuffix(MAY_FAIL).removeprefix("riverlog ")))
    printed = capsys.readouterr()
    assert code == (1 if command.endswith(MAY_FAIL) else 0), f"{command}: {printed.out}{printed.err}"
    return printed.out
