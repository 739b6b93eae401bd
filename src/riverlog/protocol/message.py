"""What all message classes share, and how a class is made from its definition.

A class is the same for all versions of its message: an attribute for each field that any version has.
Reading an older version leaves the other fields at their defaults, writing it leaves them out.
Values are plain: int, str, bytes, bool, float, list, None or another message class; a uuid is 16 bytes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from riverlog.protocol import schema


class Message:
    """A plain, mutable, slotted value; equal to another of its class with equal fields."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, **fields: Any) -> None:
        """Take any of the class's fields as keywords. (Each class has this with its own names.)"""
        assert not fields, fields

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_shown(getattr(self, name))}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


def _shown(value: object) -> str:
    """Show a field's value. Bytes are shown by their size only: they may be a secret, or large."""
    return f"<{len(value)} bytes>" if isinstance(value, bytes) else repr(value)


def message_class(name: str) -> type[Message]:
    """Find the class of a message or of a structure within one. Raises KeyError for an unknown name."""
    return _classes(schema.index()[name])[name]


@cache
def _classes(definition_name: str) -> dict[str, type[Message]]:
    """Make the classes of one definition file, once: a name has one class however it is reached."""
    definition = schema.load(definition_name)
    # Executed source, since a constructor that names its fields is several times as fast as a generic one.
    source = "\n".join(_class_source(name, fields) for name, fields in definition.structs.items())
    namespace: dict[str, Any] = {"__name__": "riverlog.protocol.messages", "Message": Message, "EMPTY": ()}
    exec(compile(source, f"<riverlog message classes of {definition_name}>", "exec"), namespace)
    return {name: namespace[name] for name in definition.structs}


def _class_source(name: str, fields: tuple[schema.Field, ...]) -> str:
    arguments = ["self"]
    lines = []
    for field in fields:
        # () stands for "a fresh one": a default list or structure must not be shared between messages.
        arguments.append(f"{field.name}={'EMPTY' if field.default == () else repr(field.default)}")
        value = field.name
        if field.default == ():
            fresh = "[]" if field.is_list else f"{field.kind}()"
            value = f"{fresh} if {field.name} is EMPTY else {field.name}"
        lines.append(f"        self.{field.name} = {value}\n")
    if fields:
        arguments.insert(1, "*")
    return (
        f"class {name}(Message):\n"
        f"    __slots__ = {tuple(field.name for field in fields)!r}\n"
        f"    def __init__({', '.join(arguments)}):\n"
        f"{''.join(lines) or '        pass'}\n"
    )
