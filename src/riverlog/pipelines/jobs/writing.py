"""From what a query's function gave to a writer that can be started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from riverlog.pipelines.jobs.app import AppRefused, Query
from riverlog.pipelines.jobs.contract import Output
from riverlog.pipelines.jobs.real_time import KAFKA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

VALUE = "value"


def frame_of(query: Query, given: object) -> DataFrame:
    """Give the frame that a query computes, whether its function gave that or a writer of it."""
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    frame = given._df if isinstance(given, DataStreamWriter) else given
    if not isinstance(frame, DataFrame):
        raise AppRefused(
            f"the function of query {query.title} gave {type(given).__name__}: a DataFrame is expected, or a "
            "DataStreamWriter where it writes elsewhere"
        )
    if not frame.isStreaming:
        raise AppRefused(f"query {query.title} reads no stream: context.topic(...) gives one")
    is_writer = isinstance(given, DataStreamWriter)
    if query.output is None and not is_writer:
        raise AppRefused(
            f"query {query.title} has no output=..., so its function must give a DataStreamWriter"
        )
    if query.output is not None and is_writer:
        raise AppRefused(
            f"query {query.title} has output={query.output!r}, so its function must give a DataFrame"
        )
    check_keys(query, frame.columns)
    return frame


def check_keys(query: Query, columns: Sequence[str]) -> None:
    """Refuse a key that the frame does not have."""
    missing = [name for name in query.key if name not in columns]
    if missing:
        raise AppRefused(
            f"query {query.title}: key={', '.join(missing)} is no column of its frame, which has: "
            f"{', '.join(columns)}"
        )
    if query.key and VALUE in columns:
        raise AppRefused(
            f"query {query.title}: with a column `value` the key is the column `key`, not key=..."
        )


def output_of(query: Query, frame: DataFrame) -> Output:
    """What the query puts out, for its contract."""
    columns = tuple((field.name, field.dataType.simpleString()) for field in frame.schema.fields)
    return Output(query.output or "", query.key, query.output_mode, columns)


def as_records(frame: DataFrame, key: Sequence[str]) -> DataFrame:
    """Make records of rows: a frame with `value` stays as it is, another's columns become a JSON object.

    The key of one column is that column as text, of several a JSON object; where there is none, records have
    none.
    """
    from pyspark.sql import functions as F

    if VALUE in frame.columns:
        return frame
    # An object with all its fields, also where they are null: readers see one form.
    whole = {"ignoreNullFields": "false"}
    value = F.to_json(F.struct(*(frame[name] for name in frame.columns)), whole).alias(VALUE)
    if not key:
        return frame.select(value)
    if len(key) == 1:
        column = frame[key[0]]
        is_nested = dict(frame.dtypes)[key[0]].startswith(("struct", "array", "map"))
        made = F.to_json(column, whole) if is_nested else column.cast("string")
    else:
        made = F.to_json(F.struct(*(frame[name] for name in key)), whole)
    return frame.select(made.alias("key"), value)


def writer_of(
    query: Query, given: object, *, bootstrap: str, properties: Mapping[str, str]
) -> DataStreamWriter:
    """Make the writer of a query, without checkpoint, name and trigger."""
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    if isinstance(given, DataStreamWriter):
        return given
    records = as_records(frame_of(query, given), query.key)
    if query.is_real_time:
        writer = records.writeStream.format(KAFKA).option("kafka.bootstrap.servers", bootstrap)
        writer = writer.options(**{f"kafka.{name}": value for name, value in properties.items()})
        return writer.option("topic", query.topic).outputMode("update")
    if query.output_mode == "append":
        writer = records.writeStream.format("riverlog").option("kafka.bootstrap.servers", bootstrap)
        writer = writer.options(**{f"kafka.{name}": value for name, value in properties.items()})
        return writer.option("topic", query.topic).outputMode("append")
    from riverlog.pipelines.sinks import TopicSink

    # Spark lets sinks written in Python append only.
    own = {f"kafka.{name}": value for name, value in properties.items()}
    sink = TopicSink(query.topic, bootstrap=bootstrap, options=own)
    return records.writeStream.foreachBatch(sink).outputMode(query.output_mode)
