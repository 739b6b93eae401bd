"""Run a load in a process of its own, bounded in time.

A fresh interpreter per load keeps the generator's CPU apart from the bench's, gives librdkafka a clean start
and lets a stuck load be ended without ending the run.
"""

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Barrier
from types import TracebackType
from typing import Generic, ParamSpec, TypeVar, cast

from bench.errors import LoadFailed

P = ParamSpec("P")
T = TypeVar("T")

LOAD_SECONDS_MAX = 120.0

_context = multiprocessing.get_context("spawn")


class Load(Generic[T]):
    """A load under way: `with Load(function, args) as load: load.result()`. Leaving the block ends it."""

    def __init__(self, function: Callable[..., T], *args: object) -> None:
        self._name = function.__qualname__
        self._pipe, theirs = _context.Pipe(duplex=False)
        self._process: SpawnProcess = _context.Process(
            target=_run, args=(theirs, function, args), daemon=True
        )
        self._process.start()
        theirs.close()

    def result(self, seconds_max: float = LOAD_SECONDS_MAX) -> T:
        """Wait for the load's return value.

        Raises:
            LoadFailed: the load raised, ended without a word, or took longer than `seconds_max`.
        """
        if not self._pipe.poll(seconds_max):
            raise LoadFailed(f"{self._name} is not done after {seconds_max:.0f} s")
        try:
            is_done, outcome = self._pipe.recv()
        except EOFError:
            self._process.join()
            raise LoadFailed(f"{self._name} ended with exit code {self._process.exitcode}") from None
        if not is_done:
            raise LoadFailed(f"{self._name} failed:\n{outcome}")
        return cast(T, outcome)

    def __enter__(self) -> "Load[T]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.join(2.0 if error is None else 0.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()
        self._pipe.close()


def in_own_process(function: Callable[P, T], *args: P.args, **_: P.kwargs) -> T:
    """Run `function(*args)` in a fresh process and return its result; it lives at a module's top level."""
    with Load(function, *args) as load:
        return load.result()


def meeting_point(parties: int) -> Barrier:
    """Make a barrier that so many loads can wait at until all have come."""
    return _context.Barrier(parties)


def _run(pipe: Connection, function: Callable[..., object], args: tuple[object, ...]) -> None:
    try:
        pipe.send((True, function(*args)))
    except Exception:
        pipe.send((False, traceback.format_exc()))
    pipe.close()
