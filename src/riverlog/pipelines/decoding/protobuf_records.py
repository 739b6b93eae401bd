"""Protobuf to records, by its own runtime and a compiled descriptor. Pure.

    double, float, int32, sint32, sfixed32, int64, sint64, sfixed64, bool, string, bytes   the same in SQL
    uint32, fixed32     bigint               enum                     string, the name of the value
    uint64, fixed64     decimal(20, 0)       message, repeated, map   struct, array, map
    google.protobuf.Timestamp                timestamp

A field that can tell whether it is there (`optional`, a message, one of a oneof) is null if it is not; any
other one has its default then, since the bytes do not tell the two apart. Fields that the descriptor does
not know are passed over. Messages within themselves have no column in SQL and are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from riverlog.errors import ConfigError
from riverlog.pipelines.decoding.framing import BadValue, unframed

_TIMESTAMP = "google.protobuf.Timestamp"
_MICROSECONDS = 1_000_000
_KINDS = {
    FieldDescriptor.CPPTYPE_INT32: pa.int32(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT32: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT64: pa.decimal128(20, 0),
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_ENUM: pa.string(),
}

_Getter = Callable[[Any], Any]


class ProtobufRecords:
    """Decodes values of one message."""

    def __init__(self, message: str, descriptors: bytes, *, framed: bool = False) -> None:
        """`descriptors`: a FileDescriptorSet, as `protoc --include_imports --descriptor_set_out` writes it.

        Raises ConfigError.
        """
        descriptor = _found(message, descriptors)
        self._name = message
        self._indexes = _indexes(descriptor)
        self._framed = framed
        self._parse = message_factory.GetMessageClass(descriptor).FromString
        self.raw, self._get = _message(descriptor, ())
        self.kind = self.raw

    def decode(self, value: bytes) -> dict[str, Any]:
        """Decode one value. Raises BadValue."""
        if self._framed:
            _, value, indexes = unframed(value, has_indexes=True)
            if indexes != self._indexes:
                raise BadValue(f"it is another message of its schema than {self._name}")
        try:
            message = self._parse(value)
        except DecodeError as error:
            raise BadValue(f"it is no {self._name}: {error}") from None
        record: dict[str, Any] = self._get(message)
        return record


def descriptor_set(message: Any) -> bytes:
    """Give the descriptors of a generated message class, with all that its file imports."""
    files: dict[str, Any] = {}

    def add(file: Any) -> None:
        if file.name in files:
            return
        for each in file.dependencies:
            add(each)
        made = descriptor_pb2.FileDescriptorProto()
        file.CopyToProto(made)
        files[file.name] = made

    add(message.DESCRIPTOR.file)
    content: bytes = descriptor_pb2.FileDescriptorSet(file=files.values()).SerializeToString()
    return content


def _found(message: str, descriptors: bytes) -> Descriptor:
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file:
            pool.Add(file)
        return pool.FindMessageTypeByName(message)
    except DecodeError:
        raise ConfigError("descriptors", "", "a FileDescriptorSet, as protoc writes it") from None
    except (KeyError, TypeError) as error:
        raise ConfigError(
            "schema", message, f"a message of the descriptors, which hold all they import ({error})"
        ) from None


def _indexes(descriptor: Descriptor) -> tuple[int, ...]:
    """Say which message of its file it is."""
    around = descriptor.containing_type
    if around is None:
        return (list(descriptor.file.message_types_by_name).index(descriptor.name),)
    return (*_indexes(around), [each.name for each in around.nested_types].index(descriptor.name))


def _message(descriptor: Descriptor, around: tuple[str, ...]) -> tuple[pa.DataType, _Getter]:
    """Give the type of a message, and what makes a dictionary of one."""
    if descriptor.full_name == _TIMESTAMP:
        return pa.timestamp("us", "UTC"), _microseconds
    if descriptor.full_name in around:
        raise ConfigError("schema", descriptor.full_name, "messages that do not hold themselves")
    kinds = []
    getters: list[tuple[str, _Getter]] = []
    for field in descriptor.fields:
        kind, get = _field(field, (*around, descriptor.full_name))
        kinds.append(pa.field(field.name, kind))
        getters.append((field.name, get))
    return pa.struct(kinds), lambda message: {name: get(message) for name, get in getters}


def _field(field: Any, around: tuple[str, ...]) -> tuple[pa.DataType, _Getter]:
    name = field.name
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        entry = field.message_type.fields_by_name
        key, _ = _value(entry["key"], around)
        kind, convert = _value(entry["value"], around)
        return pa.map_(key, kind), lambda message: [
            (each, convert(value)) for each, value in getattr(message, name).items()
        ]
    kind, convert = _value(field, around)
    if field.is_repeated:
        many = pa.list_(pa.field("element", kind))
        return many, lambda message: [convert(value) for value in getattr(message, name)]
    if field.has_presence:
        return kind, lambda message: convert(getattr(message, name)) if message.HasField(name) else None
    return kind, lambda message: convert(getattr(message, name))


def _value(field: Any, around: tuple[str, ...]) -> tuple[pa.DataType, _Getter]:
    """Give the type of a field's single value, and what makes of it what Arrow takes."""
    if field.message_type is not None:
        return _message(field.message_type, around)
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return pa.string(), lambda number: names.get(number, str(number))
    if field.type == FieldDescriptor.TYPE_STRING:
        return pa.string(), _same
    if field.type == FieldDescriptor.TYPE_BYTES:
        return pa.binary(), _same
    kind = _KINDS[field.cpp_type]
    return kind, Decimal if pa.types.is_decimal(kind) else _same


def _same(value: Any) -> Any:
    return value


def _microseconds(moment: Any) -> int:
    return int(moment.seconds) * _MICROSECONDS + int(moment.nanos) // 1000
