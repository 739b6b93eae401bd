"""Java's `.properties` format, as Kafka's `server.properties` uses it.

    # a comment          ! another
    key=value            key: value           key value
    long=one,\\
         two             -> "one,two": a backslash at the end joins the next line, its indent dropped
    tab=a\\tb  \\u00e9     escapes: \\t \\n \\r \\f \\uXXXX; before anything else the backslash just goes away

The key ends at the first `=`, `:` or blank that no backslash protects. Of a key given twice the last
counts. Specification: the class description of java.util.Properties. One thing is left out: where a file
ends in a line with nothing but a backslash, Java makes a property without a name of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE_END = re.compile(r"\r\n|\n|\r")
_BLANKS = " \t\f"
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|u|.|$)", re.DOTALL)
_NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY_END = re.compile(r"(?:[^\\=: \t\f]|\\.)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


class Property(NamedTuple):
    """A key with its value, and the number of the line it starts on."""

    key: str
    value: str
    line: int


def read_properties(text: str) -> list[Property]:
    """Read the properties of a file in their order; raise ValueError for a broken \\u escape."""
    return [_parse(line, number) for number, line in _logical_lines(text)]


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Join continued lines; leave out comments and empty lines."""
    joined = ""
    first_number = 0
    for number, natural in enumerate(_LINE_END.split(text), start=1):
        line = natural.lstrip(_BLANKS)
        if not joined:
            if not line or line[0] in "#!":
                continue
            first_number = number
        joined += line
        if _is_continued(line):
            joined = joined[:-1]
            if joined:
                continue
        if joined:
            yield first_number, joined
        joined = ""
    if joined:
        yield first_number, joined


def _is_continued(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _parse(line: str, number: int) -> Property:
    key_match = _KEY_END.match(line)
    assert key_match, "the pattern matches the empty text too"
    separator = _SEPARATOR.match(line, key_match.end())
    assert separator, "the pattern matches the empty text too"
    return Property(_unescape(key_match[0], number), _unescape(line[separator.end() :], number), number)


def _unescape(text: str, number: int) -> str:
    def replacement(match: re.Match[str]) -> str:
        escape: str = match[1]
        if escape == "u":
            raise ValueError(f"line {number}: \\u must be followed by four hexadecimal digits")
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        return _NAMED_ESCAPES.get(escape, escape)

    return _ESCAPE.sub(replacement, text)
