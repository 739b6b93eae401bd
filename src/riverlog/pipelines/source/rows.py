"""The columns that records have in Spark, and columns of the log made into them.

    key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,
    timestampType int
    headers array<struct<key: string, value: binary>>     with the option includeHeaders

Names and types are those of Spark's Kafka source. A record without a time has none here, where that source
gives the last millisecond of 1969.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key: string, value: binary>>",
}
COLUMNS: tuple[str, ...] = tuple(TYPES)
HEADERS = "headers"

_ARROW = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestampType": pa.int32(),
    "headers": pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))),
}
_LOG_NAMES = {"timestampType": "timestamp_type"}


def sql_schema(columns: Sequence[str]) -> str:
    """Give the columns as SQL declares them."""
    return ", ".join(f"{name} {TYPES[name]}" for name in columns)


def arrow_schema(columns: Sequence[str]) -> pa.Schema:
    """Give the columns as Spark expects them from Python."""
    return pa.schema([pa.field(name, _ARROW[name]) for name in columns])


def log_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Name the columns of the log that these are made of."""
    return tuple(_LOG_NAMES.get(name, name) for name in columns)


def for_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Give a batch of these columns of the log the types that Spark knows; keys and values stay in place."""
    arrays = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
