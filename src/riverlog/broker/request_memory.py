"""Memory for requests that are still arriving: one scratch buffer, a pool for large frames, one limit.

Most requests arrive whole and are answered straight out of the scratch buffer, which all connections
of the event loop share, since a request is looked at before the next socket is read. Only a frame
that arrives in pieces gets a buffer of its own. Those buffers are what `queued.max.request.bytes`
bounds: past the limit, a connection waits its turn before it may go on sending.

What a peer only announces must not keep others out, nor may frames that are half here wait for each
other for ever. Hence:
- A buffer begins with `FIRST_BYTES` at the most and grows as the frame fills it.
- Past the limit only the oldest of the lent buffers grows: one frame at least always gets done.
- Frames below `SMALLEST_POOLED` are never made to wait; the number of connections bounds those.
"""

from __future__ import annotations

from collections.abc import Callable

SCRATCH_BYTES = 256 * 1024
POOLED_BYTES_MAX = 16 * 1024 * 1024
"""How much memory of finished requests is kept for the next ones."""

SMALLEST_POOLED = 64 * 1024

FIRST_BYTES = 2 * 1024 * 1024
"""What a frame is given to begin with: enough for one batch of the usual largest size."""


class RequestMemory:
    """Hands out buffers for frames that arrive in pieces; single-threaded, owned by the event loop."""

    def __init__(self, limit_bytes: int) -> None:
        self.scratch = bytearray(SCRATCH_BYTES)
        self.scratch_view = memoryview(self.scratch)
        self.limit_bytes = limit_bytes
        self.taken_bytes = 0
        self._pool: dict[int, list[bytearray]] = {}
        self._pooled_bytes = 0
        self._waiting: list[Callable[[], None]] = []
        self._ages: dict[int, int] = {}
        """Which of the buffers beyond the smallest was lent first, by their id; a grown one keeps its age."""
        self._lent_count = 0

    def take(self, size: int) -> bytearray | None:
        """Lend a buffer of at least `size` bytes, or None while the limit is reached.

        A single frame larger than the limit is still let in when it is alone, or it would wait forever.
        """
        capacity = _capacity_for(size)
        if size >= SMALLEST_POOLED and self._ages and self._is_too_much(capacity):
            return None
        self._lent_count += 1
        return self._lend(capacity, self._lent_count)

    def grow(self, buffer: bytearray, size: int) -> bytearray | None:
        """Lend a buffer of at least `size` bytes with the content of this one, which is taken back.

        None while the limit is reached: then the smaller one stays lent.
        """
        age = self._ages[id(buffer)]
        capacity = _capacity_for(size)
        if self._is_too_much(capacity - len(buffer)) and age != min(self._ages.values()):
            return None
        grown = self._lend(capacity, age)
        grown[: len(buffer)] = buffer
        self.give_back(buffer)
        return grown

    def _is_too_much(self, more_bytes: int) -> bool:
        return self.limit_bytes > 0 and self.taken_bytes + more_bytes > self.limit_bytes

    def _lend(self, capacity: int, age: int) -> bytearray:
        buffer = self._find_or_make(capacity)
        if capacity >= SMALLEST_POOLED:
            self._ages[id(buffer)] = age
        return buffer

    def _find_or_make(self, capacity: int) -> bytearray:
        self.taken_bytes += capacity
        pooled = self._pool.get(capacity)
        if pooled:
            self._pooled_bytes -= capacity
            return pooled.pop()
        # Fresh zero pages cost nothing until they are written: what a peer does not send takes no memory.
        return bytearray(capacity)

    def give_back(self, buffer: bytearray) -> None:
        """Take a lent buffer back, and let those who wait try again, the one that waits longest first."""
        capacity = len(buffer)
        self.taken_bytes -= capacity
        self._ages.pop(id(buffer), None)
        assert self.taken_bytes >= 0, "a request buffer was given back twice"
        if capacity >= SMALLEST_POOLED and self._pooled_bytes + capacity <= POOLED_BYTES_MAX:
            self._pool.setdefault(capacity, []).append(buffer)
            self._pooled_bytes += capacity
        # All of them: the first may want more than there is, or be gone by now.
        waiting, self._waiting = self._waiting, []
        for retry in waiting:
            retry()

    def when_free(self, retry: Callable[[], None]) -> None:
        """Call `retry` once, after some buffer was given back; it must leave taking one to a later turn."""
        self._waiting.append(retry)


def _capacity_for(size: int) -> int:
    """Round up to a power of two, so that buffers of finished requests fit later ones."""
    if size < SMALLEST_POOLED:
        return size
    return 1 << (size - 1).bit_length()
