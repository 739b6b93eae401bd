"""When somebody has waited, or kept silent, for too long: one heap of deadlines for all groups of a machine.

A deadline that moves later, which is what every heartbeat does to it, is one assignment: the heap is left
as it is, and what comes up too early is put back for its new time.

    heap    (100, ann) (140, bob)      ann.due_ms = 145 after her heartbeat at 100 - 45
    at 100  ann comes up, is not due, goes back as (145, ann)

Pure: time is a number that rises.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count

from riverlog.shards import NEVER as NEVER


class Deadline:
    """Something that may become due; subclasses say what. Belongs to one `Deadlines`."""

    __slots__ = ("due_ms", "queued_ms")

    def __init__(self) -> None:
        self.due_ms = NEVER
        """When it is due. May be moved later by assignment; for all else there is `Deadlines`."""
        self.queued_ms = NEVER
        """The heap's newest entry for it; never after `due_ms`."""


class Deadlines:
    """A heap of deadlines."""

    __slots__ = ("_heap", "_numbers")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Deadline]] = []
        # Entries of the same time come up in the order they were made; deadlines cannot be compared.
        self._numbers = count()

    @property
    def next_ms(self) -> int:
        """The time to look again; nothing is due before it. NEVER if nothing is set."""
        return self._heap[0][0] if self._heap else NEVER

    def set(self, deadline: Deadline, due_ms: int) -> None:
        """Let it be due at `due_ms`, whatever was set before."""
        deadline.due_ms = due_ms
        if due_ms < deadline.queued_ms:
            self._queue(deadline)

    def clear(self, deadline: Deadline) -> None:
        """Let it never be due."""
        deadline.due_ms = NEVER

    def take_due(self, now_ms: int) -> Iterator[Deadline]:
        """Take out what is due, the earliest first. More may be set while this goes on."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            queued_ms, _, deadline = heapq.heappop(heap)
            if queued_ms != deadline.queued_ms:
                continue  # it was moved to an earlier time since
            deadline.queued_ms = NEVER
            if deadline.due_ms <= now_ms:
                deadline.due_ms = NEVER
                yield deadline
            elif deadline.due_ms != NEVER:
                self._queue(deadline)

    def _queue(self, deadline: Deadline) -> None:
        deadline.queued_ms = deadline.due_ms
        heapq.heappush(self._heap, (deadline.due_ms, next(self._numbers), deadline))
