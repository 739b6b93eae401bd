"""Regular expressions in requests: the syntax of RE2, as Kafka has it.

They come from strangers, so how long one takes must not be the stranger's to decide. RE2 looks at each
character once: there is no expression that makes it try all ways to match, as Python's own `re` does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from riverlog.errors import RequestRefused
from riverlog.protocol.error_codes import ErrorCode

EXPRESSION_BYTES_MAX = 1 << 20
"""How much memory RE2 may take for one expression. A larger one is refused."""
KNOWN_EXPRESSIONS_MAX = 256
SHOWN_CHARACTERS_MAX = 100

_OPTIONS = re2.Options()
_OPTIONS.max_mem = EXPRESSION_BYTES_MAX
_OPTIONS.log_errors = False


class Expression:
    """A compiled expression."""

    __slots__ = ("_compiled",)

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def matches(self, text: str) -> bool:
        """Say whether it matches the whole text."""
        return self._compiled.fullmatch(text) is not None

    @property
    def size(self) -> int:
        """How many instructions of RE2 it is: at the most so many are taken for each character."""
        size: int = self._compiled.programsize
        return size


@lru_cache(KNOWN_EXPRESSIONS_MAX)
def compile_expression(text: str) -> Expression:
    """Compile an expression. Raises RequestRefused if it is none, or too large a one."""
    try:
        return Expression(re2.compile(text, _OPTIONS))
    except re2.error as error:
        reason = error.args[0]
        told = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise RequestRefused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"{text[:SHOWN_CHARACTERS_MAX]!r} is not a valid regular expression: {told}",
        ) from None
