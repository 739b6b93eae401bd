"""The Java libraries of Spark's Kafka connector, which PySpark does not bring and real-time queries need.

    ~/.cache/riverlog/spark-kafka-4.2.0/*.jar      fetched once, by name, by Maven

They are fetched aside and renamed into place: an interruption leaves no half of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from riverlog.errors import RiverlogError
from riverlog.pipelines.java import cache_directory

ARTIFACTS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
"""What the connector needs beside what PySpark has: nothing else comes along."""
NAME = "spark-kafka-4.2.0"
"""Of the directory. It grows with the versions: what is there under it is taken as it is."""
SETTING = "spark.jars"
FETCH_SECONDS_MAX = 900
SHOWN_CHARACTERS_MAX = 2000

_PROJECT = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>riverlog</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = """
    <dependency>
      <groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>"""


class JarsMissing(RiverlogError):
    """The jars are not there and cannot be fetched: says why, and what to do."""


def directory(environment: Mapping[str, str]) -> Path:
    """Say where the jars are kept, or would be."""
    return cache_directory(environment) / NAME


def kept(environment: Mapping[str, str]) -> list[Path]:
    """List the jars that were fetched; none before."""
    return sorted(directory(environment).glob("*.jar"))


def fetch(environment: Mapping[str, str]) -> list[Path]:
    """List the jars, fetching them the first time. Raises `JarsMissing`."""
    home = directory(environment)
    if not home.exists():
        maven = shutil.which("mvn", path=environment.get("PATH", os.defpath))
        if maven is None:
            raise JarsMissing(
                f"the jars of Spark's Kafka connector are not in {home}, and there is no Maven (`mvn`) on "
                f"PATH to fetch them with: install Maven, or put there by hand: {', '.join(ARTIFACTS)}"
            )
        _fetch_into(home, maven)
    return kept(environment)


def with_jars(settings: Mapping[str, str], jars: Sequence[Path]) -> dict[str, str]:
    """Let Spark load these jars beside those that its settings name already."""
    named = [name for name in settings.get(SETTING, "").split(",") if name]
    added = [str(jar) for jar in jars if str(jar) not in named]
    return {**settings, SETTING: ",".join([*named, *added])} if added else dict(settings)


def project(artifacts: Sequence[str]) -> str:
    """Write what Maven is asked for: these artifacts (group:name:version) and none that they name."""
    made = []
    for artifact in artifacts:
        group, name, version = artifact.split(":")
        made.append(_DEPENDENCY.format(group=group, name=name, version=version))
    return _PROJECT.format(dependencies="".join(made))


def _fetch_into(home: Path, maven: str) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-", dir=home.parent) as aside:
        Path(aside, "pom.xml").write_text(project(ARTIFACTS), encoding="utf-8")
        command = [maven, "-B", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={aside}/jars"]
        try:
            done = subprocess.run(
                command, cwd=aside, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise JarsMissing(
                f"Maven did not fetch the jars within {FETCH_SECONDS_MAX} s: try again"
            ) from error
        if done.returncode != 0:
            said = (done.stdout + done.stderr)[-SHOWN_CHARACTERS_MAX:].strip()
            raise JarsMissing(f"Maven could not fetch the jars:\n{said}")
        fetched = Path(aside, "jars")
        if len(list(fetched.glob("*.jar"))) != len(ARTIFACTS):
            raise JarsMissing(f"Maven brought other jars than the {len(ARTIFACTS)} that were asked for")
        try:
            fetched.rename(home)
        except OSError:
            if not home.exists():  # else another program was first
                raise
