"""A member of a group that stays: it reads, and commits what it has read at once.

    Driver.member(...) --> Member        what it has read and committed, until it is told to leave

Members read in the background, each in its own way: a thread for Python's clients, a process for others.
What could not be committed does not count as read: whoever has the partition next reads it.
"""

from __future__ import annotations

import abc
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import DEADLINE_S

POLL_SECONDS = 0.1
SESSION_MS, HEARTBEAT_MS = 30_000, 300
RANGE, COOPERATIVE = "range", "cooperative-sticky"


class Place(NamedTuple):
    """Where a record is."""

    partition: int
    offset: int


class Member(abc.ABC):
    """Somebody in a group. Ends with its `with` block."""

    @abc.abstractmethod
    def read(self) -> list[Place]:
        """What it has read and committed so far, in order."""

    @abc.abstractmethod
    def leave(self) -> None:
        """End it in order: a static member keeps its place in the group, others give it up."""

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class SeekingMember(Member):
    """A member that can be sent to another offset."""

    @abc.abstractmethod
    def seek(self, place: Place) -> None:
        """Go on from there."""


class ThreadMember(SeekingMember):
    """A member by a client of Python's; everything that touches the client happens in its thread."""

    def __init__(self) -> None:
        self._pending: list[Place] = []
        self._read: list[Place] = []
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._told_to_leave = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @abc.abstractmethod
    def open(self) -> None:
        """Subscribe."""

    @abc.abstractmethod
    def poll(self) -> list[Place]:
        """Wait a moment for records."""

    @abc.abstractmethod
    def commit(self, places: list[Place]) -> bool:
        """Commit these places; say whether that was possible."""

    @abc.abstractmethod
    def go_to(self, place: Place) -> None:
        """Move the position in an assigned partition."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the client."""

    def read(self) -> list[Place]:
        if self._failure is not None:
            raise AssertionError(f"the member failed: {self._failure!r}") from self._failure
        return list(self._read)

    def seek(self, place: Place) -> None:
        self._asked.put(lambda: self.go_to(place))

    def leave(self) -> None:
        self._told_to_leave.set()
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), "the member does not leave"
        self.read()

    def _run(self) -> None:
        try:
            self.open()
            try:
                while not self._told_to_leave.is_set():
                    self._step()
            finally:
                self.close()
        except BaseException as error:
            self._failure = error

    def _step(self) -> None:
        found = self.poll()
        self._pending += found
        places = self._pending
        if places and self.commit(places):
            # a client may give partitions up while it commits, and has committed all the same
            self._read += places
            self._pending = []
        while not self._asked.empty():
            self._asked.get()()

    def give_up(self, partitions: set[int]) -> None:
        """Forget what was read there and not committed: somebody reads it again, perhaps this member."""
        self._pending = [place for place in self._pending if place.partition not in partitions]


class Revocations:
    """Half of a rebalance listener, for clients that want one of their own class: tells its member."""

    def __init__(self, member: ThreadMember) -> None:
        self._member = member

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        self._member.give_up({each.partition for each in revoked})

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Nothing is to be done."""
