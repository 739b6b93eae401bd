"""What the machine decided about transactions: as for any machine, and which of them are to be ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from riverlog import shards

if TYPE_CHECKING:
    from riverlog.shards import Moment
    from riverlog.types import TopicPartition


class Ending(NamedTuple):
    """A transaction whose outcome is decided: this marker belongs into each of its partitions."""

    transactional_id: str
    producer_id: int
    epoch: int
    is_commit: bool
    partitions: frozenset[TopicPartition]
    version: int
    """The `transaction.version` that it ends by."""


class TransactionReply(NamedTuple):
    """An answer: an error code, and the producer's identity where one was asked for."""

    error_code: int
    producer_id: int = -1
    epoch: int = -1


class Outcome(shards.Outcome):
    """A decision about transactions.

    Once the records are safe, and not before, the shell writes the markers of `endings`; when those are
    safe, it tells the machine that the transaction is complete.
    """

    __slots__ = ("endings",)

    def __init__(self, now: Moment) -> None:
        super().__init__(now)
        self.endings: list[Ending] = []
