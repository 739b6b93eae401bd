"""A Spark session that suits streams: Java found, Python set, quiet, state on disk.

    session()                                  this machine, all its cores
    session(master="spark://host:7077")        a cluster; the same job
    session(settings={"spark.ui.enabled": "true"})

Order: the defaults below < what spark-submit was told, if that started the program < `settings`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from riverlog.errors import RiverlogError
from riverlog.pipelines.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"
JVM_FLAGS = "spark.driver.extraJavaOptions"
LOGGING = Path(__file__).with_name("log4j2.properties")

STATE = {
    # Memory outside the heap, and checkpoints that grow with what changed instead of with all there is.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
ENCODING = "spark.sql.streaming.stateStore.encodingFormat"
PLAIN = {
    # One meaning of a timestamp in text, wherever the driver stands.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class SparkMissing(RiverlogError):
    """PySpark is not installed: ends the start of a session."""


def session(
    name: str = "riverlog", *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Start Spark, or give the session that runs in this program already, with `settings` but no defaults.

    `master` is this machine with all its cores unless given, or unless spark-submit started the program.
    `settings` go over the defaults. Raises `JavaMissing` or `SparkMissing` naming what to install.
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkMissing(
            f"pipelines run on PySpark, and `{error.name or 'pyspark'}` is not installed: "
            "run `pip install 'riverlog[spark]'`"
        ) from error
    from riverlog.pipelines.source.data_source import register

    running = SparkSession.getActiveSession()
    if running is not None:
        register(running)
        for setting, value in (settings or {}).items():
            running.conf.set(setting, value)
        return running
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is None and not submitted:
        master = "local[*]"
    if not submitted:
        os.environ.update(surroundings(os.environ, sys.executable, str(java_home(os.environ)), master or ""))
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    chosen = defaults(master or "", os.cpu_count() or 1)
    if submitted:
        told = dict(SparkContext.getOrCreate().getConf().getAll())
        chosen = {setting: value for setting, value in chosen.items() if setting not in told}
    for setting, value in combined(chosen, settings or {}).items():
        builder = builder.config(setting, value)
    made = builder.getOrCreate()
    register(made)
    return made


@contextmanager
def upgradable_state(spark: SparkSession) -> Iterator[None]:
    """Let the queries that are started inside keep state which survives a column that is added (Avro).

    Spark's usual encoding refuses a checkpoint whose columns changed. It knows Avro for transformWithState
    only: a query that has a window, a join or a deduplication of Spark's own as well is refused at its start,
    which is why this is no default. A query that restarts keeps the encoding of its checkpoint.
    """
    before = spark.conf.get(ENCODING) or "unsaferow"
    spark.conf.set(ENCODING, "avro")
    try:
        yield
    finally:
        spark.conf.set(ENCODING, before)


def defaults(master: str, cores: int) -> dict[str, str]:
    """Give the settings for a master; an empty one stands for what spark-submit was told."""
    chosen = STATE | PLAIN
    if master:
        chosen |= QUIET | {JVM_FLAGS: f"-Dlog4j2.configurationFile=file:{LOGGING}"}
    if is_local(master):
        # A shuffle partition is a task and a state store: more of them than cores is waiting without gain.
        chosen["spark.sql.shuffle.partitions"] = str(_local_cores(master, cores))
        chosen |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return chosen


def combined(chosen: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Put settings over defaults; flags of the JVM are added to ours, not put in their place."""
    both = {**chosen, **settings}
    if JVM_FLAGS in chosen and JVM_FLAGS in settings:
        both[JVM_FLAGS] = f"{chosen[JVM_FLAGS]} {settings[JVM_FLAGS]}"
    return both


def surroundings(environment: Mapping[str, str], python: str, home: str, master: str) -> dict[str, str]:
    """Give the variables that must stand before the JVM starts; what the user set stays."""
    wanted = {"PYSPARK_PYTHON": python}
    if is_local(master):
        wanted["SPARK_LOCAL_IP"] = LOOPBACK
    return {"JAVA_HOME": home} | {key: environment.get(key, value) for key, value in wanted.items()}


def is_local(master: str) -> bool:
    """Say whether all of Spark runs in one JVM on this machine."""
    return master == "local" or master.startswith("local[")


def _local_cores(master: str, cores: int) -> int:
    inside = master.removeprefix("local").strip("[]").partition(",")[0]
    if inside == "*":
        return cores
    return int(inside) if inside.isdigit() else 1
