"""Write `messages.pyi`: all message classes of the definition files, for people and type checkers.

    python tools/generate_message_stubs.py

Run it after `import_definitions.py`; a test fails while the stubs and the definitions differ.
"""

from __future__ import annotations

from pathlib import Path

from riverlog.protocol import schema

TARGET = Path(__file__).resolve().parent.parent / "src" / "riverlog" / "protocol" / "messages.pyi"

HEADING = '''"""Written by `tools/generate_message_stubs.py` from the definition files; do not edit."""

from typing import dataclass_transform

from riverlog.protocol import message

@dataclass_transform(kw_only_default=True, eq_default=True)
class Message(message.Message): ...
'''

TYPES = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "bytes",
}


def stubs() -> str:
    """Compute the text of `messages.pyi`."""
    parts = [HEADING]
    for definition_name in sorted(set(schema.index().values())):
        definition = schema.load(definition_name)
        parts.append(f"# {definition_name}\n")
        names = [name for name, home in schema.index().items() if home == definition_name]
        parts += [class_stub(name, definition.structs[name]) for name in names]
    return "\n".join(parts)


def class_stub(name: str, fields: tuple[schema.Field, ...]) -> str:
    if not fields:
        return f"class {name}(Message): ...\n"
    lines = [f"    {field.name}: {annotation(field)} = ...\n" for field in fields]
    return f"class {name}(Message):\n{''.join(lines)}"


def annotation(field: schema.Field) -> str:
    kind = field.kind if field.is_struct else TYPES.get(field.kind, "int")
    if field.is_list:
        kind = f"list[{kind}]"
    return f"{kind} | None" if field.null_versions != schema.NONE else kind


if __name__ == "__main__":
    TARGET.write_text(stubs())
