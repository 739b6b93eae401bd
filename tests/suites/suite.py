"""A suite: how it is fetched and run, and what its report says of each test."""

from __future__ import annotations

import abc
import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

RUN_SECONDS_MAX = 900
CACHE = Path(os.environ.get("RIVERLOG_CACHE") or Path.home() / ".cache" / "riverlog") / "suites"
LISTS = Path(__file__).parent / "passing"

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

Outcomes = dict[str, str]
"""What became of each test, by its name."""


class SuiteFailed(Exception):
    """The suite could not be fetched, built or run to its end: what it said last."""


class Suite(abc.ABC):
    """Somebody else's tests for brokers."""

    name: ClassVar[str]
    settings: ClassVar[Mapping[str, str]] = {}
    """What the suite expects of the broker."""
    port: ClassVar[int] = 0
    """The port the suite expects it on; 0 is any."""
    builders: ClassVar[tuple[str, ...]] = ()
    """The programs that build it, apart from Python."""

    @abc.abstractmethod
    def fetch(self) -> None:
        """Have the suite and what it needs on this machine; does nothing once that is so."""

    @abc.abstractmethod
    def run(self, bootstrap: str) -> Outcomes:
        """Run all its tests against the broker."""

    @property
    def list_path(self) -> Path:
        return LISTS / f"{self.name}.txt"

    def listed(self) -> set[str]:
        """The tests that are known to pass."""
        return set(self.list_path.read_text().split("\n")) - {""}

    def accept(self, names: set[str]) -> None:
        """Add to the tests that are known to pass."""
        self.list_path.write_text("".join(f"{name}\n" for name in sorted(self.listed() | names)))


def gentle(
    command: Sequence[str | Path], *, cwd: Path, log: Path, environment: Mapping[str, str] | None = None
) -> int:
    """Run at low priority, with all output appended to a log, and return the exit code.

    Suites wait without a limit for what a broker does not do: at the end of ours the command is ended, with
    what it started, and the tests that it had not come to count as not run.
    """
    with open(log, "ab") as output:
        process = subprocess.Popen(
            ["nice", "-n", "10", *command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        try:
            return process.wait(RUN_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL
        finally:
            # the leader may be gone and its children not
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def must(command: Sequence[str | Path], *, cwd: Path, log: Path) -> None:
    """Run to the end; whatever is not a success ends the suite, with the log's last lines."""
    code = gentle(command, cwd=cwd, log=log)
    if code != 0:
        words = " ".join(str(word) for word in command)
        raise SuiteFailed(f"{words}: exit code {code}\n{log.read_text(errors='replace')[-3000:]}")


RUNNING = re.compile(r"^ +Running (?:unittests )?(\S+) \(")
RESULT = re.compile(r"^test (\S+) \.\.\. (ok|FAILED|ignored)")
WORDS = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}


def cargo_outcomes(report: str) -> Outcomes:
    """Read what `cargo test` printed: the file it runs, then a line for each test in it."""
    outcomes: Outcomes = {}
    file = ""
    for line in report.splitlines():
        if (running := RUNNING.match(line)) is not None:
            file = running[1]
        elif (result := RESULT.match(line)) is not None:
            outcomes[f"{file}::{result[1]}"] = WORDS[result[2]]
    return outcomes
