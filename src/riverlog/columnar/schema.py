"""The columns that records have in Arrow.

    topic            string not null
    partition        int32 not null
    offset           int64 not null
    timestamp        timestamp[ms, UTC]   null where the record has no time (-1)
    timestamp_type   int32 not null       0: the producer's time, 1: the broker's when it was appended
    key              binary               null and empty are two things
    value            binary               null: a tombstone
    headers          list<struct<key: string not null, value: binary>> not null; in their order, or empty

Names and types are those of Spark's Kafka source, with `timestamp_type` for its `timestampType`, so that code
carries over. A header's key that is not UTF-8 has U+FFFD where Java's clients have it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from riverlog.errors import ConfigError

TIMESTAMP = pa.timestamp("ms", "UTC")
HEADER = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
HEADERS = pa.list_(pa.field("item", HEADER, nullable=False))

_FIELDS = {
    field.name: field
    for field in (
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", TIMESTAMP),
        pa.field("timestamp_type", pa.int32(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS, nullable=False),
    )
}

COLUMNS: tuple[str, ...] = tuple(_FIELDS)
"""All columns, in the order in which they come unless others are asked for."""


def checked_columns(columns: Sequence[str] | None) -> tuple[str, ...]:
    """Give the columns asked for, all for None. Raises ConfigError for one that does not exist, or twice."""
    chosen = COLUMNS if columns is None else tuple(columns)
    if not chosen or len(set(chosen)) != len(chosen) or not set(chosen) <= set(COLUMNS):
        raise ConfigError("columns", ", ".join(chosen), f"some of {', '.join(COLUMNS)}, each once")
    return chosen


def schema(columns: Sequence[str] | None = None) -> pa.Schema:
    """Give the schema of these columns, in their order; of all for None."""
    return pa.schema([_FIELDS[name] for name in checked_columns(columns)])
