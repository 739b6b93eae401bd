"""Java programs that we compare with: compiled with the system's JDK, once a run, beside their jars."""

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from bench.errors import BrokerFailed
from bench.maven import class_path, fetched
from bench.peer import KAFKA_VERSION, LOG4J_VERSION

HERE = Path(__file__).resolve().parent / "java"
COMPILE_SECONDS_MAX = 120
HEAP = ["-Xms2g", "-Xmx2g"]

FLINK_VERSION = "2.3.0"
FLINK_KAFKA_VERSION = "5.0.0-2.2"

LOGGING = f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J_VERSION}"
STREAMS = (f"org.apache.kafka:kafka-streams:{KAFKA_VERSION}", LOGGING)
FLINK = (
    *(
        f"org.apache.flink:{name}:{FLINK_VERSION}"
        for name in (
            "flink-clients",
            "flink-connector-base",
            "flink-json",
            "flink-table-api-java-bridge",
            "flink-table-planner-loader",
            "flink-table-runtime",
        )
    ),
    f"org.apache.flink:flink-sql-connector-kafka:{FLINK_KAFKA_VERSION}",
    LOGGING,
)
OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.net", "java.nio", "java.text", "java.time", "java.util")
]
"""What Flink's own start script opens to its serializers."""


def streams_program(name: str) -> list[str]:
    """Give the command of a program with Kafka Streams, without its arguments."""
    return _command(name, fetched(f"kafka-streams-{KAFKA_VERSION}", STREAMS), ())


def flink_program(name: str) -> list[str]:
    """Give the command of a program with Flink, without its arguments; all of Flink runs inside."""
    return _command(name, fetched(f"flink-{FLINK_VERSION}-{FLINK_KAFKA_VERSION}", FLINK), OPENED)


def _command(name: str, jars: Path, flags: tuple[str, ...] | list[str]) -> list[str]:
    on_path = class_path(jars)
    classes = _compiled(name, on_path)
    return [_tool("java"), *HEAP, *flags, "-cp", os.pathsep.join((on_path, str(classes))), name]


@cache
def _compiled(name: str, on_path: str) -> Path:
    classes = Path(_classes_directory().name)
    command = [
        _tool("javac"),
        "--release",
        "17",
        "-cp",
        on_path,
        "-d",
        str(classes),
        str(HERE / f"{name}.java"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS_MAX)
    if done.returncode != 0:
        raise BrokerFailed(f"{name}.java does not compile:\n{done.stderr}")
    return classes


@cache
def _classes_directory() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="riverlog-bench-classes-")


def java_version() -> str:
    """Say which Java all contenders run on."""
    shown = subprocess.run([_tool("java"), "-version"], capture_output=True, text=True, check=True)
    return shown.stderr.splitlines()[0].split('"')[1]


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise BrokerFailed(f"this row compares with Java programs, and there is no `{name}` on the path")
    return found
