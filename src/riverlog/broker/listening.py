"""The listening sockets and the connections they took in: limits, idle sweeps, an ordered end.

    bind ──▶ accept ──▶ limits (max.connections, .per.ip) ──▶ Connection … closed

Nothing here knows what a request is.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections import Counter
from typing import TYPE_CHECKING

from riverlog.broker.connection import Connection, Dispatch
from riverlog.broker.metrics.counters import Traffic
from riverlog.errors import RiverlogError

if TYPE_CHECKING:
    from riverlog.broker.request_memory import RequestMemory
    from riverlog.config import Listener, NetworkSettings

ACCEPTS_PER_TURN = 64
"""How many connections are taken in before the loop looks at requests again."""

SWEEP_SECONDS = 1.0

logger = logging.getLogger("riverlog.broker.listening")


class ListenError(RiverlogError):
    """An address could not be bound; ends the start."""


class Listeners:
    """All listening sockets of a broker, and its open connections."""

    def __init__(
        self,
        settings: NetworkSettings,
        *,
        loop: asyncio.AbstractEventLoop,
        dispatch: Dispatch,
        memory: RequestMemory,
    ) -> None:
        self.settings = settings
        self._loop = loop
        self._dispatch = dispatch
        self._memory = memory
        self._sockets: list[tuple[socket.socket, str]] = []
        self._connections: set[Connection] = set()
        self._by_host: Counter[str] = Counter()
        self._is_accepting = False
        self._accepted_this_second = 0
        self._sweeper: asyncio.TimerHandle | None = None
        self._last_one_left = asyncio.Event()
        self.connections_accepted = 0
        self.connections_refused = 0
        self.traffic = Traffic()
        """Of all connections."""

    @property
    def connection_count(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    def bind(self) -> list[tuple[str, str, int]]:
        """Bind every configured listener; give (listener name, host, port actually bound)."""
        bound = []
        for listener in self.settings.listeners:
            sock = _bind(listener, self.settings.socket_listen_backlog_size)
            self._sockets.append((sock, listener.name))
            port = sock.getsockname()[1]
            bound.append((listener.name, listener.host, port))
        return bound

    def start_accepting(self) -> None:
        """Take in connections from now on."""
        self._accept_again()
        self._sweeper = self._loop.call_later(SWEEP_SECONDS, self._sweep)

    def follow(self, settings: NetworkSettings) -> None:
        """Obey changed limits from now on."""
        self.settings = settings

    def _accept_again(self) -> None:
        if not self._is_accepting:
            self._is_accepting = True
            for sock, name in self._sockets:
                self._loop.add_reader(sock.fileno(), self._accept, sock, name)

    def _stop_accepting(self) -> None:
        if self._is_accepting:
            self._is_accepting = False
            for sock, _name in self._sockets:
                self._loop.remove_reader(sock.fileno())

    def _accept(self, listening: socket.socket, listener_name: str) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            if len(self._connections) >= self.settings.max_connections:
                # The peer waits in the kernel's queue until a connection ends.
                logger.warning("max.connections=%d reached", self.settings.max_connections)
                self._stop_accepting()
                return
            if self._accepted_this_second >= self.settings.max_connection_creation_rate:
                self._stop_accepting()
                return
            try:
                sock, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    # Accepting again at once would spin: the sweep tries again in a second.
                    logger.error("cannot accept a connection: %s", error.strerror)
                    self._stop_accepting()
                    return
                raise
            self._take_in(sock, address, listener_name)

    def _take_in(self, sock: socket.socket, address: tuple[str, int], listener_name: str) -> None:
        host = address[0]
        self._accepted_this_second += 1
        self.connections_accepted += 1
        overrides = dict(self.settings.max_connections_per_ip_overrides)
        limit = overrides.get(host, self.settings.max_connections_per_ip)
        if self._by_host[host] >= limit:
            self.connections_refused += 1
            logger.warning("refused a connection of %s: max.connections.per.ip=%d", host, limit)
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        _set_buffer_sizes(sock, self.settings)
        self._by_host[host] += 1
        self._connections.add(
            Connection(
                sock,
                loop=self._loop,
                dispatch=self._dispatch,
                memory=self._memory,
                request_bytes_max=self.settings.socket_request_max_bytes,
                listener_name=listener_name,
                peer_name=f"{host}:{address[1]}",
                on_closed=self._forget,
                traffic=self.traffic,
            )
        )

    def _forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        host = connection.peer_host
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        if not self._connections:
            self._last_one_left.set()

    def _sweep(self) -> None:
        """Close connections that idle, and those that dribble a request too slowly."""
        now = self._loop.time()
        idle_max_ms = self.settings.connections_max_idle_ms
        idle_max = idle_max_ms / 1000 if idle_max_ms >= 0 else float("inf")
        request_max = self.settings.request_read_timeout_ms / 1000
        for connection in list(self._connections):
            if connection.frame_started and now - connection.frame_started > request_max:
                connection.close(
                    "a request took too long to arrive "
                    f"(request.read.timeout.ms={self.settings.request_read_timeout_ms})",
                    level=logging.WARNING,
                )
            elif now - connection.last_active > idle_max and not connection.is_waiting:
                connection.close(f"idle for longer than connections.max.idle.ms={idle_max_ms}")
        self._accepted_this_second = 0
        if self._sockets and len(self._connections) < self.settings.max_connections:
            self._accept_again()
        self._sweeper = self._loop.call_later(SWEEP_SECONDS, self._sweep)

    def stop_listening(self) -> None:
        """Take in nobody any more."""
        self._stop_accepting()
        for sock, _name in self._sockets:
            sock.close()
        self._sockets.clear()
        if self._sweeper is not None:
            self._sweeper.cancel()

    async def drain(self, timeout_seconds: float) -> None:
        """Let each connection finish what it was asked, then end it; those that do not in time are cut."""
        self._last_one_left.clear()
        for connection in list(self._connections):
            connection.drain()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    await self._last_one_left.wait()
        for connection in list(self._connections):
            connection.close("the broker is stopping")


def _bind(listener: Listener, backlog: int) -> socket.socket:
    host = listener.host or "0.0.0.0"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind((host, listener.port))
        sock.listen(backlog)
    except OSError as error:
        sock.close()
        raise ListenError(
            f"cannot listen on {host}:{listener.port} (listeners): {error.strerror or error}"
        ) from error
    return sock


def _set_buffer_sizes(sock: socket.socket, settings: NetworkSettings) -> None:
    """-1 leaves the sizes to the kernel, which then grows them as the connection needs."""
    with contextlib.suppress(OSError):
        if settings.socket_send_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, settings.socket_send_buffer_bytes)
        if settings.socket_receive_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.socket_receive_buffer_bytes)
