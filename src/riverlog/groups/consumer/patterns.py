"""Topics by regular expression, as members of groups ask for them.

No expression takes long for one topic (`protocol.expressions`). What is left is large expressions times many
topics; `cost` bounds that before anything is tried.
"""

from __future__ import annotations

from collections.abc import Collection

from riverlog.errors import RequestRefused
from riverlog.protocol.expressions import Expression, compile_expression

CALL_COST = 1000
"""What asking about one topic costs, before its characters are looked at, in instructions of RE2."""


class TopicPattern:
    """A compiled expression."""

    __slots__ = ("_expression",)

    def __init__(self, expression: Expression) -> None:
        self._expression = expression

    def matches(self, topic: str) -> bool:
        """Say whether it matches a topic's whole name."""
        return self._expression.matches(topic)

    def cost(self, topics: Collection[str]) -> int:
        """Bound how many instructions it takes to try these topics, whatever they are called."""
        return sum(map(len, topics)) * self._expression.size + CALL_COST * len(topics)


def compile_pattern(expression: str) -> TopicPattern:
    """Compile an expression. Raises RequestRefused if it is none, or too large a one."""
    try:
        return TopicPattern(compile_expression(expression))
    except RequestRefused as refused:
        raise RequestRefused(refused.error_code, f"SubscribedTopicRegex {refused.message}") from None
