"""Memory for requests that are still arriving: one scratch buffer, a pool for large frames, one limit.

Most requests arrive whole and are answered straight out of the scratch buffer, which all connections
of the event loop share, since a request is looked at before the next socket is read. Only a frame
that arrives in pieces gets a buffer of its own. Those buffers are what `queued.max.request.bytes`
bounds: past the limit, a connection waits its turn before it may go on sending.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

SCRATCH_BYTES = 256 * 1024
POOLED_BYTES_MAX = 16 * 1024 * 1024
"""How much memory of finished requests is kept for the next ones."""

SMALLEST_POOLED = 64 * 1024


class RequestMemory:
    """Hands out buffers for frames that arrive in pieces; single-threaded, owned by the event loop."""

    def __init__(self, limit_bytes: int) -> None:
        self.scratch = bytearray(SCRATCH_BYTES)
        self.scratch_view = memoryview(self.scratch)
        self.limit_bytes = limit_bytes
        self.taken_bytes = 0
        self._pool: dict[int, list[bytearray]] = {}
        self._pooled_bytes = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def take(self, size: int) -> bytearray | None:
        """Lend a buffer of at least `size` bytes, or None while the limit is reached.

        A single frame larger than the limit is still let in when it is alone, or it would wait forever.
        """
        capacity = _capacity_for(size)
        if self.limit_bytes > 0 and self.taken_bytes and self.taken_bytes + capacity > self.limit_bytes:
            return None
        self.taken_bytes += capacity
        pooled = self._pool.get(capacity)
        if pooled:
            self._pooled_bytes -= capacity
            return pooled.pop()
        # Fresh zero pages cost nothing until they are written: a peer that announces 100 MB and
        # sends ten bytes holds address space, not memory.
        return bytearray(capacity)

    def give_back(self, buffer: bytearray) -> None:
        """Take a lent buffer back, and let the longest waiting connection try again."""
        capacity = len(buffer)
        self.taken_bytes -= capacity
        assert self.taken_bytes >= 0, "a request buffer was given back twice"
        if capacity >= SMALLEST_POOLED and self._pooled_bytes + capacity <= POOLED_BYTES_MAX:
            self._pool.setdefault(capacity, []).append(buffer)
            self._pooled_bytes += capacity
        if self._waiting:
            self._waiting.popleft()()

    def when_free(self, retry: Callable[[], None]) -> None:
        """Call `retry` once, after some buffer was given back."""
        self._waiting.append(retry)


def _capacity_for(size: int) -> int:
    """Round up to a power of two, so that buffers of finished requests fit later ones."""
    if size < SMALLEST_POOLED:
        return size
    return 1 << (size - 1).bit_length()
