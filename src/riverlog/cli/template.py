"""Format strings for records, with kcat's letters.

    %k key    %v value (also %s)    %h headers a=1,b=2    %t topic     %p partition
    %K, %V    their lengths in bytes (also %S), -1 for null             %o offset    %T time in ms
    %%        a percent sign        \\n \\t \\r \\0 \\\\ \\xHH             bytes

Keys and values come out as the bytes they are. A template is compiled once into a function from record to
bytes, since a million records are the ordinary case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from riverlog.cli.arguments import unescape

if TYPE_CHECKING:
    from riverlog.client.consume import ConsumedRecord

    Piece = Callable[[ConsumedRecord], bytes]


def _length(data: bytes | None) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)


def _headers(record: ConsumedRecord) -> bytes:
    return b",".join(name.encode() + b"=" + (value or b"") for name, value in record.headers)


_LETTERS: dict[str, Piece] = {
    "k": lambda record: record.key or b"",
    "K": lambda record: _length(record.key),
    "v": lambda record: record.value or b"",
    "V": lambda record: _length(record.value),
    "s": lambda record: record.value or b"",
    "S": lambda record: _length(record.value),
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "T": lambda record: b"%d" % record.timestamp_ms,
    "h": _headers,
    "%": lambda _: b"%",
}


def compile_template(text: str) -> Piece:
    """Make a function of a format string; raise `ValueError` naming a letter that means nothing."""
    pieces: list[Piece] = []
    rest = text
    while rest:
        plain, percent, rest = rest.partition("%")
        if plain:
            pieces.append(_constant(unescape(plain)))
        if not percent:
            break
        letter = rest[:1]
        if letter not in _LETTERS:
            raise ValueError(
                f"{text!r}: %{letter} means nothing; known are {' '.join('%' + x for x in _LETTERS)}"
            )
        pieces.append(_LETTERS[letter])
        rest = rest[1:]
    return lambda record: b"".join([piece(record) for piece in pieces])


def _constant(data: bytes) -> Piece:
    return lambda _: data
