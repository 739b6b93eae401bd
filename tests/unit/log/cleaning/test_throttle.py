import pytest

from riverlog.log.cleaning.throttle import STEP_SECONDS, Throttle


class Clock:
    """A clock that waiting moves."""

    def __init__(self) -> None:
        self.time = 100.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


def test_so_many_bytes_take_the_time_that_they_may() -> None:
    clock = Clock()
    throttle = Throttle(1000.0, clock.now, clock.wait)

    for _ in range(50):
        throttle.take(100)

    assert 4.8 < clock.time - 100 < 5.01
    assert max(clock.waits) <= STEP_SECONDS


def test_a_pause_is_not_saved_up() -> None:
    clock = Clock()
    throttle = Throttle(1000.0, clock.now, clock.wait)
    clock.time += 60

    throttle.take(2000)

    assert clock.time > 161.8


def test_without_a_limit_nobody_waits() -> None:
    clock = Clock()
    throttle = Throttle(1.8e308, clock.now, clock.wait)

    throttle.take(1 << 60)

    assert clock.waits == []


def test_a_limit_that_is_raised_ends_the_wait() -> None:
    clock = Clock()
    throttle = Throttle(1.0, clock.now, clock.wait)

    def wait(seconds: float) -> None:
        clock.wait(seconds)
        throttle.bytes_per_second = 1000.0

    throttle._wait = wait
    throttle.take(1000)

    assert clock.time - 100 < 1.2


def test_what_is_owed_can_be_forgiven() -> None:
    clock = Clock()

    def stop(_seconds: float) -> None:
        raise InterruptedError

    throttle = Throttle(1.0, clock.now, stop)
    with pytest.raises(InterruptedError):
        throttle.take(1_000_000)

    throttle.forgive()
    throttle.bytes_per_second = 1000.0
    throttle._wait = clock.wait
    throttle.take(1000)

    assert clock.time - 100 < 1.1
