"""Compiles the reader of one message in one version.

The reader takes (buffer, start, end) and returns the message. What it looks like, for HeartbeatRequest 0:

    def read(buffer, start, end):
        p = start
        m = new(HeartbeatRequest)
        n1, = unpack_from_h(buffer, p)
        s = p + 2
        p = s + n1
        if n1 < 0:
            refuse_length('HeartbeatRequest.group_id', n1)
        m.group_id = buffer[s:p].decode()
        m.generation_id, n2 = unpack_from_ih(buffer, p)
        s = p + 6
        ...
        m.group_instance_id = None
        if p > end:
            refuse_end('HeartbeatRequest', p - end)
        return m

Rules
- Fields of fixed size, and the length of what follows them, are read by one `unpack_from`.
- `p` never goes back, every list's count is held against the bytes that are left, and its end must not
  be passed. So a malformed message cannot loop or allocate beyond its own size; reading past the end of the
  buffer raises IndexError or struct.error, and text that is no UTF-8 raises UnicodeDecodeError. The caller
  (`codec`) turns all of them into RemoteProtocolError.
- A slice past the end of the message may come out short: nobody sees it, since the end is then passed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from riverlog.protocol.malformed import refuse_count, refuse_end, refuse_length
from riverlog.protocol.message import Message
from riverlog.protocol.schema import Definition, Field
from riverlog.protocol.source import FIXED_CODES, Source, fields_in, tagged_fields_in
from riverlog.protocol.varint import Buffer, read_uvarint, read_uvarint_rest, skip_tagged_fields

Reader = Callable[[Buffer, int, int], Message]


def compile_reader(definition: Definition, message_name: str, version: int) -> Reader:
    """Compile the reader of a message in a version."""
    compiler = ReaderCompiler(definition, message_name, version)
    return compiler.source.function("read", f"<riverlog reader of {message_name} {version}>")


class ReaderCompiler:
    """Writes the reader's source. Read its `source.text()` to see what runs."""

    def __init__(self, definition: Definition, message_name: str, version: int) -> None:
        self.definition = definition
        self.version = version
        self.is_flexible = version >= definition.messages[message_name].flexible_from
        self.source = Source(dict(_RUNTIME))
        self._codes: list[str] = []  # fixed-size values not read yet: their struct codes ...
        self._targets: list[str] = []  # ... and what each is assigned to
        with self.source.block("def read(buffer, start, end):"):
            self.source.line("p = start")
            self._structure(message_name, "m", message_name)
            self._read_fixed()
            # What follows a message is passed over, as Kafka does: librdkafka 2.16 asks for all topics with
            # three bytes too many, since it writes a null list in the older encoding.
            with self.source.block("if p > end:"):
                self.source.line(f"refuse_end({message_name!r}, p - end)")
            self.source.line("return m")

    def _structure(self, struct_name: str, variable: str, path: str) -> None:
        """Read a structure into a new object called `variable`."""
        line = self.source.line
        line(f"{variable} = new({self.source.class_name(struct_name)})")
        present = fields_in(self.definition, struct_name, self.version)
        for field in self.definition.structs[struct_name]:
            if field not in present:
                line(f"{variable}.{field.name} = {self._default(field)}")
        for field in present:
            self._field(field, f"{variable}.{field.name} = ", f"{path}.{field.name}")
        if self.is_flexible:
            self._tagged_fields(tagged_fields_in(self.definition, struct_name, self.version), variable, path)

    def _default(self, field: Field) -> str:
        if field.default != ():
            return repr(field.default)
        return "[]" if field.is_list else f"{self.source.class_name(field.kind)}()"

    def _field(self, field: Field, assign: str, path: str) -> None:
        is_nullable = field.null_versions.include(self.version)
        if field.is_list:
            self._list(field, assign, path, is_nullable)
        elif field.is_struct:
            self._inner_structure(field, assign, path, is_nullable)
        elif field.kind in FIXED_CODES:
            self._fixed(FIXED_CODES[field.kind], assign.removesuffix(" = "))
        else:
            self._sized(field.kind, (assign, ""), path, is_nullable)

    def _fixed(self, code: str, target: str) -> None:
        """Put off reading a value of fixed size, to be read together with its neighbours."""
        self._codes.append(code)
        self._targets.append(target)

    def _read_fixed(self, into: str = "p") -> None:
        """Read the values put off so far; set `into` to the position after them."""
        line = self.source.line
        if not self._codes:
            if into != "p":
                line(f"{into} = p")
            return
        codes = "".join(self._codes)
        size = struct.calcsize(">" + codes)
        if codes == "B":
            line(f"{self._targets[0]} = buffer[p]")
        else:
            separator = "," if len(self._targets) == 1 else ""
            unpack = self.source.struct_method(codes, "unpack_from")
            line(f"{', '.join(self._targets)}{separator} = {unpack}(buffer, p)")
        line(f"p += {size}" if into == "p" else f"{into} = p + {size}")
        self._codes.clear()
        self._targets.clear()

    def _sized(self, kind: str, store: tuple[str, str], path: str, is_nullable: bool) -> None:
        """Read text or bytes behind their length. `store` is what to write before and after the value."""
        line, block = self.source.line, self.source.block
        before, after = store
        value = (
            f"{before}buffer[s:p].decode(){after}"
            if kind == "string"
            else f"{before}bytes(buffer[s:p]){after}"
        )
        n = self.source.fresh("n")
        if self.is_flexible:
            self._fixed("B", n)
            self._read_fixed(into="s")
            if is_nullable:
                with block(f"if {n} > 127:"):
                    line(f"{n}, s = read_uvarint_rest({n}, buffer, s)")
                with block(f"if {n}:"):
                    line(f"p = s + {n} - 1")
                    line(value)
                with block("else:"):
                    line("p = s")
                    line(f"{before}None{after}")
            else:
                with block(f"if not 0 < {n} < 128:"):
                    line(f"{n}, s = read_long_length({n}, buffer, s, {path!r})")
                line(f"p = s + {n} - 1")
                line(value)
            return
        self._fixed("h" if kind == "string" else "i", n)
        self._read_fixed(into="s")
        if is_nullable:
            with block(f"if {n} >= 0:"):
                line(f"p = s + {n}")
                line(value)
            with block(f"elif {n} == -1:"):
                line("p = s")
                line(f"{before}None{after}")
            with block("else:"):
                line(f"refuse_length({path!r}, {n})")
        else:
            with block(f"if {n} < 0:"):
                line(f"refuse_length({path!r}, {n})")
            line(f"p = s + {n}")
            line(value)

    def _list(self, field: Field, assign: str, path: str, is_nullable: bool) -> None:
        line, block = self.source.line, self.source.block
        n = self.source.fresh("n")
        self._fixed("B" if self.is_flexible else "i", n)
        self._read_fixed()
        if self.is_flexible:
            with block(f"if {n} > 127:"):
                line(f"{n}, p = read_uvarint_rest({n}, buffer, p)")
            line(f"{n} -= 1")
        if is_nullable:
            with block(f"if {n} == -1:"):
                line(f"{assign}None")
            with block("else:"):
                self._elements(field, assign, path, n)
        else:
            self._elements(field, assign, path, n)

    def _elements(self, field: Field, assign: str, path: str, n: str) -> None:
        line, block = self.source.line, self.source.block
        size = self._least_size(field)
        with block(f"if not 0 <= {n} <= (end - p){f' // {size}' if size > 1 else ''}:"):
            line(f"refuse_count({path!r}, {n}, end - p)")
        if field.kind == "uuid":
            line(f"{assign}[bytes(buffer[s:s + 16]) for s in range(p, p + 16 * {n}, 16)]")
            line(f"p += 16 * {n}")
        elif field.kind in FIXED_CODES:
            unpack = self.source.list_method(FIXED_CODES[field.kind], "unpack_from")
            line(f"{assign}list({unpack}[{n}](buffer, p))")
            line(f"p += {f'{size} * ' if size > 1 else ''}{n}")
        else:
            elements = self.source.fresh("l")
            line(f"{assign}{elements} = []")
            with block(f"for _ in range({n}):"):
                if field.is_struct:
                    element = self.source.fresh("e")
                    self._structure(field.kind, element, path)
                    self._read_fixed()
                    line(f"{elements}.append({element})")
                else:
                    self._sized(field.kind, (f"{elements}.append(", ")"), path, is_nullable=False)

    def _least_size(self, field: Field) -> int:
        """Say how many bytes one value of a field takes at least, taking a list's element for the list."""
        if field.kind in FIXED_CODES:
            return struct.calcsize(">" + FIXED_CODES[field.kind])
        if not field.is_struct:
            return 1 if self.is_flexible else 2 if field.kind == "string" else 4
        size = 1 if self.is_flexible else 0
        for inner in fields_in(self.definition, field.kind, self.version):
            if inner.is_list:
                size += 1 if self.is_flexible else 4
            elif inner.is_struct and inner.null_versions.include(self.version):
                size += 1
            else:
                size += self._least_size(inner)
        assert size, f"{field.kind} may take no bytes at all: its count could not be bounded"
        return size

    def _inner_structure(self, field: Field, assign: str, path: str, is_nullable: bool) -> None:
        line, block = self.source.line, self.source.block
        variable = self.source.fresh("e")
        if not is_nullable:
            self._structure(field.kind, variable, path)
            line(f"{assign}{variable}")
            return
        marker = self.source.fresh("n")
        self._fixed("b", marker)
        self._read_fixed()
        # Null is -1, but 0 in a tagged field: the one place where a length's null was kept for it.
        with block(f"if {marker} {'< 0' if field.tag is None else '== 0'}:"):
            line(f"{assign}None")
        with block("else:"):
            self._structure(field.kind, variable, path)
            self._read_fixed()
            line(f"{assign}{variable}")

    def _tagged_fields(self, known: list[Field], variable: str, path: str) -> None:
        """Read a structure's tagged fields: those of this version are stored, others skipped."""
        line, block = self.source.line, self.source.block
        n = self.source.fresh("t")
        self._fixed("B", n)
        self._read_fixed()
        if not known:
            with block(f"if {n}:"):
                line(f"p = skip_tagged_fields({n}, buffer, p, end)")
            return
        tag, stop = self.source.fresh("tag"), self.source.fresh("stop")
        with block(f"if {n}:"):
            with block(f"if {n} > 127:"):
                line(f"{n}, p = read_uvarint_rest({n}, buffer, p)")
            with block(f"if {n} * 2 > end - p:"):
                line(f"refuse_count({path!r}, {n}, end - p)")
            with block(f"for _ in range({n}):"):
                line(f"{tag}, p = read_uvarint(buffer, p)")
                line(f"{stop}, p = read_uvarint(buffer, p)")
                line(f"{stop} += p")
                for field in known:
                    with block(f"if {tag} == {field.tag}:"):
                        self._field(field, f"{variable}.{field.name} = ", f"{path}.{field.name}")
                        self._read_fixed()
                        with block(f"if p != {stop}:"):
                            line(f"refuse_end('{path}.{field.name}', p - {stop})")
                        line("continue")
                with block(f"if {stop} > end:"):
                    line(f"refuse_end({path!r}, {stop} - end)")
                line(f"p = {stop}")


def read_long_length(first: int, buffer: Buffer, position: int, path: str) -> tuple[int, int]:
    """Read the rest of a length (plus one) that must not be null; return it and the position after it."""
    length, position = read_uvarint_rest(first, buffer, position) if first else (0, position)
    if length == 0:
        refuse_length(path, -1)
    return length, position


_RUNTIME: dict[str, Any] = {
    "new": object.__new__,
    "read_uvarint": read_uvarint,
    "read_uvarint_rest": read_uvarint_rest,
    "read_long_length": read_long_length,
    "skip_tagged_fields": skip_tagged_fields,
    "refuse_length": refuse_length,
    "refuse_count": refuse_count,
    "refuse_end": refuse_end,
}
