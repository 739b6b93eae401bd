"""Sends hostile frames over many connections at once; hangs up and comes again as often as it is cut off.

Each connection has one frame under way: the next one leaves when the last one was answered, or its connection
was closed, or nothing came for a moment (a fetch that waits, a produce that wants no answer, a frame that
claims to be longer than it is).
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from collections.abc import Iterator

ANSWER_SECONDS_MAX = 0.05
RECEIVED_AT_ONCE = 1 << 20


class HostileSender:
    """`connections` sockets, worked by one thread."""

    def __init__(self, bootstrap: str, frames: Iterator[bytes], connections: int = 16) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._address = host, int(port)
        self._frames = frames
        self._connections = connections
        self._selector = selectors.DefaultSelector()
        self._unsent: dict[socket.socket, memoryview] = {}
        self._since: dict[socket.socket, float] = {}
        self.sent = self.cut_off = 0

    def send_all(self) -> None:
        """Send until there are no more frames."""
        try:
            for _ in range(self._connections):
                self._connect()
            while self._unsent:
                for key, events in self._selector.select(ANSWER_SECONDS_MAX):
                    sock = key.fileobj
                    assert isinstance(sock, socket.socket)
                    self._work_on(sock, events)
                now = time.monotonic()
                for sock in [each for each, since in self._since.items() if now - since > ANSWER_SECONDS_MAX]:
                    if not self._unsent[sock]:
                        self._next_frame(sock)
        finally:
            for sock in list(self._unsent):
                self._hang_up(sock)
            self._selector.close()

    def _connect(self) -> None:
        sock = socket.create_connection(self._address, 30)
        sock.setblocking(False)
        self._selector.register(sock, selectors.EVENT_READ)
        self._unsent[sock] = memoryview(b"")
        self._next_frame(sock)

    def _next_frame(self, sock: socket.socket) -> None:
        frame = next(self._frames, None)
        if frame is None:
            self._hang_up(sock)
            return
        self._unsent[sock] = memoryview(frame)
        self._since[sock] = time.monotonic()
        self.sent += 1
        self._write(sock)

    def _work_on(self, sock: socket.socket, events: int) -> None:
        if events & selectors.EVENT_READ:
            received = b""
            with contextlib.suppress(BlockingIOError, ConnectionError):
                received = sock.recv(RECEIVED_AT_ONCE)
            if not received:
                self.cut_off += 1
                self._hang_up(sock)
                self._connect()
                return
            if len(received) < RECEIVED_AT_ONCE and not self._unsent[sock]:
                self._next_frame(sock)
                return
        if events & selectors.EVENT_WRITE:
            self._write(sock)

    def _write(self, sock: socket.socket) -> None:
        unsent = self._unsent[sock]
        with contextlib.suppress(BlockingIOError, ConnectionError):
            unsent = unsent[sock.send(unsent) :]
        self._unsent[sock] = unsent
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if unsent else 0)
        self._selector.modify(sock, events)

    def _hang_up(self, sock: socket.socket) -> None:
        self._selector.unregister(sock)
        sock.close()
        del self._unsent[sock]
        self._since.pop(sock, None)
