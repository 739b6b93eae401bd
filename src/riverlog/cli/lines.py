"""A record typed as one line of text: optional headers, an optional key, the value.

    trace=a1,source=web<TAB>customer-7:{"total": 12}
    headers ---------------^    key --^ value -----

Only what the options announce is looked for; the rest is value, byte for byte. A line without the separator
that was announced is refused rather than guessed at.
"""

from __future__ import annotations

from typing import NamedTuple

Headers = list[tuple[str, bytes | None]]

HEADERS_END = b"\t"


class LineRecord(NamedTuple):
    """What one line holds."""

    key: bytes | None
    value: bytes | None
    headers: Headers


class LineShape(NamedTuple):
    """Which parts a line has; `has_empty_as_null` makes a tombstone of an empty value."""

    key_separator: bytes | None = None
    has_headers: bool = False
    has_empty_as_null: bool = False

    def read(self, line: bytes) -> LineRecord:
        """Take a line apart; raise `ValueError` saying which part is missing."""
        headers: Headers = []
        key: bytes | None = None
        if self.has_headers:
            text, tab, line = line.partition(HEADERS_END)
            if not tab:
                raise ValueError(
                    "no tab after the headers (--headers expects NAME=VALUE,...<TAB> on each line)"
                )
            headers = _headers(text)
        if self.key_separator is not None:
            key, separator, line = line.partition(self.key_separator)
            if not separator:
                shown = self.key_separator.decode(errors="replace")
                raise ValueError(f"no key separator {shown!r} (--key-separator expects one on each line)")
        if self.has_empty_as_null:
            return LineRecord(key or None, line or None, headers)
        return LineRecord(key, line, headers)


def _headers(text: bytes) -> Headers:
    headers: Headers = []
    for entry in text.split(b",") if text else ():
        name, equals, value = entry.partition(b"=")
        if not equals or not name:
            raise ValueError(f"header {entry.decode(errors='replace')!r} is not NAME=VALUE")
        headers.append((name.decode(), value))
    return headers
