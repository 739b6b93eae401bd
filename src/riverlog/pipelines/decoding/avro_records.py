"""Avro to records, by fastavro. Pure.

    null|boolean|int|long|float|double|bytes|string   the same in SQL
    record, array, map, enum, fixed                    struct, array, map, string, binary
    ["null", X]                                        X that may be null
    decimal, date, timestamp-*, local-timestamp-*      decimal, date, timestamp, timestamp_ntz
    uuid, time-*                                       string; int or bigint, in the unit of the schema

As Spark's own Avro maps them. Unions of several types that are not null, and types within themselves, have
no column in SQL and are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import pyarrow as pa

from riverlog.errors import ConfigError
from riverlog.pipelines.decoding.framing import BadValue, unframed

_PRIMITIVES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_UNITS = {"millis": "ms", "micros": "us"}
_DECIMAL_DIGITS_MAX = 38


class AvroRecords:
    """Decodes values of one schema, or of several that can be read as that one."""

    def __init__(
        self, schema: str, *, framed: bool = False, schemas: Mapping[int, str] | None = None
    ) -> None:
        """`schemas`: by their ids, those that framed values were written with; without, all with `schema`.

        Raises ConfigError.
        """
        self._schema = _parsed(schema)
        self.raw, self.kind = arrow_types(self._schema)
        if not pa.types.is_struct(self.kind):
            raise ConfigError("schema", schema, "an Avro record")
        self._framed = framed
        self._writers = (
            None if schemas is None else {number: _parsed(each) for number, each in schemas.items()}
        )

    def decode(self, value: bytes) -> dict[str, Any]:
        """Decode one value. Raises BadValue."""
        from fastavro import schemaless_reader

        writer = self._schema
        if self._framed:
            schema_id, value, _ = unframed(value)
            if self._writers is not None:
                if schema_id not in self._writers:
                    raise BadValue(f"it was written with schema {schema_id}, which is not known here")
                writer = self._writers[schema_id]
        reader = None if writer is self._schema else self._schema
        stream = BytesIO(value)
        try:
            record = schemaless_reader(stream, writer, reader)
        except EOFError:
            raise BadValue("it is no Avro of the schema: it ends too early") from None
        except Exception as error:  # of whatever kind: bytes from outside reach all of the reader
            raise BadValue(f"it is no Avro of the schema: {str(error) or type(error).__name__}") from None
        left = len(value) - stream.tell()
        if left:
            raise BadValue(f"it is no Avro of the schema: {left} bytes are left over")
        assert isinstance(record, dict), "a schema that is a record"
        return record


def arrow_types(schema: Any) -> tuple[pa.DataType, pa.DataType]:
    """Give the type that decoded values are read as, and that of the column. Raises ConfigError."""
    raw = _raw(schema, {}, ())
    return raw, _in_microseconds(raw)


def _parsed(text: str) -> Any:
    """Read a schema, without those logical types that columns do better than fastavro."""
    from fastavro import parse_schema
    from fastavro.schema import SchemaParseException, UnknownType

    try:
        document = json.loads(text)
        parse_schema(document)
        return parse_schema(_plain(document))
    except (ValueError, KeyError, TypeError, SchemaParseException, UnknownType) as error:
        raise ConfigError("schema", text, f"an Avro schema ({error})") from None


def _plain(schema: Any) -> Any:
    """Keep a logical type under a name that fastavro passes over, unless it is a decimal."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: value for name, value in schema.items() if name != "default"}
    if "default" in schema:
        made["default"] = schema["default"]
    logical = made.get("logicalType")
    if logical is not None and logical != "decimal":
        made["columnType"] = made.pop("logicalType")
    for inside in ("type", "items", "values"):
        if isinstance(made.get(inside), (dict, list)):
            made[inside] = _plain(made[inside])
    if "fields" in made:
        made["fields"] = [_plain(field) for field in made["fields"]]
    return made


def _raw(schema: Any, named: dict[str, Any], around: tuple[str, ...]) -> pa.DataType:
    if isinstance(schema, list):
        kinds = [each for each in schema if each != "null"]
        if len(kinds) != 1:
            raise ConfigError("schema", json.dumps(schema), "a union of null and one other type")
        return _raw(kinds[0], named, around)
    if isinstance(schema, str):
        if schema in _PRIMITIVES:
            return _PRIMITIVES[schema]
        if schema in around:
            raise ConfigError("schema", schema, "types that do not hold themselves")
        if schema not in named:
            raise ConfigError("schema", schema, "a type that has values")
        return _raw(named[schema], named, around)
    name, kind = schema.get("name", ""), schema["type"]
    if kind in ("record", "enum", "fixed"):
        named[name] = schema
    match kind:
        case "record" | "error":
            inside = (*around, name)
            return pa.struct(
                [pa.field(field["name"], _raw(field["type"], named, inside)) for field in schema["fields"]]
            )
        case "array":
            return pa.list_(pa.field("element", _raw(schema["items"], named, around)))
        case "map":
            return pa.map_(pa.string(), _raw(schema["values"], named, around))
    return _logical(schema) or _raw(kind, named, around)


def _logical(schema: Mapping[str, Any]) -> pa.DataType | None:
    if schema.get("logicalType") == "decimal":
        if schema["precision"] > _DECIMAL_DIGITS_MAX:
            raise ConfigError(
                "schema", json.dumps(schema), f"decimals of {_DECIMAL_DIGITS_MAX} digits at most"
            )
        return pa.decimal128(schema["precision"], schema.get("scale", 0))
    logical = schema.get("columnType")
    if logical == "date":
        return pa.date32()
    for prefix, zone in (("timestamp-", "UTC"), ("local-timestamp-", None)):
        unit = _UNITS.get(logical.removeprefix(prefix)) if logical and logical.startswith(prefix) else None
        if unit is not None:
            return pa.timestamp(unit, zone)
    return None


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _in_microseconds(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _in_microseconds(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _in_microseconds(kind.item_type))
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else kind
