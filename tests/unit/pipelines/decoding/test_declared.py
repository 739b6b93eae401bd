"""Columns in SQL's words to types."""

from __future__ import annotations

import pyarrow as pa
import pytest

from riverlog.errors import ConfigError
from riverlog.pipelines.decoding.declared import declared_fields
from riverlog.pipelines.decoding.sql_types import sql_type


def declared(text: str) -> str:
    return sql_type(pa.struct(list(declared_fields("valueSchema", text))))


def test_types_have_the_names_that_sql_has_for_them() -> None:
    text = (
        "a boolean, b int, c BIGINT, d float, e double, f string, g timestamp, h date, "
        "i integer, j long, k real"
    )

    assert declared(text) == (
        "struct<`a`: boolean, `b`: int, `c`: bigint, `d`: float, `e`: double, `f`: string, `g`: timestamp, "
        "`h`: date, `i`: int, `j`: bigint, `k`: float>"
    )


def test_structs_and_arrays_hold_each_other() -> None:
    text = "a: struct<x: array<struct<y: int>>, z STRING>, `b ``c` array<array<double>>"

    assert declared(text) == (
        "struct<`a`: struct<`x`: array<struct<`y`: int>>, `z`: string>, `b ``c`: array<array<double>>>"
    )


def test_columns_may_be_required_and_have_comments() -> None:
    fields = declared_fields("s", "a int NOT NULL COMMENT 'it\\'s, so', b int, c int not null")

    assert [field.nullable for field in fields] == [False, True, False]


@pytest.mark.parametrize(
    "kind", ["decimal(10, 2)", "map<string, int>", "binary", "timestamp_ntz", "smallint"]
)
def test_other_types_are_refused_with_where_to_find_them(kind: str) -> None:
    with pytest.raises(ConfigError, match=rf"{kind[:3]}\w* is one for riverlog.pipelines.decode"):
        declared_fields("valueSchema", f"a int, b {kind}")


@pytest.mark.parametrize(
    "text",
    ["", "a", "a int,", "a int b int", "a struct<>", "a struct<b int", "a array<>", "a array<int",
     "a int not", "a int, a string",
     "a struct<b int not null>", "a struct<b int, b int>", "int)", "'a' int", "a int)"],
)  # fmt: skip
def test_what_is_no_declaration_is_refused_by_the_options_name(text: str) -> None:
    with pytest.raises(ConfigError, match="valueSchema"):
        declared_fields("valueSchema", text)
