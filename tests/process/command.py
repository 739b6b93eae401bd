"""The installed command, run as its users run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXECUTABLE = str(Path(sys.executable).with_name("riverlog"))
SECONDS_MAX = 60.0
"""No command here needs that long; one that does hangs."""


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Its output as text."""
        return self.out.decode()

    @property
    def lines(self) -> list[str]:
        """Its output line by line."""
        return self.text.splitlines()

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Its output as JSON, one object per line."""
        return [json.loads(line) for line in self.lines]


class Riverlog:
    """The command `riverlog`, pointed at one cluster."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def __call__(self, *arguments: str, stdin: bytes = b"", expect: int = 0) -> Finished:
        """Run to the end and check the exit code."""
        finished = subprocess.run(
            [EXECUTABLE, *arguments],
            input=stdin,
            capture_output=True,
            env=self.environment(),
            timeout=SECONDS_MAX,
            check=False,
        )
        error = finished.stderr.decode()
        assert finished.returncode == expect, f"exit code {finished.returncode}, not {expect}:\n{error}"
        return Finished(finished.returncode, finished.stdout, error)

    @contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Start and leave it running; it is gone with the block, whatever happens there."""
        process = subprocess.Popen(
            [EXECUTABLE, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(),
        )
        with process:  # closes the pipes at the end
            try:
                yield process
            finally:
                process.kill()

    def environment(self) -> dict[str, str]:
        """The tests' environment without settings of riverlog, and with the cluster's address."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RIVERLOG_")}
        return {**kept, "RIVERLOG_BOOTSTRAP": self.bootstrap}
