"""A growing piece of Python source: what the compilers of readers and writers both need.

The source is flat: one function, structures inlined, loops for lists. Objects that it uses by name
(precompiled `struct.Struct` methods, message classes) are collected as its globals.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from riverlog.protocol.message import message_class
from riverlog.protocol.schema import Definition, Field

FIXED_CODES = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
"""The `struct` code of each type whose encoding has one size."""


class ListMethods(dict[int, Callable[..., Any]]):
    """The `pack` or `unpack_from` for a list of numbers, by the list's length."""

    SMALL = 64  # longer lists get theirs made each time: next to the work itself that is nothing

    def __init__(self, code: str, method: str) -> None:
        super().__init__()
        self.code = code
        self.method = method

    def __missing__(self, length: int) -> Callable[..., Any]:
        made: Callable[..., Any] = getattr(struct.Struct(f">{length}{self.code}"), self.method)
        if length <= self.SMALL:
            self[length] = made
        return made


_list_methods: dict[str, ListMethods] = {}


class Source:
    """Lines of Python at the current indentation, fresh variable names, and the globals they need."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.globals = names
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, heading: str) -> Iterator[None]:
        """Indent what is written meanwhile below `heading`."""
        self.line(heading)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, prefix: str) -> str:
        """Make up a variable name that nothing else in this source uses."""
        self._count += 1
        return f"{prefix}{self._count}"

    def struct_method(self, codes: str, method: str) -> str:
        """Name the `pack` or `unpack_from` of a big-endian struct."""
        name = f"{method}_{codes.replace('?', 'Z')}"
        self.globals.setdefault(name, getattr(struct.Struct(">" + codes), method))
        return name

    def list_method(self, code: str, method: str) -> str:
        """Name the `ListMethods` for numbers of one type; all sources share them."""
        name = f"{method}_{code}_list"
        self.globals[name] = _list_methods.setdefault(name, ListMethods(code, method))
        return name

    def class_name(self, kind: str) -> str:
        """Name a message class."""
        self.globals.setdefault(kind, message_class(kind))
        return kind

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def function(self, name: str, file_name: str) -> Callable[..., Any]:
        """Execute the source and return the function `name` that it defines."""
        exec(compile(self.text(), file_name, "exec"), self.globals)
        function: Callable[..., Any] = self.globals[name]
        return function


def fields_in(definition: Definition, struct_name: str, version: int) -> list[Field]:
    """List a structure's fields that are sent in a version, in order, tagged ones apart from the rest."""
    fields = definition.structs[struct_name]
    return [field for field in fields if field.versions.include(version) and field.tag is None]


def tagged_fields_in(definition: Definition, struct_name: str, version: int) -> list[Field]:
    """List a structure's tagged fields of a version, in the order of their tags."""
    tagged = [
        (field.tag, field)
        for field in definition.structs[struct_name]
        if field.versions.include(version) and field.tag is not None
    ]
    return [field for _, field in sorted(tagged)]
