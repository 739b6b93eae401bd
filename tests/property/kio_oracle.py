"""kio as the judge of our encoding: the same message as kio's entity, and the bytes that kio writes for it.

kio is an independent implementation with one class per message and version, whose fields come in the same
order as ours. Its values are of richer types, and not every value of ours has a counterpart there: so
`KioMessageBuilder` builds messages of values that have one, and `entity_of` converts them.
"""

from __future__ import annotations

import datetime
import io
import uuid
from collections.abc import Iterator
from dataclasses import fields as dataclass_fields
from pkgutil import resolve_name
from typing import Any

from kio.schema.errors import ErrorCode as KioErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_writer
from kio.serial._introspect import classify_field, is_optional
from kio.static.constants import EntityType

from riverlog.protocol import schema
from tests.property.random_messages import MessageBuilder, definition_of, fields_of

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
ZERO = schema.ZERO_UUID
ERROR_CODES = [int(code) for code in KioErrorCode]
SECONDS_MAX = 4_000_000_000  # kio's times are whole seconds here, and end with the year 9999


def entity_class(message_name: str, version: int) -> Any:
    """Find kio's class of a message in a version; None when kio has none."""
    definition_name = definition_of(message_name).name.removeprefix("data/")
    if message_name.endswith("Request"):
        entity_type = EntityType.request
    elif message_name.endswith("Response"):
        entity_type = EntityType.response
    else:
        entity_type = EntityType.data
    path = schema_name_map.get(definition_name, {}).get(version, {}).get(entity_type)  # type: ignore[call-overload]
    return path and resolve_name(path)


def paired_fields(
    definition: schema.Definition, struct_name: str, version: int, entity: Any
) -> Iterator[tuple[schema.Field, Any]]:
    """Pair our fields of a structure with those of kio's class for it."""
    ours = list(fields_of(definition, struct_name, version))
    theirs = dataclass_fields(entity)
    assert len(ours) == len(theirs), (struct_name, version, ours, theirs)
    return zip(ours, theirs, strict=True)


class KioMessageBuilder(MessageBuilder):
    """Builds random messages that kio's entities can hold."""

    def __init__(self, message_name: str, version: int, seed: int) -> None:
        super().__init__(message_name, version, seed)
        self.kinds: dict[tuple[str, str], str] = {}
        self._collect_kinds(message_name, entity_class(message_name, version))

    def _collect_kinds(self, struct_name: str, entity: Any) -> None:
        for field, kio_field in paired_fields(self.definition, struct_name, self.version, entity):
            if field.is_struct:
                self._collect_kinds(field.kind, classify_field(kio_field).type_)
            else:
                self.kinds[struct_name, field.name] = kio_field.metadata["kafka_type"]

    def value(self, struct_name: str, field: schema.Field) -> Any:
        match self.kinds.get((struct_name, field.name)):
            case "error_code":
                return self.random.choice(ERROR_CODES)
            case "datetime_i64":
                return self.random.randint(0, SECONDS_MAX) * 1000
            case "timedelta_i64":
                return self.random.randint(-(10**12), 10**12)
            case _:
                return super().value(struct_name, field)


def entity_of(
    definition: schema.Definition, struct_name: str, version: int, message: Any, entity: Any
) -> Any:
    """Convert a message, or a structure within one, to kio's class for it."""

    def convert(value: Any, field: schema.Field, kio_field: Any) -> Any:
        if field.is_struct:
            return entity_of(definition, field.kind, version, value, classify_field(kio_field).type_)
        return kio_value(kio_field.metadata["kafka_type"], is_optional(kio_field), value)

    values: dict[str, Any] = {}
    for field, kio_field in paired_fields(definition, struct_name, version, entity):
        value = getattr(message, field.name)
        if value is None:
            values[kio_field.name] = None
        elif field.is_list:
            values[kio_field.name] = tuple(convert(element, field, kio_field) for element in value)
        else:
            values[kio_field.name] = convert(value, field, kio_field)
    return entity(**values)


def kio_value(kind: str, optional: bool, value: Any) -> Any:
    match kind:
        case "error_code":
            return KioErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return datetime.timedelta(milliseconds=value)
        case "datetime_i64":
            return None if optional and value == -1 else EPOCH + datetime.timedelta(milliseconds=value)
        case "uuid":
            return None if optional and value == ZERO else uuid.UUID(bytes=value)
        case _:
            return value


def kio_bytes(message_name: str, version: int, message: Any) -> bytes:
    """Let kio write a message."""
    entity = entity_class(message_name, version)
    buffer = io.BytesIO()
    entity_writer(entity)(
        buffer, entity_of(definition_of(message_name), message_name, version, message, entity)
    )
    return buffer.getvalue()
