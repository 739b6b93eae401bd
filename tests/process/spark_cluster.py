"""A Spark cluster on this machine: a master and workers, each a process, on 127.0.0.1 alone."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from types import TracebackType

import psutil
import pyspark

from riverlog.pipelines.java import java_home
from tests.eventually import eventually
from tests.live_broker import environment

START_SECONDS_MAX = 60.0
_SPARK = Path(pyspark.__file__).parent
_ADDRESS = re.compile(r"Starting Spark master at (spark://\S+)")


class SparkCluster:
    """Ends with its `with` block, and every process that it started with it."""

    def __init__(self, directory: Path, workers: int) -> None:
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []
        self._environment = environment() | {
            "JAVA_HOME": str(java_home(os.environ)),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_HOME": str(_SPARK),
            "SPARK_DAEMON_MEMORY": "256m",
        }
        try:
            self._start("master", "org.apache.spark.deploy.master.Master", "--port", "0")
            eventually(lambda: _ADDRESS.search(self.log("master")) is not None, "a master", START_SECONDS_MAX)
            found = _ADDRESS.search(self.log("master"))
            assert found is not None
            self.master = found[1]
            self.workers = [self._worker(f"worker-{number}") for number in range(workers)]
            for number in range(workers):
                name = f"worker-{number}"
                eventually(
                    lambda name=name: "Successfully registered" in self.log(name),  # type: ignore[misc]
                    f"{name} registers",
                    START_SECONDS_MAX,
                )
        except BaseException:
            self.close()
            raise

    def log(self, name: str) -> str:
        """What a process has said."""
        file = self._directory / f"{name}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def executors(self) -> list[psutil.Process]:
        """The processes in which tasks run now."""
        found = []
        for worker in self.workers:
            found += _children(worker.pid)
        return found

    def kill_worker(self, number: int) -> None:
        """End a worker and what runs on it, at once."""
        worker = self.workers[number]
        there = _children(worker.pid)
        worker.kill()
        worker.wait()
        for process in there:
            _end(process)

    def __enter__(self) -> SparkCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End everything."""
        for process in reversed(self._processes):
            there = _children(process.pid)
            process.kill()
            process.wait()
            for child in there:
                _end(child)

    def _worker(self, name: str) -> subprocess.Popen[bytes]:
        place = str(self._directory / name)
        return self._start(
            name, "org.apache.spark.deploy.worker.Worker", "-c", "1", "-m", "1g", "-d", place, self.master
        )

    def _start(self, name: str, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(_SPARK / "bin" / "spark-class"), kind, "--host", "127.0.0.1", "--webui-port", "0"]
        with (self._directory / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*command, *arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._processes.append(process)
        return process


def _children(process: int) -> list[psutil.Process]:
    try:
        return psutil.Process(process).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _end(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        pass  # it has noticed
