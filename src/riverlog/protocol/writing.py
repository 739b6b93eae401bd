"""Compiles the writer of one message in one version.

The writer takes the message and returns its encoding in pieces. What it looks like, for HeartbeatRequest 4:

    def write(m):
        parts = []
        s1 = m.group_id.encode()
        s2 = m.member_id.encode()
        s3 = b'' if m.group_instance_id is None else m.group_instance_id.encode()
        parts += (UVARINT[len(s1) + 1], s1, pack_i(m.generation_id), UVARINT[len(s2) + 1], s2,
                  UVARINT[0 if m.group_instance_id is None else len(s3) + 1], s3, ZERO)
        return parts

Rules
- Neighbouring values of fixed size, and legacy lengths and counts, are packed by one `pack`.
- A tagged field is written when it differs from its default (KIP-482), in the order of the tags.
- A value of a wrong type or out of range raises what Python raises; the caller (`codec`) turns that into
  LocalProtocolError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverlog.protocol.schema import Definition, Field
from riverlog.protocol.source import FIXED_CODES, Source, fields_in, tagged_fields_in
from riverlog.protocol.varint import UVARINT

Writer = Callable[[Any], list[bytes]]


def compile_writer(definition: Definition, message_name: str, version: int) -> Writer:
    """Compile the writer of a message in a version."""
    compiler = WriterCompiler(definition, message_name, version)
    return compiler.source.function("write", f"<riverlog writer of {message_name} {version}>")


class WriterCompiler:
    """Writes the writer's source. Read its `source.text()` to see what runs."""

    def __init__(self, definition: Definition, message_name: str, version: int) -> None:
        self.definition = definition
        self.version = version
        self.is_flexible = version >= definition.messages[message_name].flexible_from
        self.source = Source({"UVARINT": UVARINT, "ZERO": b"\0", "EMPTY": b""})
        self._parts = "parts"  # the list that pieces go to
        self._pieces: list[str] = []  # expressions of pieces not written yet
        self._codes: list[str] = []  # fixed-size values behind them, not packed yet: struct codes ...
        self._values: list[str] = []  # ... and expressions ("x" codes have none: they pack a zero)
        with self.source.block("def write(m):"):
            self.source.line("parts = []")
            self._structure(message_name, "m")
            self._write_pieces()
            self.source.line("return parts")

    def _structure(self, struct_name: str, variable: str) -> None:
        for field in fields_in(self.definition, struct_name, self.version):
            self._field(field, f"{variable}.{field.name}", field.null_versions.include(self.version))
        if self.is_flexible:
            self._tagged_fields(tagged_fields_in(self.definition, struct_name, self.version), variable)

    def _field(self, field: Field, value: str, is_nullable: bool) -> None:
        if field.is_list:
            self._list(field, value, is_nullable)
        elif field.is_struct:
            self._inner_structure(field, value, is_nullable)
        elif field.kind in FIXED_CODES:
            self._fixed(FIXED_CODES[field.kind], value)
        else:
            self._sized(field.kind, value, is_nullable)

    def _fixed(self, code: str, value: str) -> None:
        self._codes.append(code)
        self._values.append(value)

    def _zero(self) -> None:
        """Add a byte that is always zero."""
        self._codes.append("x")

    def _piece(self, expression: str) -> None:
        self._pack_fixed()
        self._pieces.append(expression)

    def _pack_fixed(self) -> None:
        codes = "".join(self._codes)
        if codes == "x":
            self._pieces.append("ZERO")
        elif codes:
            pack = self.source.struct_method(codes, "pack")
            self._pieces.append(f"{pack}({', '.join(self._values)})")
        self._codes.clear()
        self._values.clear()

    def _write_pieces(self) -> None:
        """Append the pieces put off so far."""
        self._pack_fixed()
        if len(self._pieces) == 1:
            self.source.line(f"{self._parts}.append({self._pieces[0]})")
        elif self._pieces:
            self.source.line(f"{self._parts} += ({', '.join(self._pieces)})")
        self._pieces.clear()

    def _length(self, length: str, code: str, null_if: str | None) -> None:
        """Add a length or count; null when the expression `null_if` holds."""
        if self.is_flexible:
            self._piece(f"UVARINT[{_unless(null_if, '0', f'{length} + 1')}]")
        else:
            self._fixed(code, _unless(null_if, "-1", length))

    def _sized(self, kind: str, value: str, is_nullable: bool) -> None:
        """Add text or bytes behind their length."""
        null_if = f"{value} is None" if is_nullable else None
        content = f"{value}.encode()" if kind == "string" else value
        if kind == "string" or null_if:
            variable = self.source.fresh("s")
            self.source.line(f"{variable} = {_unless(null_if, 'EMPTY', content)}")
            content = variable
        self._length(f"len({content})", "h" if kind == "string" else "i", null_if)
        self._piece(content)

    def _list(self, field: Field, value: str, is_nullable: bool) -> None:
        elements = self.source.fresh("l")
        self.source.line(f"{elements} = {value}")
        null_if = f"{elements} is None" if is_nullable else None
        self._length(f"len({elements})", "i", null_if)
        if null_if:
            elements = f"({elements} or ())"
        if field.kind == "uuid":
            self._piece(f"b''.join({elements})")
        elif field.kind in FIXED_CODES:
            pack = self.source.list_method(FIXED_CODES[field.kind], "pack")
            self._piece(f"{pack}[len({elements})](*{elements})")
        else:
            self._write_pieces()
            element = self.source.fresh("e")
            with self.source.block(f"for {element} in {elements}:"):
                if field.is_struct:
                    self._structure(field.kind, element)
                else:
                    self._sized(field.kind, element, is_nullable=False)
                self._write_pieces()

    def _inner_structure(self, field: Field, value: str, is_nullable: bool) -> None:
        variable = self.source.fresh("e")
        self.source.line(f"{variable} = {value}")
        if not is_nullable:
            self._structure(field.kind, variable)
            return
        null = -1 if field.tag is None else 0
        self._fixed("b", f"{null} if {variable} is None else 1")
        self._write_pieces()
        with self.source.block(f"if {variable} is not None:"):
            self._structure(field.kind, variable)
            self._write_pieces()

    def _tagged_fields(self, tagged: list[Field], variable: str) -> None:
        if not tagged:
            self._zero()
            return
        self._write_pieces()
        count, content = self.source.fresh("t"), self.source.fresh("tagged")
        self.source.line(f"{count} = 0")
        self.source.line(f"{content} = []")
        for field in tagged:
            value = f"{variable}.{field.name}"
            with self.source.block(f"if {self._is_not_default(field, value)}:"):
                outer, self._parts = self._parts, self.source.fresh("parts")
                self.source.line(f"{self._parts} = []")
                self._field(field, value, field.null_versions.include(self.version))
                self._write_pieces()
                encoded = self.source.fresh("s")
                self.source.line(f"{encoded} = b''.join({self._parts})")
                self._parts = outer
                self.source.line(f"{content} += (UVARINT[{field.tag}], UVARINT[len({encoded})], {encoded})")
                self.source.line(f"{count} += 1")
        self.source.line(f"{self._parts} += (UVARINT[{count}], *{content})")

    def _is_not_default(self, field: Field, value: str) -> str:
        if field.default is None:
            return f"{value} is not None"
        if field.default != ():
            return f"{value} != {field.default!r}"
        if field.is_list:
            return f"{value} is None or {value}" if field.null_versions.include(self.version) else value
        return f"{value} != {self.source.class_name(field.kind)}()"


def _unless(condition: str | None, special: str, usual: str) -> str:
    """Write the expression for `usual`, or `special` where the condition, if there is one, holds."""
    return f"{special} if {condition} else {usual}" if condition else usual
