"""The suite of a Go module: franz-go, a client of its own that shares no code with Java's or librdkafka.

go brings a module's source by its name; the tests are built and run in a copy of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import ClassVar

from .suite import CACHE, FAILED, PASSED, SKIPPED, Outcomes, Suite, gentle, must

RESULT = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+)")
WORDS = {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED}
EMPTY_MODULE = "module get\n"


def go_outcomes(report: str) -> Outcomes:
    """Read what `go test -v` printed: a line for each test and for each of its parts."""
    found = (RESULT.match(line) for line in report.splitlines())
    return {result[2]: WORDS[result[1]] for result in found if result is not None}


class FranzGo(Suite):
    """Groups of both protocols and transactions under load, and what its users once reported."""

    name = "franz-go"
    module: ClassVar[str] = "github.com/twmb/franz-go"
    version: ClassVar[str] = "v1.22.2"
    settings = {"group.initial.rebalance.delay.ms": "0"}  # noqa: RUF012 - a constant mapping

    builder = "go"
    home = CACHE / "go"
    source = home / f"franz-go-{version}"
    program = home / f"franz-go-{version}.test"
    log = home / "franz-go.log"

    def fetch(self) -> None:
        if self.program.exists():
            return
        getting = self.home / "get"
        getting.mkdir(parents=True, exist_ok=True)
        (getting / "go.mod").write_text(EMPTY_MODULE)
        must(["go", "mod", "download", f"{self.module}@{self.version}"], cwd=getting, log=self.log)
        kept = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True)
        if not self.source.exists():
            # What go keeps is read-only.
            shutil.copytree(
                os.path.join(kept.stdout.strip(), f"{self.module}@{self.version}"),
                self.source,
                copy_function=shutil.copyfile,
            )
            for folder, _, _ in os.walk(self.source):
                os.chmod(folder, 0o755)
        must(["go", "test", "-c", "-o", self.program, "./pkg/kgo"], cwd=self.source, log=self.log)

    def run(self, bootstrap: str) -> Outcomes:
        self.log.write_text("")
        gentle(
            [self.program, "-test.v", "-test.timeout", "14m"],
            cwd=self.source / "pkg" / "kgo",
            log=self.log,
            environment={"KGO_SEEDS": bootstrap, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": "50000"},
        )
        return go_outcomes(self.log.read_text(errors="replace"))
