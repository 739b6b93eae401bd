"""What a machine decided: records to be appended, and answers to be given once they are safe."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from riverlog.shards.moment import Moment

Token: TypeAlias = Hashable
"""Stands for a request that waits for its answer. The shell makes them, a machine keeps and returns them."""

NO_PRODUCER = -1


class ProducerIdentity(NamedTuple):
    """Whose transaction records belong to."""

    producer_id: int
    epoch: int


class Answer(NamedTuple):
    """An answer for one request: this one's, or one that came earlier and waited."""

    token: Token
    message: Any


class Outcome:
    """A decision. A request whose token has no answer here waits; a later outcome has its answer.

    The shell does the rest, in this order:
      1. append `records` as one batch; if the log refuses them, tell the machine with `refused` and turn
         the answers into errors;
      2. `replay` the records;
      3. when all that was appended is committed, give the answers.
    """

    __slots__ = ("answers", "now", "producer", "records")

    def __init__(self, now: Moment) -> None:
        self.now = now
        """When it was decided."""
        self.answers: list[Answer] = []
        self.records: list[Any] = []
        self.producer: ProducerIdentity | None = None
        """Whose transaction the records are part of, if they are part of one."""

    def answer(self, token: Token, message: Any) -> None:
        """Add an answer."""
        self.answers.append(Answer(token, message))
