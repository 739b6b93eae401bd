"""Random messages of any kind and version, built from the definition files with a seeded generator.

A seeded generator rather than Hypothesis: there are over six hundred (message, version) pairs, and
building a strategy for each would take longer than the tests themselves. A failure names its seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from riverlog.protocol import messages, schema

ALPHABET = "abcdefghijklmnop-._0123456789 äß€😀"

LIMITS = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}


def all_definitions() -> list[schema.Definition]:
    return [schema.load(name) for name in sorted(set(schema.index().values()))]


def all_messages() -> list[str]:
    """Name every top-level message."""
    return [name for definition in all_definitions() for name in definition.messages]


def definition_of(message_name: str) -> schema.Definition:
    return schema.load(schema.index()[message_name])


def versions_of(message_name: str) -> range:
    versions = definition_of(message_name).messages[message_name].versions
    return range(versions.first, versions.last + 1)


def fields_of(definition: schema.Definition, struct_name: str, version: int) -> Iterator[schema.Field]:
    """Give a structure's fields of a version in the order of the definition, tagged ones included."""
    for field in definition.structs[struct_name]:
        if field.versions.include(version):
            yield field


class MessageBuilder:
    """Builds random messages of one version: fields that the version lacks keep their defaults."""

    def __init__(self, message_name: str, version: int, seed: int) -> None:
        self.message_name = message_name
        self.version = version
        self.definition = definition_of(message_name)
        self.random = random.Random(f"{message_name} {version} {seed}")

    def message(self) -> Any:
        return self.structure(self.message_name)

    def structure(self, name: str) -> Any:
        fields = fields_of(self.definition, name, self.version)
        values = {
            field.name: self.field(name, field) for field in fields if not self.is_left_at_default(field)
        }
        return getattr(messages, name)(**values)

    def is_left_at_default(self, field: schema.Field) -> bool:
        return self.random.random() < (0.5 if field.tag is not None else 0.1)

    def field(self, struct_name: str, field: schema.Field) -> Any:
        if field.null_versions.include(self.version) and self.random.random() < 0.2:
            return None
        if field.is_list:
            count = self.random.choice((0, 1, 2, 3))
            if not field.is_struct and self.random.random() < 0.05:
                count = 200  # beyond one byte of a varint
            return [self.value(struct_name, field) for _ in range(count)]
        return self.value(struct_name, field)

    def value(self, struct_name: str, field: schema.Field) -> Any:
        if field.is_struct:
            return self.structure(field.kind)
        match field.kind:
            case "bool":
                return self.random.random() < 0.5
            case "float64":
                return self.random.uniform(-1e6, 1e6)
            case "uuid":
                return self.random.randbytes(16)
            case "string":
                return "".join(self.random.choices(ALPHABET, k=self.length()))
            case "bytes" | "records":
                return self.random.randbytes(self.length())
            case kind:
                return self.integer(*LIMITS[kind])

    def integer(self, least: int, most: int) -> int:
        near = self.random.choice((least, most, 0, 1, self.random.randint(-100, 100)))
        return min(max(near, least), most) if self.random.random() < 0.5 else self.random.randint(least, most)

    def length(self) -> int:
        return self.random.choice((0, 1, 5, 20, 130)) if self.random.random() < 0.98 else 17_000
