"""Protobuf values to columns of records."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverlog.errors import ConfigError
from riverlog.pipelines.decoding.protobuf_records import ProtobufRecords, descriptor_set
from riverlog.pipelines.decoding.records import decoded
from riverlog.pipelines.decoding.sql_types import sql_type
from tests.messages import click_class

CLICK = click_class()
DESCRIPTORS = descriptor_set(CLICK)


def rows(values: list[bytes | None], *, framed: bool = False) -> list[Any]:
    decoder = ProtobufRecords("shop.Click", DESCRIPTORS, framed=framed)
    return [(each["record"], each["reason"]) for each in decoded(values, decoder).to_pylist()]


def test_every_type_has_a_column() -> None:
    assert sql_type(ProtobufRecords("shop.Click", DESCRIPTORS).kind) == (
        "struct<`page`: string, `at`: timestamp, `total`: decimal(20, 0), `tags`: array<string>, "
        "`counts`: map<string, int>, `color`: string, `place`: struct<`city`: binary>, `age`: int>"
    )


def test_a_message_becomes_a_record() -> None:
    click = CLICK(page="/é", total=2**64 - 1, tags=["a", "b"], counts={"x": -1}, color=1, age=0)
    click.at.FromDatetime(datetime(2026, 1, 1, 12, 0, 0, 5, UTC))
    click.place.city = b"\xff"

    [(record, reason)] = rows([click.SerializeToString()])

    assert reason is None
    assert record == {
        "page": "/é",
        "at": datetime(2026, 1, 1, 12, 0, 0, 5, UTC),
        "total": Decimal(2**64 - 1),
        "tags": ["a", "b"],
        "counts": [("x", -1)],
        "color": "BLUE",
        "place": {"city": b"\xff"},
        "age": 0,
    }


def test_what_can_be_absent_is_null_and_the_rest_has_its_default() -> None:
    [(record, _)] = rows([b""])

    assert record == {
        "page": "",
        "at": None,
        "total": Decimal(0),
        "tags": [],
        "counts": [],
        "color": "RED",
        "place": None,
        "age": None,
    }


def test_an_enum_s_number_without_a_name_is_kept_as_text() -> None:
    [(record, _)] = rows([CLICK(color=9).SerializeToString()])

    assert record["color"] == "9"


def test_what_is_no_message_is_bad_with_its_reason_and_a_null_is_not() -> None:
    beyond = CLICK(page="far")
    beyond.at.seconds = 2**60
    found = rows(
        [b"\x0a\xff", None, b"\x0a\1\xff", beyond.SerializeToString(), CLICK(page="a").SerializeToString()]
    )

    assert [record and record["page"] for record, _ in found] == [None, None, None, None, "a"]
    assert [reason and reason[:17] for _, reason in found] == [
        "it is no shop.Cli",
        None,
        "it is no shop.Cli",
        "it does not fit i",
        None,
    ]


def test_a_framed_value_must_be_of_this_message() -> None:
    value = CLICK(page="a").SerializeToString()
    found = rows([b"\0\0\0\0\1\2\2" + value, b"\0\0\0\0\1\0" + value, value], framed=True)

    assert [record and record["page"] for record, _ in found] == ["a", None, None]
    assert "another message of its schema" in found[1][1]
    assert "schema id" in found[2][1]


@given(st.lists(st.binary(max_size=30), max_size=8))
def test_any_bytes_are_a_record_or_bad(values: list[bytes]) -> None:
    for record, reason in rows(list(values)):
        assert (record is None) != (reason is None)


@pytest.mark.parametrize(
    ("message", "descriptors"), [("shop.Clack", DESCRIPTORS), ("shop.Click", b"\xff\xff")]
)
def test_a_message_that_is_not_described_is_refused(message: str, descriptors: bytes) -> None:
    with pytest.raises(ConfigError):
        ProtobufRecords(message, descriptors)


def test_a_message_that_holds_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match="do not hold themselves"):
        ProtobufRecords("google.protobuf.Struct", descriptor_set(_struct_class()))


def _struct_class() -> Any:
    from google.protobuf import struct_pb2

    return struct_pb2.Struct
