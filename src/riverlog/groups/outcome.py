"""What the machine decided: records to be appended, and answers to be given once they are safe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from riverlog.groups.group import Group
    from riverlog.groups.member import Token
    from riverlog.groups.moment import Moment
    from riverlog.groups.records import GroupRecord


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

    __slots__ = ("answers", "group", "now", "records")

    def __init__(self, now: Moment) -> None:
        self.now = now
        """When it was decided."""
        self.answers: list[Answer] = []
        self.records: list[GroupRecord] = []
        self.group: Group | None = None
        """Whose rebalance hangs on the records, if any does."""

    def answer(self, token: Token, message: Any) -> None:
        """Add an answer."""
        self.answers.append(Answer(token, message))
