"""Values that are JSON objects to columns, many at a time, by Arrow's parser. Pure.

    values ──are_objects──▶ text of one object a line ──pyarrow.json──▶ columns ──times──▶ struct, reasons
                                   │ refused
                                   └──▶ in pieces ──refused again──▶ record by record in Python

Rules
- Each row is decoded as if it were alone: a bad value makes its own struct null and has its reason, and
  others do not see it. No value, of whatever bytes, can end the text of another: see `json_shape`.
- Where records are bad, all those around one are decoded a second time, and PIECE_ROWS of them a third time,
  slowly. So a topic in which all are bad takes some fifteen times as long, 5 us a record.
- A null value, a tombstone, has no struct and no reason.

How it differs from Spark's `from_json`
- A value that does not fit its column makes the whole record bad, instead of only itself null.
- No other type is taken for the one that is declared: not 1.0 or "1" for bigint, not 1 for string. But whole
  numbers for float and double, and NaN and Infinity for them.
- A number beyond int or bigint, or one that no double holds (1e999), is bad. For float that is infinity.
- A declared field that is there twice makes the record bad.
- Text behind an object, an array instead of it, and NOT NULL fields that are missing or null are bad.
- Times and dates are ISO 8601: date, or date and time with up to six digits behind the second, with or
  without a zone (UTC where there is none); `2026-01-01`. No numbers, and no formats of one's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from numpy.typing import NDArray

from riverlog.pipelines.decoding.declared import ELEMENT
from riverlog.pipelines.decoding.framing import BadValue
from riverlog.pipelines.decoding.json_record import JsonRecord, NoJson
from riverlog.pipelines.decoding.json_shape import are_objects
from riverlog.pipelines.decoding.sql_types import sql_type

ROWS = 16 * 1024
PIECE_ROWS = 1024

_ZONE = r"[T ].*(?:Z|[+-]\d\d(?::?\d\d)?)$"
_NUMBERS_OF_ARROW = (b"NaN", b"Inf")
"""In what Arrow takes for numbers beyond what Python does."""

_UNFIT = (BadValue, pa.ArrowException)


class JsonColumns:
    """Decodes values to structs of `fields`."""

    def __init__(self, fields: pa.Schema) -> None:
        """`fields`: of the types that `declared` knows; those that are not nullable must be there."""
        self.kind = struct_of(fields)
        self._raw = pa.schema([pa.field(field.name, _as_parsed(field.type)) for field in fields])
        self._required = [field.name for field in fields if not field.nullable]
        self._record = JsonRecord(fields)

    def decode(self, values: pa.Array) -> tuple[pa.StructArray, pa.Array]:
        """Give a struct for each value of a binary array, null where it is bad, and why it is."""
        decoded = [
            piece
            for start in range(0, len(values), ROWS)
            for piece in self._decoded(values.slice(start, ROWS))
        ]
        if len(decoded) == 1:
            return decoded[0]
        structs = [struct for struct, _ in decoded] or [pa.array([], self.kind)]
        reasons = [reason for _, reason in decoded] or [pa.array([], pa.string())]
        return pa.concat_arrays(structs), pa.concat_arrays(reasons)

    def _decoded(self, values: pa.Array) -> list[tuple[pa.StructArray, pa.Array]]:
        is_object = are_objects(values)
        reasons: dict[int, str] = {}
        try:
            struct = _shaped("", self._parsed(values, is_object), self.kind)
        except _UNFIT:
            if len(values) > PIECE_ROWS:
                return [
                    piece
                    for start in range(0, len(values), PIECE_ROWS)
                    for piece in self._decoded(values.slice(start, PIECE_ROWS))
                ]
            struct, reasons = self._one_by_one(values, is_object)
        for row in np.flatnonzero(~is_object).tolist():
            value = values[row]
            if value.is_valid:
                reasons[row] = self._why_no_object(value.as_py())
        return [self._with_reasons(struct, reasons)]

    def _parsed(self, values: pa.Array, is_object: NDArray[np.bool_]) -> pa.StructArray:
        """Parse all of them at once, by the types of `self._raw`. Raises pa.ArrowException."""
        if not is_object.all():
            values = pc.if_else(pa.array(is_object), values, pa.scalar(b"{}"))
        values.cast(pa.string())  # is it UTF-8?
        joined = pc.binary_join_element_wise(values, pa.scalar(b""), pa.scalar(b"\n"))
        size = int(np.frombuffer(joined.buffers()[1], np.int32)[joined.offset + len(joined)])
        table = pj.read_json(
            pa.BufferReader(joined.buffers()[2].slice(0, size)),
            read_options=pj.ReadOptions(use_threads=False, block_size=size + 1),
            parse_options=pj.ParseOptions(explicit_schema=self._raw, unexpected_field_behavior="ignore"),
        )
        if table.num_rows != len(values):
            raise pa.ArrowInvalid(f"{table.num_rows} rows of {len(values)} values")
        columns = [_whole(table.column(field.name)) for field in self._raw]
        return pa.StructArray.from_arrays(columns, fields=list(self._raw), mask=pa.array(~is_object))

    def _one_by_one(
        self, values: pa.Array, is_object: NDArray[np.bool_]
    ) -> tuple[pa.StructArray, dict[int, str]]:
        records: list[dict[str, Any] | None] = [None] * len(values)
        reasons: dict[int, str] = {}
        for row in np.flatnonzero(is_object).tolist():
            try:
                records[row] = self._alone(values[row].as_py())
            except BadValue as error:
                reasons[row] = str(error)
        try:
            return self._struct(records), reasons
        except BadValue:
            for row, record in enumerate(records):
                try:
                    self._struct([record])
                except BadValue as error:
                    records[row], reasons[row] = None, str(error)
            return self._struct(records), reasons

    def _alone(self, value: bytes) -> dict[str, Any]:
        try:
            return self._record.decode(value)
        except NoJson:
            if not any(text in value for text in _NUMBERS_OF_ARROW):
                raise
            reason = "it is no JSON"
        except RecursionError:
            reason = "it holds too much within one another"
        try:
            [record] = self._parsed(pa.array([value], pa.binary()), np.ones(1, np.bool_)).to_pylist()
        except pa.ArrowException:
            raise BadValue(reason) from None
        assert isinstance(record, dict), "a value that was parsed as an object"
        return record

    def _why_no_object(self, value: bytes) -> str:
        begin = value.lstrip()
        if not begin.startswith(b"{"):
            return "it is no JSON object" if begin else "it is empty"
        try:
            self._record.decode(value)
        except BadValue as error:
            return str(error)
        except RecursionError:
            pass
        return "it is no JSON object"

    def _struct(self, records: list[dict[str, Any] | None]) -> pa.StructArray:
        return _shaped("", pa.array(records, pa.struct(list(self._raw))), self.kind)

    def _with_reasons(
        self, struct: pa.StructArray, reasons: dict[int, str]
    ) -> tuple[pa.StructArray, pa.Array]:
        for name in self._required:
            column = struct.field(name)
            if column.null_count:
                missing = pc.and_(struct.is_valid(), column.is_null())
                for row in np.flatnonzero(missing.to_numpy(zero_copy_only=False)).tolist():
                    reasons.setdefault(row, f"{name} is missing")
        if not reasons:
            return struct, pa.nulls(len(struct), pa.string())
        is_null = struct.is_null().to_numpy(zero_copy_only=False).copy()
        is_null[list(reasons)] = True
        columns = [struct.field(number) for number in range(self.kind.num_fields)]
        told = pa.array([reasons.get(row) for row in range(len(struct))], pa.string())
        return pa.StructArray.from_arrays(columns, fields=list(self.kind), mask=pa.array(is_null)), told


def struct_of(fields: pa.Schema) -> pa.DataType:
    """Give the type of the structs: all that is in them may be null in Spark, where a record is bad."""
    return pa.struct([pa.field(field.name, field.type) for field in fields])


def _as_parsed(kind: pa.DataType) -> pa.DataType:
    """Give the type to parse as: times and dates as their text."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _as_parsed(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field(ELEMENT, _as_parsed(kind.value_type)))
    return pa.string() if pa.types.is_temporal(kind) else kind


def _shaped(path: str, array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Make times and dates of their text. Raises BadValue."""
    if array.type == kind:
        return array
    if pa.types.is_struct(kind):
        names = [f"{path}.{field.name}" if path else field.name for field in kind]
        # Flattened, what is in a null struct is null; in its fields it may be anything.
        columns = [
            _shaped(name, column, field.type)
            for name, column, field in zip(names, array.flatten(), kind, strict=True)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(kind), mask=array.is_null())
    if pa.types.is_list(kind):
        values = _shaped(path, array.values, kind.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type=kind, mask=array.is_null())
    try:
        return _times(array) if pa.types.is_timestamp(kind) else array.cast(kind)
    except pa.ArrowInvalid as error:
        raise BadValue(f"{path} is no {sql_type(kind)}: {error}") from None


def _times(text: pa.Array) -> pa.Array:
    """Read times with and without a zone. Raises pa.ArrowInvalid."""
    zoned, plain = pa.timestamp("us", "UTC"), pa.timestamp("us")
    has_zone = pc.match_substring_regex(text, _ZONE)
    if pc.all(has_zone).as_py() is not False:
        return text.cast(zoned)
    nothing = pa.scalar(None, pa.string())
    with_zone = pc.if_else(has_zone, text, nothing).cast(zoned)
    without = pc.if_else(has_zone, nothing, text).cast(plain).cast(zoned)
    return pc.coalesce(with_zone, without)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
