"""A limit on bytes per second, for reading and writing taken together.

    take ─▶ ahead of the clock? wait, in short steps: the limit may change meanwhile

What was not used is not saved up: after a pause the limit holds as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

STEP_SECONDS = 0.05
WAIT_SECONDS_MIN = 0.001
"""Shorter waits are put off, and add up."""

BURST_SECONDS = 0.1
"""How much may be taken at once before anything is waited for."""


class Throttle:
    """Keeps those who take bytes from taking too many."""

    __slots__ = ("_due", "_now", "_wait", "bytes_per_second")

    def __init__(
        self, bytes_per_second: float, now: Callable[[], float], wait: Callable[[float], object]
    ) -> None:
        # May change at any time, from any thread.
        self.bytes_per_second = bytes_per_second
        self._now = now
        self._wait = wait
        # When all that was taken so far should have been taken.
        self._due = now()

    def forgive(self) -> None:
        """Forget what is owed: whoever took it was stopped while it waited."""
        self._due = self._now()

    def take(self, count: int) -> None:
        """Take so many bytes, and wait until that was right."""
        self._due = max(self._due, self._now() - BURST_SECONDS) + count / max(self.bytes_per_second, 1.0)
        while (ahead := self._due - self._now()) > WAIT_SECONDS_MIN:
            before = self.bytes_per_second
            self._wait(min(ahead, STEP_SECONDS))
            if self.bytes_per_second != before:
                # What is still owed is owed at the new rate.
                ahead = max(self._due - self._now(), 0.0)
                self._due = self._now() + ahead * before / max(self.bytes_per_second, 1.0)
