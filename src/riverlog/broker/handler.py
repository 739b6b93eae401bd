"""What a request handler is: an API's number, the versions it speaks, and a function.

Two kinds exist. Most APIs are a function from a decoded message to a message. Produce and Fetch, the
two hot ones, get the frame's bytes and give back the reply's chunks, so that record batches pass
through without being decoded or copied.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.log import FileSlice
    from riverlog.protocol.produce_shape import ProduceShape

    Reply: TypeAlias = bytes | list[bytes | FileSlice]
    """A complete response frame: bytes, or bytes with runs of segment files between them."""


class Peer(Protocol):
    """What a handler may know about the connection a request came in on."""

    peer_host: str
    listener_name: str
    software_name: str
    software_version: str
    produce_shape: ProduceShape | None
    """What the last produce request looked like, to recognise the next by."""

    def close(self, reason: str) -> None:
        """End the connection."""


class Context:
    """One request's circumstances: its header, and the connection it came in on."""

    __slots__ = ("api_key", "api_version", "client_id", "connection", "correlation_id", "request_start")

    def __init__(
        self,
        api_key: int,
        api_version: int,
        correlation_id: int,
        client_id: str | None,
        connection: Peer,
        request_start: int = 0,
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.connection = connection
        self.request_start = request_start
        """Where its header begins in the buffer that a raw handler gets."""


class Parked:
    """A reply that is not ready yet. Its place in the connection's order of replies is kept.

    Whoever parks a request calls `resolve` once, from the event loop, with the reply's frame (or None
    where the client wants none). A `blocking` one also keeps the connection's later requests from
    being looked at, which is how Kafka treats every request; a produce waiting for its fsync does not.
    """

    __slots__ = ("_on_resolved", "blocking", "is_resolved", "on_abandoned", "reply", "when_resolved")

    def __init__(self, *, blocking: bool, on_abandoned: Callable[[], None] | None = None) -> None:
        self.blocking = blocking
        self.is_resolved = False
        self.reply: Reply | None = None
        self.on_abandoned = on_abandoned
        """Called when the connection goes away before the reply is there."""
        self.when_resolved: Callable[[], None] | None = None
        """Called when the reply is there, by whoever measures how long that took."""
        self._on_resolved: Callable[[], None] | None = None

    def attach(self, on_resolved: Callable[[], None]) -> None:
        """Name who wants to know; called by the connection that keeps the reply's place."""
        self._on_resolved = on_resolved

    def resolve(self, reply: Reply | None) -> None:
        """Hand over the reply. Later calls change nothing: a time-out and a wake-up may race."""
        if self.is_resolved:
            return
        self.is_resolved = True
        self.reply = reply
        if self.when_resolved is not None:
            self.when_resolved()
        if self._on_resolved is not None:
            self._on_resolved()


class Handler(NamedTuple):
    """An API answered message by message. `answer` may be a coroutine function."""

    api_key: int
    min_version: int
    max_version: int
    answer: Callable[[Broker, Any, Context], Any | Awaitable[Any]]


class RawHandler(NamedTuple):
    """An API answered byte by byte. `answer` returns the frame, a parked reply, or None for no reply."""

    api_key: int
    min_version: int
    max_version: int
    answer: Callable[[Broker, Context, bytearray | memoryview, int, int], Reply | Parked | None]
