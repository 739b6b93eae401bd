"""The records of Arrow record batches as the plain records that the protocol's own reader gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from riverlog.columnar.batches import Collector, checked_batches
from riverlog.columnar.schema import COLUMNS
from riverlog.errors import RemoteProtocolError
from riverlog.protocol.batches import split_batches
from riverlog.protocol.records import Record, read_records
from riverlog.types import TopicPartition

PLACE = TopicPartition("orders", 3)
FOREVER = 2**63 - 1


def decoded(data: bytes | bytearray, first: int = 0, end: int = FOREVER, columns: Any = COLUMNS) -> Any:
    """All batches in `data` as one record batch; None without records."""
    collector = Collector(PLACE, columns)
    for position, header in checked_batches(data, 0, len(data), PLACE, expected_offset=0).batches:
        collector.add(data, position, header)
    return collector.take(first, end)


def decoded_unchecked(data: bytes | bytearray, collector: Callable[..., Any] = Collector) -> Any:
    """The first batch in `data`, whatever its CRC says; what is no whole batch is refused before."""
    walk = split_batches(data, 0, len(data), check_crc=False)
    if not walk.batches:
        raise RemoteProtocolError(walk.stop.value)
    into = collector(PLACE, COLUMNS)
    into.add(data, *walk.batches[0])
    return into.take(-(2**63), FOREVER)


def as_records(batch: Any) -> list[Record]:
    """The rows of a record batch (or None) as records."""
    if batch is None:
        return []
    batch.validate(full=True)
    milliseconds = batch["timestamp"].cast("int64").fill_null(-1).to_pylist()
    rows = zip(
        batch["offset"].to_pylist(),
        milliseconds,
        batch["key"].to_pylist(),
        batch["value"].to_pylist(),
        batch["headers"].to_pylist(),
        strict=True,
    )
    return [
        Record(offset, time, key, value, tuple((header["key"], header["value"]) for header in headers))
        for offset, time, key, value, headers in rows
    ]


def by_the_record(data: bytes | bytearray) -> list[Record]:
    """What the protocol's reader says, with header keys as text that Arrow can hold."""
    return [shown(record) for record in read_records(data)]


def shown(record: Record) -> Record:
    """The record with header keys as valid text: what is not UTF-8 is replaced."""
    headers = tuple(
        (key.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), value)
        for key, value in record.headers
    )
    return record._replace(headers=headers)


def rows(batches: Iterable[Any]) -> list[Record]:
    """The records of many record batches."""
    return [record for batch in batches for record in as_records(batch)]
