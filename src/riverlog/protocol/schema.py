"""The protocol's messages as data, read from the definition files beside this module.

A definition file describes one API (a request and its response), the key and value of one record of an
internal topic, or one free-standing structure. It lists each message's fields in the order of the wire:

    api 99 Pick                                  # API key and name; `record 3` in a record's file

    message PickRequest 1-4 flexible 3+          # versions 1 to 4, flexible encoding from version 3
      group_id    string                         # in every version
      deadline_ms int64   2+ = -1                # since version 2; holds -1 where a version lacks it
      topics      []PickTopic null 2+            # a list of structures; may be null since version 2
        name      string  1-3                    # the structure's own fields are indented below it
        parts     []int32
      rack        string  3+ null tag 0 = null   # a tagged field, number 0

    struct Shared                                # a structure that several fields name
      id          uuid

(Comments are for this page only; the files have none.) `versions` and `null` ranges read `2`, `2-3` or `2+`.
A range left out means: wherever the structure around the field exists. A default left out means the type's
own: 0, 0.0, false, "", empty bytes or list, sixteen zero bytes, a structure of defaults; but null for
`records` that may be null.

The facts are those of Apache Kafka's message definitions, imported by `tools/import_definitions.py`.
The encoding itself (KIP-482 for flexible versions, KIP-893 for null structures) is the compiler's affair.
"""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from riverlog.protocol.versions import NEVER

ZERO_UUID = b"\0" * 16

_FOLDER = os.path.join(os.path.dirname(__file__), "definitions")

_TYPE_DEFAULTS: dict[str, object] = {
    "bool": False,
    "int8": 0,
    "int16": 0,
    "uint16": 0,
    "int32": 0,
    "int64": 0,
    "float64": 0.0,
    "uuid": ZERO_UUID,
    "string": "",
    "bytes": b"",
    "records": b"",
}


class Versions(NamedTuple):
    """Versions from `first` to `last`, both included. `NONE` holds no version."""

    first: int
    last: int

    def include(self, version: int) -> bool:
        return self.first <= version <= self.last


NONE = Versions(NEVER, -1)


class Field(NamedTuple):
    """One field of a structure.

    `kind` is a primitive's name or, where `is_struct`, the structure's; with `is_list`, a list of those.
    `default` is a plain value; for lists and structures None means null, anything else a fresh empty one.
    """

    name: str
    kind: str
    is_struct: bool
    is_list: bool
    versions: Versions
    null_versions: Versions
    tag: int | None
    default: object


class Message(NamedTuple):
    """A top-level message; its fields are those of the structure of the same name."""

    name: str
    versions: Versions
    flexible_from: int


class Definition(NamedTuple):
    """One definition file. `key` is the API's key or the record's type; -1 for a free-standing structure."""

    name: str
    key: int
    messages: dict[str, Message]
    structs: dict[str, tuple[Field, ...]]


class DefinitionError(Exception):
    """A definition file that does not follow the grammar: our own mistake."""


def parse(name: str, text: str) -> Definition:
    """Parse one definition file's text."""
    return _Parser(name, text).definition()


@cache
def load(name: str) -> Definition:
    """Load a definition by its path below the folder, such as `metadata` or `group_records/offset_commit`."""
    with open(os.path.join(_FOLDER, *name.split("/")) + ".txt", encoding="utf-8") as file:
        return parse(name, file.read())


@cache
def index() -> dict[str, str]:
    """Say which definition each message and structure is found in."""
    homes = {}
    with open(os.path.join(_FOLDER, "index.txt"), encoding="utf-8") as file:
        for line in file:
            home, _, names = line.partition(":")
            homes.update(dict.fromkeys(names.split(), home))
    return homes


class _Parser:
    """Reads a file line by line; the indentation says which structure a field belongs to."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.lines = [
            (len(line) - len(line.lstrip()), line.split()) for line in text.splitlines() if line.strip()
        ]
        self.key = -1
        self.messages: dict[str, Message] = {}
        self.structs: dict[str, tuple[Field, ...]] = {}
        self.position = 0

    def definition(self) -> Definition:
        around = NONE
        while self.position < len(self.lines):
            indent, words = self.lines[self.position]
            self.position += 1
            match words:
                case ["api", key, _] | ["record", key]:
                    self.key = int(key)
                case ["message", name, versions, *flexible] if indent == 0:
                    around = _range(versions, NONE)
                    flexible_from = _range(flexible[1], around).first if flexible else NEVER
                    self.messages[name] = Message(name, around, flexible_from)
                    self.fields(name, indent, around)
                case ["struct", name] if indent == 0:
                    self.fields(name, indent, around)
                case _:
                    raise DefinitionError(f"{self.name}: cannot read {' '.join(words)!r}")
        return Definition(self.name, self.key, self.messages, self.structs)

    def fields(self, struct: str, indent: int, around: Versions) -> None:
        """Read the lines indented deeper than `indent` as the fields of a structure."""
        fields = []
        while self.position < len(self.lines) and self.lines[self.position][0] > indent:
            own_indent, words = self.lines[self.position]
            self.position += 1
            field = self.field(words, around)
            fields.append(field)
            if self.position < len(self.lines) and self.lines[self.position][0] > own_indent:
                self.fields(field.kind, own_indent, field.versions)
        self.structs[struct] = tuple(fields)

    def field(self, words: list[str], around: Versions) -> Field:
        name, kind, *rest = words
        is_list = kind.startswith("[]")
        kind = kind.removeprefix("[]")
        is_struct = kind not in _TYPE_DEFAULTS
        versions, null_versions = around, NONE
        tag: int | None = None
        default: object = () if is_list or is_struct else _TYPE_DEFAULTS[kind]
        if rest and rest[0][0].isdigit():
            versions = _range(rest.pop(0), around)
        while rest:
            match rest.pop(0):
                case "null":
                    null_versions = _range(rest.pop(0), around) if rest and rest[0][0].isdigit() else versions
                case "tag":
                    tag = int(rest.pop(0))
                case "=":
                    default = _default(rest.pop(0))
                case word:
                    raise DefinitionError(f"{self.name}: {name} has the unknown word {word!r}")
        if kind == "records" and null_versions != NONE:
            default = None
        return Field(name, kind, is_struct, is_list, versions, null_versions, tag, default)


def _range(text: str, around: Versions) -> Versions:
    first, dash, last = text.rstrip("+").partition("-")
    if text.endswith("+"):
        return Versions(int(first), around.last)
    return Versions(int(first), int(last if dash else first))


def _default(text: str) -> object:
    match text:
        case "null":
            return None
        case "true":
            return True
        case _:
            return int(text)
