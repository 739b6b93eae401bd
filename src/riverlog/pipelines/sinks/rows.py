"""Rows of a frame as records of a topic, by the column.

    value       string or binary; null deletes the key in a compacted topic
    key         string or binary                              optional
    topic       string: where the row goes                    where the option `topic` is not set
    partition   int: null lets the key choose                 optional
    headers     array<struct<key:string,value:binary>>        optional
    timestamp   timestamp: null is now                        optional

They are those of Spark's Kafka sink, and the timestamp. The other columns that the source brings, offset and
timestampType, say where a record was read and are left out; any further one is refused, since it would
be written nowhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, repeat
from typing import Any, TypeAlias

import pyarrow as pa

from riverlog.pipelines.columns import ColumnRefused

Message: TypeAlias = dict[str, Any]
"""A record as the client library takes it."""

HEADERS = "headers"
PLAIN_FIELDS = 3
"""Key, value and partition: what every record says."""
_TYPES: Mapping[str, tuple[str, ...]] = {
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "topic": ("string",),
    "partition": ("int",),
    HEADERS: ("array<struct<key:string,value:binary>>",),
    "timestamp": ("timestamp",),
}
_OF_THE_SOURCE = frozenset({"offset", "timestampType"})


def check_columns(columns: Mapping[str, str], topic: str | None) -> None:
    """Refuse a frame that cannot be written; `columns` are types by name, in Spark's words."""
    shown = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    if "value" not in columns:
        raise ColumnRefused(f"the topic sink writes the column `value`, and the frame has: {shown}")
    if topic is None and "topic" not in columns:
        raise ColumnRefused(
            f"the topic sink needs the option `topic`, or a column `topic`, and the frame has: {shown}"
        )
    unknown = [name for name in columns if name not in _TYPES and name not in _OF_THE_SOURCE]
    if unknown:
        raise ColumnRefused(
            f"the topic sink would write these columns nowhere: {', '.join(unknown)}. Drop them, or put them "
            f"into `value`, as to_json(struct(*)) does; it takes: {', '.join(_TYPES)}"
        )
    for name, kind in columns.items():
        if name in _TYPES and kind not in _TYPES[name]:
            raise ColumnRefused(
                f"the column `{name}` is of type {kind}: {' or '.join(_TYPES[name])} is expected"
            )


def messages(
    batch: pa.RecordBatch, topic: str | None, *, has_headers: bool = True
) -> Mapping[str, Sequence[Message]]:
    """Give the records of a batch by topic, in order. Raises ColumnRefused for a row without a topic."""
    names = set(batch.schema.names)
    columns = [
        _bytes(batch.column("key")) if "key" in names else repeat(None),
        _bytes(batch.column("value")),
        batch.column("partition").fill_null(-1).to_pylist() if "partition" in names else repeat(-1),
    ]
    made: list[Message] = [
        {"key": key, "value": value, "partition": partition}
        for key, value, partition in zip(*columns, strict=False)
    ]
    if "timestamp" in names:
        for message, timestamp in zip(made, _milliseconds(batch.column("timestamp")), strict=True):
            if timestamp is not None:
                message["timestamp"] = timestamp
    if has_headers and HEADERS in names:
        for message, headers in zip(made, batch.column(HEADERS).to_pylist(), strict=True):
            if headers:
                message[HEADERS] = [(header["key"], header["value"]) for header in headers]
    if topic is not None:
        return {topic: made}
    return _by_topic(batch.column("topic").to_pylist(), made)


def runs(batch: Sequence[Message]) -> Iterator[tuple[bool, Sequence[Message]]]:
    """Part records into runs, in order, and say of each whether the client library takes it in bulk.

    It takes no headers and no timestamps in bulk.
    """
    for is_plain, run in groupby(batch, key=lambda message: len(message) == PLAIN_FIELDS):
        yield is_plain, list(run)


def _by_topic(topics: Sequence[str | None], made: Sequence[Message]) -> Mapping[str, Sequence[Message]]:
    parted: dict[str, list[Message]] = defaultdict(list)
    for topic, message in zip(topics, made, strict=True):
        if not topic:
            raise ColumnRefused(
                "a row has no topic: the column `topic` is null or empty, and the option is not set"
            )
        parted[topic].append(message)
    return parted


def _bytes(column: pa.Array) -> list[bytes | None]:
    """Strings as they lie in memory, without a look at their characters."""
    kind = pa.large_binary() if column.type in (pa.large_string(), pa.large_binary()) else pa.binary()
    plain: list[bytes | None] = column.cast(kind).to_pylist()
    return plain


def _milliseconds(column: pa.Array) -> list[int | None]:
    whole = column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False).cast(pa.int64())
    counted: list[int | None] = whole.to_pylist()
    return counted
