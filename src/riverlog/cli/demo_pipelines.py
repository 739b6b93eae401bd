"""The second half of `riverlog demo`: examples of pipelines, from topic to topic, as results come in.

    Spark starts (a JVM, some seconds) while the first half shows messages ──▶ examples run ──▶ what came out
    is held against a computation over the same events without Spark

What the JVM and Python's workers say goes to a file beside the data, and is shown if Spark does not start.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from riverlog.errors import RiverlogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from riverlog.examples import Example
    from riverlog.examples.live import Outcome

SEED = 8
RECORDS = 400
FEED_SECONDS = 10.0
SAID_CHARACTERS_MAX = 2000

SETTINGS = {
    # What is quick for a first look, where the defaults are for a long run.
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}


def is_spark_there() -> bool:
    """Say whether PySpark is installed."""
    return importlib.util.find_spec("pyspark") is not None


class Pipelines:
    """Spark, started in the background for the examples that were chosen."""

    def __init__(self, chosen: Sequence[Example], directory: Path) -> None:
        self._chosen = chosen
        self._directory = directory
        self._said = directory / "spark.log"
        self._pool = ThreadPoolExecutor(1)
        self._session: Future[SparkSession] = self._pool.submit(self._start)

    def run(self, servers: str) -> list[Outcome]:
        """Run the examples and print what comes out; raises what keeps Spark from starting."""
        from riverlog.examples.live import play

        print("\nStarting pipelines on Spark ...", flush=True)
        spark = self._session.result()
        print(f"Spark {spark.version} is there. What comes out as events go in:\n")
        lock = threading.Lock()

        def say(text: str) -> None:
            with lock:
                print(text, flush=True)

        # In the thread that made the session: see `live.py`.
        return self._pool.submit(
            play,
            spark,
            servers,
            self._chosen,
            self._directory / "checkpoints",
            seed=SEED,
            count=RECORDS,
            seconds=FEED_SECONDS,
            say=say,
        ).result()

    def stop(self) -> None:
        """End Spark, if it has started."""
        self._pool.shutdown()
        if self._session.exception() is None:
            with _standard_error_to(self._said):
                self._session.result().stop()

    def _start(self) -> SparkSession:
        from riverlog.pipelines import session

        warehouse = {"spark.sql.warehouse.dir": str(self._directory / "warehouse")}
        try:
            with _standard_error_to(self._said):
                return session("riverlog demo", settings={**SETTINGS, **warehouse})
        except RiverlogError:
            raise
        except Exception as error:
            said = self._said.read_text(errors="replace")[-SAID_CHARACTERS_MAX:]
            raise RiverlogError(f"Spark did not start: {error}\n{said}") from error


def report(outcomes: Sequence[Outcome]) -> bool:
    """Print what each example has shown, and say whether all of it is right."""
    print("\nThe same records, computed once more in plain Python:\n")
    for outcome in outcomes:
        verdict = "equal" if outcome.is_as_expected else _differences(outcome)
        name = outcome.example.name
        print(f"  {name:<19} {outcome.records:>5} records  {outcome.results:>5} results  {verdict}")
    return all(outcome.is_as_expected for outcome in outcomes)


def _differences(outcome: Outcome) -> str:
    return f"DIFFERENT: {len(outcome.missing)} missing, {len(outcome.surplus)} too many"


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    """Let programs that are started meanwhile write their standard error to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(target, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(target)
        os.close(kept)
