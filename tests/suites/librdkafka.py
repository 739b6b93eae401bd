"""librdkafka's own tests: a crate carries its source, make and a C compiler build it."""

from __future__ import annotations

import re
import shutil

from .rust import fetched_crate
from .suite import CACHE, FAILED, PASSED, SKIPPED, Outcomes, Suite, gentle, must

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
RESULT = re.compile(r"^\| *(\w+) *\| *(PASSED|FAILED|SKIPPED) *\|")
WORDS = {"PASSED": PASSED, "FAILED": FAILED, "SKIPPED": SKIPPED}
CONFIGURATION = "bootstrap.servers={bootstrap}\ntest.topic.random=true\n"


def librdkafka_outcomes(report: str) -> Outcomes:
    """Read the table that its runner prints at the end."""
    found = (RESULT.match(COLOUR.sub("", line)) for line in report.splitlines())
    return {result[1]: WORDS[result[2]] for result in found if result is not None}


class Librdkafka(Suite):
    """Old and new message formats, groups, transactions, compaction, administration, broken connections."""

    name = "librdkafka"
    crate, version = "rdkafka-sys", "4.10.0+2.12.1"
    settings = {"num.partitions": "4"}  # noqa: RUF012 - a constant mapping

    builders = ("cargo", "make", "bash", "cc", "c++")
    home = CACHE / "c"
    source = home / f"librdkafka-{version}"
    program = source / "tests" / "test-runner"
    log = home / "librdkafka.log"

    def fetch(self) -> None:
        if self.program.exists():
            return
        if not self.source.exists():
            crate = fetched_crate(self.crate, self.version, home=self.home, log=self.log)
            shutil.copytree(crate / "librdkafka", self.source)
            # It asks for three replicas where one will do.
            file = self.source / "tests" / "test.c"
            text = file.read_text()
            creation = re.search(r"void test_admin_create_topic\([^{]*\{\n(?: {8}\S.*;\n)*", text)
            assert creation is not None, f"{file} is not the one that this was written for"
            at = creation.end()
            file.write_text(f"{text[:at]}        replication_factor = 1;\n{text[at:]}")
        must(["bash", "./configure", "--disable-gssapi"], cwd=self.source, log=self.log)
        must(["make", "-j2", "libs"], cwd=self.source, log=self.log)
        must(["make", "-j2", "-C", "tests", "build"], cwd=self.source, log=self.log)

    def run(self, bootstrap: str) -> Outcomes:
        self.log.write_text("")
        (self.program.parent / "test.conf").write_text(CONFIGURATION.format(bootstrap=bootstrap))
        libraries = f"{self.source / 'src'}:{self.source / 'src-cpp'}"
        gentle(
            # quick; without the tests that need no broker
            [self.program, "-p3", "-Q", "-L"],
            cwd=self.program.parent,
            log=self.log,
            environment={"TEST_KAFKA_VERSION": "4.0.0", "LD_LIBRARY_PATH": libraries},
        )
        return librdkafka_outcomes(self.log.read_text(errors="replace"))
