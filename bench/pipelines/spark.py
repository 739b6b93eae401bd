"""Spark for a measurement: a session of riverlog's making, and the two ways of reading and writing topics.

Imported in processes of their own only, since PySpark is slow to load and a JVM stays for the program's life.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bench.errors import BrokerFailed
from riverlog.pipelines import jars

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HEAP = "2g"
RIVERLOG, KAFKA = "riverlog", "kafka"
"""Names of formats."""


def connector_jars() -> str:
    """Give the jars of Spark's Kafka connector, as `spark.jars` wants them; fetches them the first time."""
    try:
        return jars.with_jars({}, jars.fetch(os.environ))[jars.SETTING]
    except jars.JarsMissing as error:
        raise BrokerFailed(str(error)) from error


def started(formats: str) -> SparkSession:
    """Start Spark for one of the formats."""
    from riverlog.pipelines import session

    settings = {"spark.driver.memory": HEAP}
    if formats == KAFKA:
        settings["spark.jars"] = connector_jars()
    return session("bench", master=f"local[{cores()}]", settings=settings)


def topic(source: Any, formats: str, port: int, name: str, **options: str) -> DataFrame:
    """Read a topic by `spark.read` or `spark.readStream`, from its start."""
    reader = source.format(formats).option("kafka.bootstrap.servers", f"127.0.0.1:{port}")
    for option, value in {"subscribe": name, "startingOffsets": "earliest", **options}.items():
        reader = reader.option(option, value)
    frame: DataFrame = reader.load()
    return frame


def values(session: SparkSession, formats: str, port: int, name: str) -> DataFrame:
    """Read the values of a topic as a stream; riverlog's source brings no other column if told so."""
    options = {"columns": "value"} if formats == RIVERLOG else {}
    return topic(session.readStream, formats, port, name, **options).select("value")


def into_topic(
    frame: DataFrame, formats: str, port: int, name: str, checkpoint: str, mode: str = "append"
) -> Any:
    """Start a query that writes all columns of a frame as JSON."""
    address = f"127.0.0.1:{port}"
    writer = frame.selectExpr("to_json(struct(*)) as value").writeStream.outputMode(mode)
    writer = writer.option("checkpointLocation", checkpoint)
    if formats == RIVERLOG and mode != "append":
        from riverlog.pipelines.sinks import TopicSink

        # Spark takes a format written in Python in the mode `append` only.
        return writer.foreachBatch(TopicSink(name, bootstrap=address)).start()
    return writer.format(formats).option("kafka.bootstrap.servers", address).option("topic", name).start()


def cores() -> int:
    """Say how many tasks run at a time."""
    return len(os.sched_getaffinity(0))
