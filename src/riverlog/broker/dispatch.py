"""From a request frame to its handler, and from the handler's answer to a reply frame.

The table of handlers is also what ApiVersions advertises, so a version is promised if and only if it
is answered. One exception, on purpose: Produce is advertised from version 0 although 0-2 are refused,
because librdkafka takes a minimum above 0 to mean that the broker cannot decompress (row 1).
"""

from __future__ import annotations

import inspect
import logging
import struct
from collections.abc import Awaitable, Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from riverlog.broker.apis.produce import answer_alike
from riverlog.broker.handler import Context, Handler, Parked, RawHandler
from riverlog.broker.metrics.counters import TIMED_MASK
from riverlog.errors import RemoteProtocolError
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.headers import read_request_header
from riverlog.protocol.wire import read_request, write_response

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.connection import Connection
    from riverlog.broker.handler import Reply

PRODUCE = 0
API_VERSIONS = 18

_KEY_VERSION_CORRELATION = struct.Struct(">hhi")
# ApiVersions at version 0: correlation id, error, one entry (key, first, last). A client that asked
# for a version unknown here can read this one, and asks again (row 2).
_UNSUPPORTED_API_VERSIONS = struct.Struct(">iihihhh")

logger = logging.getLogger("riverlog.broker.dispatch")


class Dispatcher:
    """Knows every handler; called by connections with one frame at a time."""

    def __init__(self, broker: Broker, handlers: Iterable[Handler | RawHandler]) -> None:
        self._broker = broker
        self._handlers = {handler.api_key: handler for handler in handlers}
        self._bytes_max = broker.settings.network.request_without_records_max_bytes
        self._counters = {api_key: broker.counters.of(api_key) for api_key in self._handlers}
        self._produce_counters = broker.counters.of(PRODUCE)

    def advertised_versions(self) -> list[tuple[int, int, int]]:
        """List (API key, first version, last version) as ApiVersions tells it."""
        return [
            (key, 0 if key == PRODUCE else handler.min_version, handler.max_version)
            for key, handler in sorted(self._handlers.items())
        ]

    def __call__(
        self, connection: Connection, buffer: bytearray | memoryview, start: int, end: int
    ) -> Reply | Parked | None:
        """Answer the request in `buffer[start:end]`; raise RemoteProtocolError if its bytes are not one."""
        shape = connection.produce_shape
        if shape is not None:
            alike = shape.match(buffer, start, end)
            if alike is not None:
                counters = self._produce_counters
                counters.requests = number = counters.requests + 1
                if number & TIMED_MASK == 1:
                    began = perf_counter()
                    return counters.timed(answer_alike(self._broker, shape, alike, buffer), began)
                return answer_alike(self._broker, shape, alike, buffer)
        api_key, api_version, correlation_id = _KEY_VERSION_CORRELATION.unpack_from(buffer, start)
        handler = self._handlers.get(api_key)
        if handler is None or not handler.min_version <= api_version <= handler.max_version:
            return self._refuse_version(handler, api_key, api_version, correlation_id)
        if end - start > self._bytes_max and api_key != PRODUCE:
            raise RemoteProtocolError(
                f"{end - start} bytes for API key {api_key}; "
                f"request.without.records.max.bytes={self._bytes_max}"
            )
        header = read_request_header(buffer, start, end)
        context = Context(api_key, api_version, correlation_id, header.client_id, connection, start)
        counters = self._counters[api_key]
        counters.requests = number = counters.requests + 1
        if number & TIMED_MASK == 1:
            began = perf_counter()
            answer = self._answer(handler, context, connection, buffer, header.body_start, end)
            return counters.timed(answer, began)
        return self._answer(handler, context, connection, buffer, header.body_start, end)

    def _answer(
        self,
        handler: Handler | RawHandler,
        context: Context,
        connection: Connection,
        buffer: bytearray | memoryview,
        body_start: int,
        end: int,
    ) -> Reply | Parked | None:
        """Answer a request of a version that is served."""
        if isinstance(handler, RawHandler):
            return handler.answer(self._broker, context, buffer, body_start, end)
        request = read_request(context.api_key, context.api_version, buffer, body_start, end)
        answer = handler.answer(self._broker, request, context)
        if inspect.isawaitable(answer):
            return self._answer_later(answer, context, connection)
        if answer is None:
            return None
        return self._written(answer, context)

    def _written(self, answer: Any, context: Context) -> bytes:
        """Write an answer, and count the error that it tells as a whole."""
        error_code = getattr(answer, "error_code", 0)
        if error_code:
            self._counters[context.api_key].note_error(error_code)
        return write_response(context.api_key, context.api_version, context.correlation_id, answer)

    def _answer_later(self, answer: Awaitable[Any], context: Context, connection: Connection) -> Parked:
        parked = Parked(blocking=True)

        async def finish() -> None:
            try:
                reply = self._written(await answer, context)
            except Exception:
                logger.exception(
                    "API %d version %d of %s failed",
                    context.api_key,
                    context.api_version,
                    connection.peer_name,
                )
                connection.close("internal error")
                return
            parked.resolve(reply)

        task = self._broker.start_task(finish())

        def abandon() -> None:
            task.cancel()

        parked.on_abandoned = abandon
        return parked

    def _refuse_version(
        self, handler: Handler | RawHandler | None, api_key: int, api_version: int, correlation_id: int
    ) -> bytes:
        if api_key == API_VERSIONS and handler is not None:
            size = _UNSUPPORTED_API_VERSIONS.size - 4
            return _UNSUPPORTED_API_VERSIONS.pack(
                size,
                correlation_id,
                ErrorCode.UNSUPPORTED_VERSION,
                1,
                API_VERSIONS,
                handler.min_version,
                handler.max_version,
            )
        # Without a common version there is no way to frame an answer: as in Kafka, the connection ends.
        if handler is None:
            raise RemoteProtocolError(f"API key {api_key} (version {api_version}) is not served")
        raise RemoteProtocolError(
            f"API key {api_key} is served in versions {handler.min_version}-{handler.max_version}, "
            f"not {api_version}"
        )
