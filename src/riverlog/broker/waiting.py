"""Fetches that wait for data: parked until enough arrives or their time is up.

A waiter is registered with every log it reads. `appended(log)` marks its waiters as due; they are
looked at once at the end of the loop's turn, however many batches came in meanwhile, and answered if
what they can read now is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING

from riverlog.broker.handler import Parked

if TYPE_CHECKING:
    from riverlog.broker.handler import Reply

Attempt = Callable[[bool], "Reply | None"]
"""Build the reply if there is enough for one; with True, build it whatever there is."""


class _Waiter:
    __slots__ = ("attempt", "logs", "parked", "timer")

    def __init__(self, attempt: Attempt, logs: tuple[Hashable, ...]) -> None:
        self.attempt = attempt
        self.logs = logs
        self.parked: Parked | None = None
        self.timer: asyncio.TimerHandle | None = None


class FetchWaiters:
    """All parked fetches of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._by_log: dict[Hashable, set[_Waiter]] = {}
        self._due: set[_Waiter] = set()
        self._all: set[_Waiter] = set()

    def __len__(self) -> int:
        return len(self._all)

    def park(self, attempt: Attempt, logs: Iterable[Hashable], max_wait_ms: int) -> Parked:
        """Wait until one of `logs` grows and `attempt` succeeds, at the most `max_wait_ms`."""
        waiter = _Waiter(attempt, tuple(logs))
        waiter.parked = parked = Parked(blocking=True, on_abandoned=lambda: self._forget(waiter))
        waiter.timer = self._loop.call_later(max_wait_ms / 1000, self._finish, waiter)
        self._all.add(waiter)
        for log in waiter.logs:
            waiters = self._by_log.get(log)
            if waiters is None:
                self._by_log[log] = {waiter}
            else:
                waiters.add(waiter)
        return parked

    def appended(self, log: Hashable) -> None:
        """Say that readers of `log` can see something new (or that it is gone)."""
        waiters = self._by_log.get(log)
        if waiters:
            if not self._due:
                self._loop.call_soon(self._look_at_due)
            self._due |= waiters

    def finish_all(self) -> None:
        """Answer every parked fetch now, with whatever there is: the broker is stopping."""
        for waiter in list(self._all):
            self._finish(waiter)

    def _look_at_due(self) -> None:
        due, self._due = self._due, set()
        for waiter in due:
            if waiter in self._all:
                reply = waiter.attempt(False)
                if reply is not None:
                    self._resolve(waiter, reply)

    def _finish(self, waiter: _Waiter) -> None:
        self._resolve(waiter, waiter.attempt(True))

    def _resolve(self, waiter: _Waiter, reply: Reply | None) -> None:
        self._forget(waiter)
        assert waiter.parked is not None
        waiter.parked.resolve(reply)

    def _forget(self, waiter: _Waiter) -> None:
        self._all.discard(waiter)
        if waiter.timer is not None:
            waiter.timer.cancel()
        for log in waiter.logs:
            waiters = self._by_log.get(log)
            if waiters is not None:
                waiters.discard(waiter)
                if not waiters:
                    del self._by_log[log]
