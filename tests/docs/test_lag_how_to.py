"""The how-to about lag works when pasted: its commands run in order and print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from riverlog.groups import Lag, Risk, warning
from riverlog.log.retention import Outlook

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "watch-consumer-lag.md"
COMMANDS = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE.read_text(), re.DOTALL)
STARTS_BROKER = "riverlog up --set metrics.port=9464 &"
DEFAULT_METRICS = "http://127.0.0.1:9464/metrics"


@pytest.fixture
def addresses(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The broker that the page starts and its metrics, both on free ports."""
    settings = ["metrics.port=0", "group.initial.rebalance.delay.ms=0"]
    broker = subprocess.Popen(
        [sys.executable, "-m", "riverlog", "up", "--port", "0"]
        + [word for setting in settings for word in ("--set", setting)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert broker.stdout is not None
    listening, metrics = broker.stdout.readline(), broker.stdout.readline()
    yield listening.removeprefix("listening on ").strip(), metrics.removeprefix("metrics on ").strip()
    broker.terminate()
    broker.wait(30)
    broker.stdout.close()


def test_the_page_works_when_pasted(tmp_path: Path, addresses: tuple[str, str]) -> None:
    bootstrap, metrics = addresses
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RIVERLOG_BOOTSTRAP": bootstrap,
    }
    ran = []
    for command, promised in COMMANDS:
        if command == STARTS_BROKER:
            continue
        finished = subprocess.run(
            ["bash", "-c", command.replace(DEFAULT_METRICS, metrics)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert finished.returncode == 0, f"{command}: {finished.stdout}{finished.stderr}"
        ran.append(command)
        if promised:
            assert finished.stdout == promised, command

    assert len(ran) == 11


def test_the_warning_on_the_page_is_what_the_broker_says() -> None:
    now_ms = 1_738_324_800_000  # 2025-01-31T12:00:00Z
    lag = Lag(2, 0, 3, Outlook(4 * 3_600_000, None, 0.17))

    said = warning(("billing", "orders", 0), lag, Risk.AT_RISK, now_ms, 0.0)

    assert f"WARNING riverlog.broker.lag: {said}" in PAGE.read_text().replace("\n", " ")
