"""Which records and markers of transactions a cleaning may drop. Pure.

It goes through the batches of a partition in the order of their offsets, told beforehand what was aborted:

    A: data   B: data   A aborts   B commits
    gone at once        each stays while its pass meets a batch of its transaction; after that
                        it gets its delete horizon, and goes in a pass behind that
    B's records go as newer ones of their keys come

So a reader in the middle of a transaction still learns how it ended, within `delete.retention.ms`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from riverlog.protocol.batches import TRANSACTIONAL_BIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from riverlog.log.transaction_index import AbortedTransaction
    from riverlog.protocol.batches import BatchHeader
    from riverlog.protocol.control_records import TransactionMarker


class _Aborted:
    """An aborted transaction that the pass has reached and whose marker is still to come."""

    __slots__ = ("transaction", "was_met")

    def __init__(self, transaction: AbortedTransaction) -> None:
        self.transaction = transaction
        # Whether a batch of it is still there.
        self.was_met = False


class CleanedTransactions:
    """Transactions as one pass over a partition meets them."""

    __slots__ = ("_aborted", "_committed", "_expected", "kept")

    def __init__(self, aborted: Iterable[AbortedTransaction], start_offset: int = 0) -> None:
        """Expect these aborted transactions, as far as they end at `start_offset` or later."""
        self._expected = deque(
            sorted(
                (each for each in aborted if each.last_offset >= start_offset),
                key=lambda each: each.first_offset,
            )
        )
        self._aborted: dict[int, _Aborted] = {}
        self._committed: set[int] = set()
        # Aborted transactions of which a trace is left: the index of what was aborted must go on naming them.
        self.kept: list[AbortedTransaction] = []

    def is_aborted(self, header: BatchHeader) -> bool:
        """Take in a batch of data; say whether it belongs to an aborted transaction."""
        if not header.attributes & TRANSACTIONAL_BIT:
            return False
        self._reach(header.last_offset)
        aborted = self._aborted.get(header.producer_id)
        if aborted is None:
            self._committed.add(header.producer_id)
            return False
        aborted.was_met = True
        return True

    def has_no_trace(self, header: BatchHeader, marker: TransactionMarker | None) -> bool:
        """Take in the end of a transaction; say whether nothing of it was met but this.

        None: a control batch that lost its record in an earlier pass, so that holds for it.
        Call it as well for control records that end no transaction, which are kept.
        """
        self._reach(header.last_offset)
        if marker is None:
            return True
        if marker.is_commit:
            had_data = header.producer_id in self._committed
            self._committed.discard(header.producer_id)
            return not had_data
        aborted = self._aborted.pop(header.producer_id, None)
        if aborted is None or not aborted.was_met:
            return True
        self.kept.append(aborted.transaction)
        return False

    def take_kept(self) -> list[AbortedTransaction]:
        """Give the aborted transactions that were kept since the last call, by their markers."""
        kept, self.kept = self.kept, []
        return kept

    def _reach(self, offset: int) -> None:
        expected = self._expected
        while expected and expected[0].first_offset <= offset:
            transaction = expected.popleft()
            self._aborted.setdefault(transaction.producer_id, _Aborted(transaction))
