"""What a query's function is given: Spark, and topics as streams of decoded columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from riverlog.pipelines.jobs.app import AppRefused, Query
from riverlog.pipelines.jobs.contract import READ
from riverlog.pipelines.jobs.measuring import BAD_RECORDS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from riverlog.pipelines.decoding.decode import Encoding

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
        """
        from riverlog.pipelines.jobs.limited_source import FORMAT, LIMITS, SOURCE

        source = re.sub(r"[^a-zA-Z0-9_]", "_", name or topic)
        if source in self.columns_read:
            raise AppRefused(
                f"query {self._query.name} reads two sources as {source}: give one of them another name=..."
            )
        given = {
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": BATCH_RECORDS_MAX,
            # Lag tools of Kafka see it too.
            "group": f"{self._query.app}.{self._query.name}.v{self._query.version}",
            **(options or {}),
        }
        reader = self.spark.readStream.format(FORMAT).name(source).option("subscribe", topic)
        reader = reader.option("kafka.bootstrap.servers", self.bootstrap).options(**given)
        frame = reader.option(LIMITS, str(self._limits)).option(SOURCE, source).load()
        if schema is not None:
            frame = _decoded(frame, source, schema, format, keep_bad=keep_bad, decoding=decoding)
        self.columns_read[source] = [
            f"{field.name} {field.dataType.simpleString()}" for field in frame.schema.fields
        ]
        return frame


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
