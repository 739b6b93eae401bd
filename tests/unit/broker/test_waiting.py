"""Parked fetches: woken by appends, answered at their deadline, forgotten when the client goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from riverlog.broker.waiting import FetchWaiters


class HandLoop:
    """The two loop calls that waiting uses, turned by hand."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], Any]] = []
        self.timers: list[tuple[float, Callable[..., Any], tuple[Any, ...]]] = []
        self.cancelled: list[float] = []

    def call_soon(self, callback: Callable[[], Any]) -> None:
        self.soon.append(callback)

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> Any:
        self.timers.append((delay, callback, args))
        loop = self

        class Handle(asyncio.TimerHandle):
            def __init__(self) -> None:
                pass

            def cancel(self) -> None:
                loop.cancelled.append(delay)

            def __del__(self) -> None:
                pass

        return Handle()

    def turn(self) -> None:
        due, self.soon = self.soon, []
        for callback in due:
            callback()


def waiters() -> tuple[HandLoop, FetchWaiters]:
    loop = HandLoop()
    return loop, FetchWaiters(loop)  # type: ignore[arg-type]


def test_an_append_wakes_the_fetch_once_there_is_enough() -> None:
    loop, waiting = waiters()
    ready = [None, b"reply"]
    parked = waiting.park(lambda _last: ready.pop(0), ["log"], 500)

    waiting.appended("log")
    loop.turn()
    too_little = parked.is_resolved
    waiting.appended("log")
    loop.turn()

    assert not too_little
    assert parked.reply == b"reply"
    assert len(waiting) == 0
    assert loop.cancelled == [0.5]


def test_many_appends_in_one_turn_are_looked_at_once() -> None:
    loop, waiting = waiters()
    looks: list[bool] = []
    waiting.park(lambda last: looks.append(last), ["a", "b"], 500)

    for _ in range(10):
        waiting.appended("a")
        waiting.appended("b")
    loop.turn()

    assert looks == [False]


def test_an_append_elsewhere_wakes_nobody() -> None:
    loop, waiting = waiters()
    waiting.park(lambda _last: b"reply", ["a"], 500)

    waiting.appended("b")
    loop.turn()

    assert len(waiting) == 1


def test_the_deadline_answers_with_whatever_there_is() -> None:
    loop, waiting = waiters()
    parked = waiting.park(lambda last: b"empty" if last else None, ["a"], 250)
    delay, callback, args = loop.timers[0]

    callback(*args)

    assert delay == 0.25
    assert parked.reply == b"empty"
    assert len(waiting) == 0


def test_a_client_that_went_away_is_forgotten() -> None:
    loop, waiting = waiters()
    parked = waiting.park(lambda _last: b"reply", ["a"], 250)
    assert parked.on_abandoned is not None

    waiting.appended("a")
    parked.on_abandoned()
    loop.turn()

    assert not parked.is_resolved
    assert len(waiting) == 0
    assert loop.cancelled == [0.25]


def test_stopping_answers_everybody() -> None:
    _loop, waiting = waiters()
    parked = [waiting.park(lambda _last: b"reply", [name], 1000) for name in "abc"]

    waiting.finish_all()

    assert [one.reply for one in parked] == [b"reply"] * 3
