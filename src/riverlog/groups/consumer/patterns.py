"""Topics by regular expression, in the syntax of RE2, as Kafka has it.

The expression comes from a stranger, so how long it takes must not be the stranger's to decide. RE2 looks at
each character once: there is no expression that makes it try all ways to match, as Python's own `re` does.
What is left is large expressions times many topics; `cost` bounds that before anything is tried.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

import re2

from riverlog.errors import RequestRefused
from riverlog.protocol.error_codes import ErrorCode

EXPRESSION_BYTES_MAX = 1 << 20
"""How much memory RE2 may take for one expression. A larger one is refused."""
KNOWN_EXPRESSIONS_MAX = 256
CALL_COST = 1000
"""What asking about one topic costs, before its characters are looked at, in instructions of RE2."""

_OPTIONS = re2.Options()
_OPTIONS.max_mem = EXPRESSION_BYTES_MAX
_OPTIONS.log_errors = False


class TopicPattern:
    """A compiled expression."""

    __slots__ = ("_compiled",)

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def matches(self, topic: str) -> bool:
        """Say whether it matches a topic's whole name."""
        return self._compiled.fullmatch(topic) is not None

    def cost(self, topics: Collection[str]) -> int:
        """Bound how many instructions it takes to try these topics, whatever they are called."""
        program: int = self._compiled.programsize
        return sum(map(len, topics)) * program + CALL_COST * len(topics)


@lru_cache(KNOWN_EXPRESSIONS_MAX)
def compile_pattern(expression: str) -> TopicPattern:
    """Compile an expression. Raises RequestRefused if it is none, or too large a one."""
    try:
        return TopicPattern(re2.compile(expression, _OPTIONS))
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise RequestRefused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex {expression[:100]!r} is not a valid regular expression: {text}",
        ) from None
