"""Columns as SQL declares them to the types that JSON is decoded to. Pure.

    key string NOT NULL, at timestamp, place struct<x: double, y: double>, tags array<string>

    boolean, int, bigint, float, double, string, date, timestamp     or integer, long, real
    struct<..>, array<..>                                            of these

Names that are no words stand in back quotes. NOT NULL and COMMENT stand after a column's type; NOT NULL holds
for whole columns only.
"""

from __future__ import annotations

import re
from typing import NoReturn

import pyarrow as pa

from riverlog.errors import ConfigError

ELEMENT = "element"
"""What Spark calls the inside of an array."""

_PLAIN = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|\w+|'(?:[^'\\]|\\.)*'|\S)")
_WORD = re.compile(r"`.+`|\w+", re.DOTALL)


def declared_fields(option: str, text: str) -> pa.Schema:
    """Read the declaration of columns; those that are NOT NULL are not nullable. Raises ConfigError."""
    return _Declaration(option, text).columns()


class _Declaration:
    def __init__(self, option: str, text: str) -> None:
        self._option = option
        self._text = text
        self._tokens = _TOKEN.findall(text.rstrip())
        self._next = 0

    def columns(self) -> pa.Schema:
        fields = self._fields(can_be_required=True)
        if self._peek():
            self._refuse(f"a comma or the end before {self._peek()!r}")
        return pa.schema(fields)

    def _fields(self, *, can_be_required: bool) -> list[pa.Field]:
        fields = [self._field(can_be_required)]
        while self._take_if(","):
            fields.append(self._field(can_be_required))
        names = [field.name for field in fields]
        if len(set(names)) < len(names):
            self._refuse("each name once")
        return fields

    def _field(self, can_be_required: bool) -> pa.Field:
        name = self._word("the name of a column")
        self._take_if(":")
        kind = self._type(name)
        is_required = self._take_if("not")
        if is_required and not (self._take_if("null") and can_be_required):
            self._refuse("NOT NULL, and that for whole columns only")
        if self._take_if("comment"):
            self._next += 1
        return pa.field(name, kind, nullable=not is_required)

    def _type(self, name: str) -> pa.DataType:
        word = self._word(f"the type of {name}").lower()
        if word == "struct":
            self._expect("<")
            kind = pa.struct(self._fields(can_be_required=False))
            self._expect(">")
            return kind
        if word == "array":
            self._expect("<")
            kind = pa.list_(pa.field(ELEMENT, self._type(name)))
            self._expect(">")
            return kind
        if word not in _PLAIN:
            known = ", ".join((*_PLAIN, "struct and array"))
            self._refuse(f"types among {known}; {word} is one for riverlog.pipelines.decode")
        return _PLAIN[word]

    def _word(self, wanted: str) -> str:
        token = self._peek()
        if not _WORD.fullmatch(token):
            self._refuse(f"{wanted} " + (f"before {token!r}" if token else "at the end"))
        self._next += 1
        return token[1:-1].replace("``", "`") if token.startswith("`") else token

    def _expect(self, token: str) -> None:
        if not self._take_if(token):
            self._refuse(f"{token!r} " + (f"before {self._peek()!r}" if self._peek() else "at the end"))

    def _take_if(self, token: str) -> bool:
        if self._peek().lower() != token:
            return False
        self._next += 1
        return True

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _refuse(self, wanted: str) -> NoReturn:
        raise ConfigError(self._option, self._text, f"columns in SQL's words: {wanted}")
