"""Many connections to a broker, each with a conversation of its own, driven by one thread.

    send(3, request)       member 3 asks
    answers(seconds)       whoever was answered, with the response: (member, frame), ...

What a conversation is about is the row's business. A member asks one thing at a time, so that an answer needs
nothing but its member to be told apart.
"""

import select
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from bench.connection import RECEIVE_BYTES, TIMEOUT_SECONDS, connect
from bench.errors import Unanswered

SIZE_BYTES = 4


class Socket(Protocol):
    """What is used of a socket."""

    def fileno(self) -> int: ...
    def sendall(self, data: bytes, /) -> None: ...
    def recv(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class Crowd:
    """So many open connections; used as a context manager it closes them."""

    def __init__(self, sockets: list[Socket]) -> None:
        self._sockets = sockets
        self._members = {opened.fileno(): member for member, opened in enumerate(sockets)}
        self._partial: dict[int, bytearray] = {}
        self._poller = select.epoll()
        for descriptor in self._members:
            self._poller.register(descriptor, select.EPOLLIN)

    def send(self, member: int, request: bytes) -> None:
        """Ask on a member's connection."""
        self._sockets[member].sendall(request)

    def answers(self, seconds_max: float = TIMEOUT_SECONDS) -> Iterator[tuple[int, bytes]]:
        """Wait until somebody is answered; give all who are, with the response without its size.

        Nobody may be by then: the time is up, or a response has not come to its end.

        Raises:
            Unanswered: a connection was closed.
        """
        for descriptor, _ in self._poller.poll(seconds_max):
            member = self._members[descriptor]
            received: bytes | bytearray = self._sockets[member].recv(RECEIVE_BYTES)
            if not received:
                raise Unanswered("the broker closed the connection")
            if member in self._partial:
                self._partial[member] += received
                received = self._partial[member]
            if len(received) >= SIZE_BYTES:
                size = struct.unpack_from(">i", received)[0]
                assert len(received) <= SIZE_BYTES + size, "an answer to a question that nobody asked"
                if len(received) == SIZE_BYTES + size:
                    self._partial.pop(member, None)
                    yield member, bytes(received[SIZE_BYTES:])
                    continue
            if member not in self._partial:
                self._partial[member] = bytearray(received)

    def paced(self, requests: Sequence[bytes], rate: float, seconds: float) -> Iterator[bytes]:
        """Have one member after the other send its request, round and round on a schedule; give all answers.

        Raises:
            Unanswered: an answer is still missing long after the last request.
        """
        count = int(rate * seconds)
        sent = answered = 0
        started = time.monotonic()
        while answered < count:
            now = time.monotonic() - started
            if now > seconds + TIMEOUT_SECONDS:
                raise Unanswered(f"{count - answered} of {count} requests have no answer")
            due = min(count, int(now * rate) + 1)
            for index in range(sent, due):
                self.send(index % len(requests), requests[index % len(requests)])
            sent = due
            pause = max(0.0, sent / rate - now) if sent < count else TIMEOUT_SECONDS
            for _, frame in self.answers(pause):
                answered += 1
                yield frame

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, *_: object) -> None:
        self._poller.close()
        for opened in self._sockets:
            opened.close()


def gather(port: int, count: int) -> Crowd:
    """Open so many connections to the broker on this machine."""
    return Crowd([connect(port) for _ in range(count)])
