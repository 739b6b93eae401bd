"""What the machine decided: records to be appended, and answers to be given once they are safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog import shards
from riverlog.shards import Answer as Answer

if TYPE_CHECKING:
    from riverlog.groups.group import Group
    from riverlog.shards import Moment


class Outcome(shards.Outcome):
    """A decision about groups."""

    __slots__ = ("group", "matching_of")

    def __init__(self, now: Moment) -> None:
        super().__init__(now)
        self.group: Group | None = None
        """Whose rebalance hangs on the records, if any does."""
        self.matching_of: str | None = None
        """The group whose regular expressions are to be tried, step by step, since that takes long."""
