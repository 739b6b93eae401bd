"""A proxy between a client and the broker that loses answers and counts requests.

    client --> LossyProxy --> broker
           <-- x             the broker has stored the batch, the client never hears of it

It knows just enough of the protocol to cut the byte stream into frames: the size in front of each, and
the API key and correlation id that open a request. Clients connect to the address that the broker
advertises, so that address is replaced by the proxy's wherever it appears in an answer: host text
followed by the port as int32, the same length either way, in every version of every answer.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import Counter, deque

PRODUCE = 0
INIT_PRODUCER_ID = 22


def read_exactly(connection: socket.socket, size: int) -> bytes:
    """Read `size` bytes, or raise ConnectionError when the peer ends first."""
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise ConnectionError("the peer closed the connection")
        data += piece
    return bytes(data)


def read_frame(connection: socket.socket) -> bytes:
    """Read one request or answer, without the size in front of it."""
    (size,) = struct.unpack(">i", read_exactly(connection, 4))
    return read_exactly(connection, size)


class LossyProxy:
    """Forwards frames; drops the answers it is told to, each with the connection that it came on."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._broker = (host, int(port))
        self._listener = socket.create_server((host, 0))
        self.bootstrap = f"{host}:{self._listener.getsockname()[1]}"
        self._real = host.encode() + struct.pack(">i", int(port))
        self._ours = host.encode() + struct.pack(">i", self._listener.getsockname()[1])
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._losses: Counter[int] = Counter()
        self._closed = False
        self.requests: Counter[int] = Counter()
        """How many requests of each API passed, retries included."""
        self.lost: Counter[int] = Counter()
        """How many answers of each API were lost."""
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def lose_answers(self, api_key: int, count: int) -> None:
        """Lose the next `count` answers to requests of this API."""
        with self._lock:
            self._losses[api_key] += count

    def close(self) -> None:
        with self._lock:
            self._closed = True
            sockets = list(self._sockets)
        # shutdown, not close: it wakes the thread that waits in accept() or recv()
        for one in (self._listener, *sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()
        for one in (self._listener, *sockets):
            one.close()

    def __enter__(self) -> LossyProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            broker = socket.create_connection(self._broker)
            for one in (client, broker):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            asked: deque[tuple[int, int]] = deque()
            with self._lock:
                if self._closed:
                    client.close()
                    broker.close()
                    return
                self._sockets |= {client, broker}
                for work in (self._forward_requests, self._forward_answers):
                    thread = threading.Thread(target=work, args=(client, broker, asked), daemon=True)
                    self._threads.append(thread)
                    thread.start()

    def _forward_requests(
        self, client: socket.socket, broker: socket.socket, asked: deque[tuple[int, int]]
    ) -> None:
        try:
            while True:
                frame = read_frame(client)
                api_key, _, correlation_id = struct.unpack_from(">hhi", frame)
                with self._lock:
                    self.requests[api_key] += 1
                asked.append((correlation_id, api_key))
                broker.sendall(struct.pack(">i", len(frame)) + frame)
        except OSError:
            pass  # one side left: the other is told below
        finally:
            self._hang_up(client, broker)

    def _forward_answers(
        self, client: socket.socket, broker: socket.socket, asked: deque[tuple[int, int]]
    ) -> None:
        try:
            while True:
                frame = read_frame(broker)
                (correlation_id,) = struct.unpack_from(">i", frame)
                # answers keep the order of requests; a produce with acks=0 has none and is passed over
                expected, api_key = asked.popleft()
                while expected != correlation_id:
                    expected, api_key = asked.popleft()
                with self._lock:
                    is_lost = self._losses[api_key] > 0
                    if is_lost:
                        self._losses[api_key] -= 1
                        self.lost[api_key] += 1
                if is_lost:
                    return
                client.sendall(struct.pack(">i", len(frame)) + frame.replace(self._real, self._ours))
        except OSError:
            pass  # one side left: the other is told below
        finally:
            self._hang_up(client, broker)

    @staticmethod
    def _hang_up(*sockets: socket.socket) -> None:
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
