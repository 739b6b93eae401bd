"""The columns that records have in Spark, and columns of the log made into them.

    key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,
    timestampType int
    headers array<struct<key: string, value: binary>>     with the option includeHeaders
    bad string, and `value` as a struct                    with valueFormat and valueSchema
    raw binary                                             with includeRaw: `value` as it was

Names and types are those of Spark's Kafka source. A record without a time has none here, where that source
gives the last millisecond of 1969.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from riverlog.pipelines.decoding.json_columns import JsonColumns, struct_of
from riverlog.pipelines.decoding.sql_types import sql_type

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
HEADERS, VALUE = "headers", "value"
BAD, RAW = "bad", "raw"
"""Why a value could not be decoded, and the bytes it was decoded from."""

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
_LOG_NAMES = {"timestampType": "timestamp_type", BAD: "value", RAW: "value"}


def types(value_fields: pa.Schema | None) -> dict[str, str]:
    """Give all columns there can be, and how SQL declares them, where values are decoded to these fields."""
    if value_fields is None:
        return TYPES
    return {**TYPES, VALUE: sql_type(struct_of(value_fields)), BAD: "string", RAW: "binary"}


def sql_schema(columns: Sequence[str], value_fields: pa.Schema | None = None) -> str:
    """Give the columns as SQL declares them."""
    declared = types(value_fields)
    return ", ".join(f"{name} {declared[name]}" for name in columns)


def arrow_schema(columns: Sequence[str], value_fields: pa.Schema | None = None) -> pa.Schema:
    """Give the columns as Spark expects them from Python."""
    arrow = {**_ARROW, BAD: pa.string(), RAW: pa.binary()}
    if value_fields is not None:
        arrow[VALUE] = struct_of(value_fields)
    return pa.schema([pa.field(name, arrow[name]) for name in columns])


def log_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Name the columns of the log that these are made of, each once."""
    return tuple(dict.fromkeys(_LOG_NAMES.get(name, name) for name in columns))


def for_spark(batch: pa.RecordBatch, schema: pa.Schema, values: JsonColumns | None = None) -> pa.RecordBatch:
    """Make columns of the log into those of `schema`; keys and values that are bytes stay in place."""
    found = {name: batch.column(_LOG_NAMES.get(name, name)) for name in schema.names}
    if values is not None and (VALUE in found or BAD in found):
        decoded = dict(zip((VALUE, BAD), values.decode(batch.column(VALUE)), strict=True))
        found |= {name: array for name, array in decoded.items() if name in found}
    arrays = [
        found[field.name] if found[field.name].type == field.type else found[field.name].cast(field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
