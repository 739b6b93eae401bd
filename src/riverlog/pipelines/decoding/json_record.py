"""One JSON object to a record, in Python: slower than Arrow, and able to say what is wrong. Pure.

What it accepts, Arrow's parser accepts as well, with the same values, but for what that refuses of fields
which nobody asked for; and the other way round.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import pyarrow as pa

from riverlog.pipelines.decoding.framing import BadValue
from riverlog.pipelines.decoding.sql_types import sql_type

_Convert: TypeAlias = Callable[[Any], Any]

_WHOLE = re.compile(r"-?[0-9]{1,19}")
_REASON_CHARACTERS_MAX = 60


class _Number(str):
    """The text of a number."""

    __slots__ = ()


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object, in their order, as often as they are there."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_int=_Number, parse_float=_Number, parse_constant=_Number
)


class JsonRecord:
    """Decodes single values to what Arrow takes for `fields`; dates and times stay text."""

    def __init__(self, fields: pa.Schema) -> None:
        self._convert = _struct("", list(fields))

    def decode(self, value: bytes) -> dict[str, Any]:
        """Decode one value, of which it is known that it begins with a brace. Raises BadValue.

        Raises RecursionError where it holds too much within one another.
        """
        try:
            text = value.decode()
        except UnicodeDecodeError:
            raise BadValue("it is no text in UTF-8") from None
        try:
            document = _DECODER.decode(text)
        except json.JSONDecodeError as error:
            raise NoJson(f"it is no JSON: {error.msg.removesuffix(' at')} at character {error.pos}") from None
        record: dict[str, Any] = self._convert(document)
        return record


class NoJson(BadValue):
    """A value that is no JSON by the standard, nor by what Python adds to it."""


def _struct(path: str, fields: list[pa.Field]) -> _Convert:
    converts = {field.name: _of_type(_joined(path, field.name), field.type) for field in fields}

    def convert(value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        if not isinstance(value, _Pairs):
            _refuse(path, "struct", value)
        made: dict[str, Any] = {}
        for name, inside in value:
            if name in converts:
                if name in made:
                    raise BadValue(f"{_joined(path, name)} is there twice")
                made[name] = converts[name](inside)
        return made

    return convert


def _list(path: str, kind: pa.DataType) -> _Convert:
    inside = _of_type(path, kind.value_type)

    def convert(value: Any) -> list[Any] | None:
        if value is None:
            return None
        if type(value) is not list:
            _refuse(path, "array", value)
        return [inside(each) for each in value]

    return convert


def _of_type(path: str, kind: pa.DataType) -> _Convert:
    if pa.types.is_struct(kind):
        return _struct(path, list(kind))
    if pa.types.is_list(kind):
        return _list(path, kind)
    accept = _plain(kind)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        made = accept(value)
        if made is None:
            _refuse(path, sql_type(kind), value)
        return made

    return convert


def _plain(kind: pa.DataType) -> _Convert:
    """Give what makes a value of a type; None where it is none."""
    if pa.types.is_boolean(kind):
        return _boolean
    if pa.types.is_integer(kind):
        return _whole(kind.bit_width)
    if pa.types.is_floating(kind):
        return _single if pa.types.is_float32(kind) else _double
    return _text


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _whole(bits: int) -> _Convert:
    least, end = -(2 ** (bits - 1)), 2 ** (bits - 1)

    def accept(value: Any) -> int | None:
        if not (isinstance(value, _Number) and _WHOLE.fullmatch(value)):
            return None
        number = int(value)
        return number if least <= number < end else None

    return accept


def _double(value: Any) -> float | None:
    if not isinstance(value, _Number):
        return None
    number = float(value)
    return None if math.isinf(number) and not value.endswith("y") else number


def _single(value: Any) -> float | None:
    """Round once, from the text, as Arrow does, instead of twice."""
    if _double(value) is None:
        return None
    number: float = pa.array([str(value)]).cast(pa.float32())[0].as_py()
    return number


def _text(value: Any) -> str | None:
    if type(value) is not str:
        return None
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    return value


def _refuse(path: str, declared: str, value: Any) -> NoReturn:
    if isinstance(value, _Pairs):
        told = "an object"
    elif isinstance(value, _Number):
        told = str(value)
    else:
        told = json.dumps(value, default=str)
    if len(told) > _REASON_CHARACTERS_MAX:
        told = f"{told[:_REASON_CHARACTERS_MAX]}..."
    raise BadValue(f"{path} is no {declared}: {told}")


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
