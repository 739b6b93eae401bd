"""Producer ids: each is handed out once, whatever crashes in between.

Ids are reserved from the store a block at a time, before the first of them is handed out. What a
restart finds reserved but unused is skipped: gaps are harmless, a repeated id is not.
"""

from __future__ import annotations

from riverlog.cluster.stored_nodes import PRODUCER_IDS, decode, encode
from riverlog.coordination import Coordination
from riverlog.types import ProducerId

BLOCK_SIZE = 1000


class ProducerIds:
    """The ids that this broker hands out."""

    def __init__(self, store: Coordination) -> None:
        self._store = store
        self._next = self._end = 0

    def next(self) -> ProducerId:
        """Hand out an id. Every thousandth call writes to the store, and raises what that raises."""
        if self._next == self._end:
            self._next, self._end = self._reserve()
        self._next += 1
        return ProducerId(self._next - 1)

    def _reserve(self) -> tuple[int, int]:
        node = self._store.get(PRODUCER_IDS)
        assert node is not None, "the skeleton of the store has this node"
        start: int = decode(PRODUCER_IDS, node)["next"]
        end = start + BLOCK_SIZE
        # On the version that was read: of two brokers that reserve at once, one is refused.
        self._store.set(PRODUCER_IDS, encode({"next": end}), node.version)
        return start, end
