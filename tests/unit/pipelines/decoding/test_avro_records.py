"""Avro values to columns of records."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverlog.errors import ConfigError
from riverlog.pipelines.decoding.avro_records import AvroRecords
from riverlog.pipelines.decoding.records import decoded
from riverlog.pipelines.decoding.sql_types import sql_type

CLICK: dict[str, Any] = {
    "type": "record",
    "name": "Click",
    "namespace": "shop",
    "fields": [{"name": "page", "type": "string"}, {"name": "count", "type": ["null", "long"]}],
}
EVERYTHING: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
        {"name": "second", "type": ["null", "Color"]},
        {"name": "tags", "type": {"type": "map", "values": "float"}},
        {
            "name": "parts",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Part",
                    "fields": [
                        {"name": "mark", "type": {"type": "fixed", "name": "Mark", "size": 2}},
                        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-micros"}},
                    ],
                },
            },
        },
    ],
}
NOON = datetime(2026, 1, 1, 12, 0, 0, 123_000, UTC)


def encoded(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), record)
    return stream.getvalue()


def rows(values: list[bytes | None], decoder: AvroRecords) -> list[Any]:
    return [(each["record"], each["reason"]) for each in decoded(values, decoder).to_pylist()]


def test_values_become_records_and_a_null_is_neither_good_nor_bad() -> None:
    values = [encoded(CLICK, {"page": "/", "count": 7}), None, encoded(CLICK, {"page": "é", "count": None})]

    assert rows(values, AvroRecords(json.dumps(CLICK))) == [
        ({"page": "/", "count": 7}, None),
        (None, None),
        ({"page": "é", "count": None}, None),
    ]


def test_every_type_has_a_column() -> None:
    order = {
        "at": NOON,
        "local": NOON.replace(tzinfo=None),
        "day": date(2026, 1, 2),
        "price": Decimal("-1.25"),
        "id": "e3b0c442-98fc-1c14-9afb-f4c8996fb924",
        "color": "RED",
        "second": "BLUE",
        "tags": {"a": 0.5},
        "parts": [{"mark": b"ab", "seen": NOON}],
    }
    decoder = AvroRecords(json.dumps(EVERYTHING))

    assert sql_type(decoder.kind) == (
        "struct<`at`: timestamp, `local`: timestamp_ntz, `day`: date, `price`: decimal(9, 2), `id`: string, "
        "`color`: string, `second`: string, `tags`: map<string, float>, "
        "`parts`: array<struct<`mark`: binary, `seen`: timestamp>>>"
    )
    [(record, reason)] = rows([encoded(EVERYTHING, order)], decoder)
    assert reason is None
    assert record == {**order, "tags": [("a", 0.5)]}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "too early"),
        (b"\x04a", "Avro"),
        (encoded(CLICK, {"page": "", "count": 1}) + b"x", "1 bytes are left over"),
    ],
)
def test_what_is_no_avro_is_bad_with_its_reason(value: bytes, why: str) -> None:
    [(record, reason)] = rows([value], AvroRecords(json.dumps(CLICK)))

    assert record is None
    assert why in reason


def test_one_value_that_fits_no_column_does_not_take_the_others_with_it() -> None:
    schema = {"type": "record", "name": "T", "fields": [EVERYTHING["fields"][0]]}
    plain = {"type": "record", "name": "T", "fields": [{"name": "at", "type": "long"}]}
    values: list[bytes | None] = [encoded(plain, {"at": each}) for each in (0, 2**62, 1000)]
    found = rows(values, AvroRecords(json.dumps(schema)))

    assert [record and record["at"].timestamp() for record, _ in found] == [0, None, 1]
    assert "does not fit its columns" in found[1][1]


@given(st.lists(st.binary(max_size=30), max_size=8))
def test_any_bytes_are_a_record_or_bad(values: list[bytes]) -> None:
    for record, reason in rows(list(values), AvroRecords(json.dumps(CLICK))):
        assert (record is None) != (reason is None)


def test_a_framed_value_is_read_by_the_schema_that_wrote_it() -> None:
    older = {**CLICK, "fields": CLICK["fields"][:1]}
    newer = {**CLICK, "fields": [CLICK["fields"][0], {**CLICK["fields"][1], "default": None}]}
    decoder = AvroRecords(
        json.dumps(newer), framed=True, schemas={1: json.dumps(older), 2: json.dumps(CLICK)}
    )
    values: list[bytes | None] = [
        b"\0\0\0\0\1" + encoded(older, {"page": "a"}),
        b"\0\0\0\0\2" + encoded(CLICK, {"page": "b", "count": 3}),
        b"\0\0\0\0\3" + encoded(CLICK, {"page": "c", "count": 4}),
        encoded(CLICK, {"page": "d", "count": 5}),
    ]
    found = rows(values, decoder)

    assert [record for record, _ in found] == [
        {"page": "a", "count": None},
        {"page": "b", "count": 3},
        None,
        None,
    ]
    assert "schema 3, which is not known here" in found[2][1]
    assert "does not begin with a schema id" in found[3][1]


@pytest.mark.parametrize(
    "schema",
    [
        "{",
        '"string"',
        '{"type": "record", "name": "T", "fields": [{"name": "a", "type": ["int", "string"]}]}',
        '{"type": "record", "name": "T", "fields": [{"name": "a", "type": ["null", "T"]}]}',
        '{"type": "record", "name": "T", "fields": [{"name": "a", "type": "nonsense"}]}',
    ],
)
def test_a_schema_without_columns_is_refused(schema: str) -> None:
    with pytest.raises(ConfigError, match="schema"):
        AvroRecords(schema)
