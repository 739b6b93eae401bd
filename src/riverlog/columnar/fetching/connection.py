"""One socket to one broker: a request goes out as a frame, answers come back in the order of the requests.

Nothing is retried here. Whatever fails raises OSError, or RemoteProtocolError for bytes that are no answer;
either way the connection is of no use any more.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from typing import Any

from riverlog.columnar.fetching import requests
from riverlog.errors import RemoteProtocolError
from riverlog.protocol.message import Message
from riverlog.protocol.messages import ApiVersionsRequest
from riverlog.protocol.records import RECORDS_BYTES_MAX
from riverlog.protocol.wire import read_response, write_request

CLIENT_ID = "riverlog-columnar"
CONNECT_SECONDS_MAX = 3.0
"""How long one address may take to accept a connection before another one is tried."""

FRAME_BYTES_MAX = RECORDS_BYTES_MAX + 64 * 1024 * 1024
"""The largest answer that is let in. A batch comes whole, however little was asked for."""

_SIZE = struct.Struct(">i")


class Connection:
    """A connection whose API versions are settled."""

    def __init__(self, host: str, port: int, silence_seconds_max: float) -> None:
        """Connect and ask which versions the broker speaks. A broker that is silent for so long is given up.

        Raises OSError, RemoteProtocolError, RequestRefused.
        """
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._versions = {requests.API_VERSIONS: 0}
        self._correlation_id = 0
        self._awaited: deque[tuple[int, int]] = deque()  # correlation id, API key
        seconds = min(CONNECT_SECONDS_MAX, silence_seconds_max)
        self._socket = socket.create_connection((host, port), seconds)
        try:
            self._socket.settimeout(silence_seconds_max)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            response = self.ask(requests.API_VERSIONS, ApiVersionsRequest())
            self._versions = requests.agreed_versions(response, self.address)
        except BaseException:
            self.close()
            raise

    @property
    def is_idle(self) -> bool:
        """Whether no answer is on its way."""
        return not self._awaited

    def ask(self, api_key: int, message: Message) -> Any:
        """Send a request and wait for its answer. Raises OSError, RemoteProtocolError."""
        assert self.is_idle, self._awaited
        self.send(api_key, message)
        return self.receive()

    def send(self, api_key: int, message: Message) -> None:
        """Send a request. Raises OSError."""
        self._correlation_id += 1
        frame = write_request(api_key, self._versions[api_key], self._correlation_id, CLIENT_ID, message)
        self._socket.sendall(frame)
        self._awaited.append((self._correlation_id, api_key))

    def receive(self) -> Any:
        """Wait for the answer to the oldest request. Raises OSError, RemoteProtocolError."""
        expected, api_key = self._awaited.popleft()
        (size,) = _SIZE.unpack(self._read(_SIZE.size))
        if not 0 <= size <= FRAME_BYTES_MAX:
            raise RemoteProtocolError(f"{self.address}: an answer of {size} bytes")
        frame = self._read(size)
        correlation_id, response = read_response(api_key, self._versions[api_key], frame, 0, size)
        if correlation_id != expected:
            raise RemoteProtocolError(
                f"{self.address}: answer {correlation_id} where {expected} was expected"
            )
        return response

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _read(self, size: int) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        filled = 0
        while filled < size:
            count = self._socket.recv_into(view[filled:])
            if not count:
                raise ConnectionResetError(f"{self.address} ended the connection")
            filled += count
        return data
