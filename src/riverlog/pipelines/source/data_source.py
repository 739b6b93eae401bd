"""The format `riverlog`, for reading and writing, as batch and as stream: no jar, on any Kafka cluster.

    spark.readStream.format("riverlog").options(bootstrap="127.0.0.1:9092", subscribe="clicks").load()

The options are in `options`, the columns in `rows`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

from riverlog.errors import ConfigError
from riverlog.pipelines.source import rows
from riverlog.pipelines.source.options import chosen_columns, source_options, value_fields

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

FORMAT = "riverlog"
ADAPTIVE_STREAMS = "spark.sql.adaptive.streaming.stateless.enabled"
"""With it a batch that runs again may have other tasks than before, by the cores that are there by then."""


class RiverlogDataSource(DataSource):
    """Topics as a table that grows."""

    @classmethod
    def name(cls) -> str:
        """Give the name for `format`."""
        return FORMAT

    def schema(self) -> str:
        """Give the columns that the options ask for."""
        return rows.sql_schema(chosen_columns(self.options), value_fields(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Read a part of the log. Raises ConfigError."""
        from riverlog.pipelines.source.readers import BatchReader

        options = source_options(self.options, is_stream=False)
        return BatchReader(options, _columns(schema, options.value_fields))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's name
        """Read the log as it grows. Raises ConfigError."""
        from riverlog.pipelines.source.readers import StreamReader

        options = source_options(self.options, is_stream=True)
        return StreamReader(options, _columns(schema, options.value_fields))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Write a frame to topics; a topic is only ever appended to. Raises ConfigError."""
        _refuse(overwrite)
        from riverlog.pipelines.sinks.topic import batch_writer

        return batch_writer(self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """Write a stream to topics. Raises ConfigError."""
        _refuse(overwrite)
        from riverlog.pipelines.sinks.topic import stream_writer

        return stream_writer(self.options, schema)


def register(spark: SparkSession) -> None:
    """Let a session read and write `format("riverlog")`; those that `session` makes do already.

    Streams without state keep the tasks that they are planned with from then on, as the sink needs it.
    """
    spark.dataSource.register(RiverlogDataSource)
    spark.conf.set(ADAPTIVE_STREAMS, "false")


def _refuse(overwrite: bool) -> None:
    if overwrite:
        raise ConfigError("mode", "overwrite", "append: what is in a topic stays there")


def _columns(schema: StructType, value_fields: pa.Schema | None) -> tuple[str, ...]:
    """Take the columns that the frame is to have, which are ours or a choice that the user declared."""
    types = rows.types(value_fields)
    for field in schema.fields:
        declared = field.dataType.simpleString()
        if declared != _unquoted(types.get(field.name, "")):
            accepted = rows.sql_schema(tuple(types), value_fields)
            raise ConfigError("schema", f"{field.name} {declared}", f"some of {accepted}")
    return tuple(schema.names)


def _unquoted(declared: str) -> str:
    """Write a type as Spark does where it tells of one."""
    return (
        declared.replace("``", "\0").replace("`", "").replace("\0", "`").replace(": ", ":").replace(", ", ",")
    )
