"""What a query's function is given: Spark, and topics as streams of decoded columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from riverlog.pipelines.jobs.app import AppRefused, Query
from riverlog.pipelines.jobs.contract import READ
from riverlog.pipelines.jobs.measuring import BAD_RECORDS
from riverlog.pipelines.jobs.real_time import KAFKA
from riverlog.pipelines.jobs.writing import VALUE

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from riverlog.pipelines.decoding.decode import Encoding

_BAD = "riverlog_bad"
"""Where Spark puts what it could not decode."""
BATCH_RECORDS_MAX = "1000000"
"""How much one batch reads of a topic unless told otherwise: a history is read in pieces."""


class Context:
    """The surroundings of one query in one run."""

    def __init__(self, spark: SparkSession, query: Query, *, bootstrap: str, limits: Path) -> None:
        self.spark = spark
        """The session; what is read through it directly is the function's own affair."""
        self.bootstrap = bootstrap
        """The cluster's address."""
        self.columns_read: dict[str, list[str]] = {}
        """For each source the columns into which its records are decoded."""
        self._query = query
        self._limits = limits

    def topic(
        self,
        topic: str,
        *,
        schema: Any = None,
        format: Encoding = "json",  # noqa: A002  # Spark's word
        keep_bad: bool = False,
        name: str | None = None,
        options: Mapping[str, str] | None = None,
        **decoding: Any,
    ) -> DataFrame:
        """Read a topic as a stream, from its start unless `options` say otherwise.

        Without a schema the frame has the record's own columns: key, value, topic, partition, offset,
        timestamp. With one, values are decoded, by `riverlog.pipelines.decode` and what else it takes, and
        the frame has the schema's columns. A record that cannot be decoded is left out and counted;
        `keep_bad` keeps it, with a column `bad` and the record's own columns, for `dead_letters`.

        `name` is that of the source in the checkpoint, the topic's unless given: a topic that is read twice
        needs one. `options` are those of the format `riverlog`.

        In real time it is Spark's own connector that reads, by its own options, and Spark that decodes: JSON
        alone, and no bad records are kept.
        """
        source = re.sub(r"[^a-zA-Z0-9_]", "_", name or topic)
        if source in self.columns_read:
            raise AppRefused(
                f"query {self._query.name} reads two sources as {source}: give one of them another name=..."
            )
        if self._query.is_real_time:
            if format != "json" or keep_bad or decoding:
                unknown = "keep_bad=True" if keep_bad else ", ".join(decoding) or f"format={format!r}"
                raise AppRefused(
                    f"query {self._query.name}: in real time values are decoded as JSON by a schema, so "
                    f'{unknown} is not accepted: leave it out, or leave mode="micro-batch"'
                )
            frame = self._passing(topic, source, options or {})
            if schema is not None:
                frame = _decoded_by_spark(frame, source, schema)
        else:
            frame = self._in_batches(topic, source, options or {})
            if schema is not None:
                frame = _decoded(frame, source, schema, format, keep_bad=keep_bad, decoding=decoding)
        self.columns_read[source] = [
            f"{field.name} {field.dataType.simpleString()}" for field in frame.schema.fields
        ]
        return frame

    def _in_batches(self, topic: str, source: str, options: Mapping[str, str]) -> DataFrame:
        from riverlog.pipelines.jobs.limited_source import FORMAT, LIMITS, SOURCE

        given = {
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": BATCH_RECORDS_MAX,
            # Lag tools of Kafka see it too.
            "group": f"{self._query.app}.{self._query.name}.v{self._query.version}",
            **options,
        }
        reader = self.spark.readStream.format(FORMAT).name(source).option("subscribe", topic)
        reader = reader.option("kafka.bootstrap.servers", self.bootstrap).options(**given)
        return reader.option(LIMITS, str(self._limits)).option(SOURCE, source).load()

    def _passing(self, topic: str, source: str, options: Mapping[str, str]) -> DataFrame:
        from pyspark.errors import PySparkException

        # What was aborted is no record, as everywhere in riverlog.
        given = {"startingOffsets": "earliest", "kafka.isolation.level": "read_committed", **options}
        reader = self.spark.readStream.format(KAFKA).name(source).option("subscribe", topic)
        try:
            return reader.option("kafka.bootstrap.servers", self.bootstrap).options(**given).load()
        except PySparkException as error:
            if "Failed to find data source" not in str(error):
                raise
            raise AppRefused(
                f"query {self._query.name}: in real time topics are read by Spark's Kafka connector, which "
                "is not there: run `riverlog jars`, which fetches it, then start again"
            ) from error


def _decoded(
    frame: DataFrame,
    source: str,
    schema: Any,
    encoding: Encoding,
    *,
    keep_bad: bool,
    decoding: Mapping[str, Any],
) -> DataFrame:
    from pyspark.sql import functions as F

    from riverlog.pipelines.decoding.decode import BAD, decode

    if keep_bad:
        return decode(frame, encoding, schema, **decoding)
    # Without the record's own columns a schema may have a column `key`.
    read = decode(frame.select("value"), encoding, schema, **decoding)
    names = [name for name in read.columns if name != BAD]
    counted = read.observe(f"{BAD_RECORDS}{source}", F.count(F.col(BAD)).alias("bad"))
    good = counted.where(F.col(BAD).isNull())
    return good.select(*(F.col(f"`{name}`").alias(name, metadata={READ: source}) for name in names))


def _decoded_by_spark(frame: DataFrame, source: str, schema: Any) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructType

    wanted = schema if isinstance(schema, StructType) else StructType.fromDDL(schema)
    assert isinstance(wanted, StructType)
    kept = StructType([*wanted.fields]).add(_BAD, StringType())
    text = F.col(VALUE).cast("string")
    read = frame.select(F.from_json(text, kept, {"columnNameOfCorruptRecord": _BAD}).alias(VALUE))
    is_bad = F.col(VALUE).isNull() | F.col(f"{VALUE}.{_BAD}").isNotNull()
    counted = read.observe(f"{BAD_RECORDS}{source}", F.count(F.when(is_bad, True)).alias("bad"))
    good = counted.where(~is_bad)
    return good.select(
        *(F.col(f"{VALUE}.`{name}`").alias(name, metadata={READ: source}) for name in wanted.fieldNames())
    )
