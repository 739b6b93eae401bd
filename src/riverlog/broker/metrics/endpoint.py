"""`GET /metrics` over HTTP, on a listener of its own; anything else is 404.

As little of HTTP as a collector needs: one request for each connection, then it is closed. Whatever a peer
does, it takes a bounded part of our memory and time, and clients are served between the slices of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncGenerator, Callable, Iterator

from riverlog.broker.listening import ListenError
from riverlog.broker.metrics.exposition import CONTENT_TYPE

PATH = b"/metrics"

CONNECTIONS_MAX = 8
"""Served at once; further ones are closed."""

HEAD_BYTES_MAX = 8 * 1024
REQUEST_SECONDS = 5.0
ANSWER_SECONDS = 30.0

SLICE_SECONDS = 0.002
"""For how long reading metrics may keep the event loop from everything else."""

CHUNK_CHARACTERS = 32 * 1024

_NOT_FOUND = b"There is /metrics here, and nothing else.\n"
_STATUS = {404: b"Not Found", 408: b"Request Timeout", 431: b"Request Header Fields Too Large"}

logger = logging.getLogger("riverlog.broker.metrics")


class MetricsEndpoint:
    """Serves what `text` gives, which it asks anew for each request. Single-threaded."""

    def __init__(
        self,
        host: str,
        port: int,
        text: Callable[[], Iterator[str]],
        *,
        request_seconds: float = REQUEST_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        """Take the port at once; raises ListenError where that cannot be."""
        self._text = text
        self._request_seconds = request_seconds
        self._answer_seconds = answer_seconds
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._socket = _bind(host, port)
        self.address: tuple[str, int] = (host, self._socket.getsockname()[1])
        """Host as configured, port as bound."""

    async def start(self) -> None:
        """Answer from now on."""
        self._server = await asyncio.start_server(self._serve, sock=self._socket, limit=HEAD_BYTES_MAX)

    async def stop(self) -> None:
        """Answer nobody any more; whoever is being answered is cut."""
        if self._server is None:
            self._socket.close()
            return
        self._server.close()
        self._server = None
        for task in list(self._serving):
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._serving) >= CONNECTIONS_MAX:
            writer.transport.abort()
            return
        self._serving.add(task)
        try:
            async with asyncio.timeout(self._request_seconds + self._answer_seconds):
                await self._answer(reader, writer)
                writer.close()
                await writer.wait_closed()
        except (ConnectionError, TimeoutError):
            writer.transport.abort()
        except Exception:
            # The edge of one connection: what cannot be told here must not disturb those who are served.
            logger.exception("metrics could not be told")
            writer.transport.abort()
        except asyncio.CancelledError:
            # From `stop`, which waits for us; the stream's own callback would report it as an error.
            writer.transport.abort()
        finally:
            self._serving.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(self._request_seconds):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            _refuse(writer, 408)
            return
        except asyncio.LimitOverrunError:
            _refuse(writer, 431)
            return
        except asyncio.IncompleteReadError:
            return
        method, target, version = _request_line(head)
        if method != b"GET" or target.partition(b"?")[0] != PATH:
            _refuse(writer, 404, _NOT_FOUND)
            return
        # HTTP/1.0 has no chunks: there the end of the connection is the end of the answer.
        is_chunked = version != b"HTTP/1.0"
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: "
            + CONTENT_TYPE.encode()
            + (b"\r\nTransfer-Encoding: chunked" if is_chunked else b"")
            + b"\r\nConnection: close\r\n\r\n"
        )
        async with contextlib.aclosing(_in_slices(self._text())) as chunks:
            async for chunk in chunks:
                writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if is_chunked else chunk)
                await writer.drain()
        if is_chunked:
            writer.write(b"0\r\n\r\n")


async def _in_slices(pieces: Iterator[str]) -> AsyncGenerator[bytes, None]:
    """Gather pieces into chunks, letting others have their turn after each slice of time."""
    gathered: list[str] = []
    size = 0
    slice_ends = time.monotonic() + SLICE_SECONDS
    for piece in pieces:
        if piece:
            gathered.append(piece)
            size += len(piece)
            if size >= CHUNK_CHARACTERS:
                yield "".join(gathered).encode()
                gathered.clear()
                size = 0
        if time.monotonic() > slice_ends:
            await asyncio.sleep(0)
            slice_ends = time.monotonic() + SLICE_SECONDS
    if gathered:
        yield "".join(gathered).encode()


def _request_line(head: bytes) -> tuple[bytes, bytes, bytes]:
    """Read method, target and version; what is not there is empty."""
    words = head.partition(b"\r\n")[0].split(b" ")
    if len(words) != 3:
        return b"", b"", b""
    return words[0], words[1], words[2]


def _refuse(writer: asyncio.StreamWriter, status: int, text: bytes = b"") -> None:
    writer.write(
        b"HTTP/1.1 %d %b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
        b"Connection: close\r\n\r\n%b" % (status, _STATUS[status], len(text), text)
    )


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind((host, port))
        sock.listen(CONNECTIONS_MAX)
    except OSError as error:
        sock.close()
        raise ListenError(
            f"cannot serve metrics on {host}:{port} (metrics.host, metrics.port): {error.strerror or error}"
        ) from error
    return sock
