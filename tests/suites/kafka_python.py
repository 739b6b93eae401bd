"""kafka-python's integration tests, from its source distribution: admin, groups, transactions."""

from __future__ import annotations

import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from contextlib import suppress

from riverlog.client import Admin, TopicExists

from .suite import CACHE, FAILED, PASSED, SKIPPED, Outcomes, Suite, SuiteFailed, gentle, must

VERSION = "3.0.12"
NEEDS = [
    "pytest<9",
    "pytest-timeout",
    "pytest-asyncio<1.3",
    "pytest-mock",
    "lz4",
    "zstandard",
    "python-snappy",
]
NEEDS_ENCRYPTION = ("test_ssl_integration.py", "test_sasl_integration.py")
SPOKEN_OF_AS = "4.3.1"
"""The broker's version, which decides what the suite tries."""

# One test commits an offset for the partition 1 of this topic. Where there is none it asks for ever, also
# of Apache Kafka.
TOPIC_OF_TWO = "transactional_test_topic"

# The distribution leaves out the module that starts brokers. Ours is up already.
STAND_IN = """class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self): ...
    def close(self): ...
    def stop(self): ...
    def dump_logs(self): ...
    def wait_for(self, pattern, timeout=30): ...


class SpawnedService: ...
"""


class KafkaPythonSuite(Suite):
    name = "kafka-python"
    # it has members that leave within seconds, and assigns replicas to the broker 0
    settings = {  # noqa: RUF012 - a constant mapping
        "num.partitions": "1",
        "broker.id": "0",
        "group.min.session.timeout.ms": "1000",
    }

    home = CACHE / "kafka-python"
    source = home / f"kafka_python-{VERSION}"
    python = home / "venv" / "bin" / "python"
    log = home / "log"

    def fetch(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        if not (self.home / "venv" / "bin" / "pytest").exists():
            must([sys.executable, "-m", "venv", "venv"], cwd=self.home, log=self.log)
            wanted = [*NEEDS, f"kafka-python=={VERSION}"]
            must([self.python, "-m", "pip", "install", "-q", *wanted], cwd=self.home, log=self.log)
        if not self.source.exists():
            download = ["download", "-q", "--no-deps", "--no-binary", ":all:", f"kafka-python=={VERSION}"]
            must([self.python, "-m", "pip", *download], cwd=self.home, log=self.log)
            with tarfile.open(self.home / f"kafka_python-{VERSION}.tar.gz") as archive:
                archive.extractall(self.home, filter="data")
        (self.source / "test" / "__init__.py").touch()
        (self.source / "test" / "service.py").write_text(STAND_IN)
        (self.source / "servers" / SPOKEN_OF_AS / "kafka-bin").mkdir(parents=True, exist_ok=True)

    def run(self, bootstrap: str) -> Outcomes:
        with Admin(bootstrap) as admin, suppress(TopicExists):
            admin.create_topic(TOPIC_OF_TWO, partitions=2)
        report = self.home / "report.xml"
        report.unlink(missing_ok=True)
        options = ["-q", "--tb=short", "--timeout", "120", "-p", "no:cacheprovider", f"--junitxml={report}"]
        ignored = [f"--ignore=test/integration/{file}" for file in NEEDS_ENCRYPTION]
        environment = {
            "KAFKA_URI": f"kafka://{bootstrap}",
            "KAFKA_VERSION": SPOKEN_OF_AS,
            "PYTHONPATH": str(self.source),
        }
        gentle(
            [self.python, "-m", "pytest", *options, "test/integration", *ignored],
            cwd=self.source,
            log=self.log,
            environment=environment,
        )
        if not report.exists():
            raise SuiteFailed(f"kafka-python's tests wrote no report, see {self.log}")
        return junit_outcomes(report.read_text())


def junit_outcomes(report: str) -> Outcomes:
    """Read a report in JUnit's format: a case without a child passed."""
    outcomes: Outcomes = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = FAILED if kinds & {"failure", "error"} else SKIPPED if "skipped" in kinds else PASSED
        outcomes[f"{case.get('classname')}::{case.get('name')}"] = outcome
    return outcomes
