"""A broker that answers as a test says: over a real socket, from the protocol's own codecs.

with ScriptedBroker() as broker:
    broker.answers[FETCH] = lambda request: FetchResponse(...)     None: hang up; bytes: sent as they are
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from riverlog.protocol import messages
from riverlog.protocol.headers import read_request_header
from riverlog.protocol.wire import read_request, write_response

FETCH, LIST_OFFSETS, METADATA, API_VERSIONS = 1, 2, 3, 18
SPOKEN = {FETCH: (4, 18), LIST_OFFSETS: (1, 11), METADATA: (0, 13), API_VERSIONS: (0, 4)}
WAIT_SECONDS_MAX = 30.0


class ScriptedBroker:
    """Listens on a free port; leads every partition of `orders` unless told otherwise."""

    def __init__(self, node_id: int = 1) -> None:
        self.node_id = node_id
        self.seen: list[Any] = []
        self.connections = 0
        self.spoken = dict(SPOKEN)
        self.brokers: list[ScriptedBroker] = [self]
        self.leaders = {0: node_id}
        self.answers: dict[int, Callable[[Any], Any]] = {
            API_VERSIONS: self._api_versions,
            METADATA: self._metadata,
        }
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def asked(self, kind: type) -> list[Any]:
        """The requests of one kind, in their order."""
        return [request for request in self.seen if isinstance(request, kind)]

    def __enter__(self) -> ScriptedBroker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and hang up."""
        for each in [self._listener, *self._open]:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it ended before
            each.close()
        for thread in self._threads:
            thread.join(WAIT_SECONDS_MAX)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                for frame in _frames(connection):
                    header = read_request_header(frame, 0, len(frame))
                    key, version = header.api_key, header.api_version
                    request = read_request(key, version, frame, header.body_start, len(frame))
                    self.seen.append(request)
                    answer = self.answers[key](request)
                    if answer is None:
                        return
                    if not isinstance(answer, bytes):
                        answer = write_response(key, version, header.correlation_id, answer)
                    connection.sendall(answer)
        except OSError:
            pass  # the client went away

    def _api_versions(self, _: Any) -> messages.ApiVersionsResponse:
        keys = [
            messages.ApiVersion(api_key=key, min_version=first, max_version=last)
            for key, (first, last) in self.spoken.items()
        ]
        return messages.ApiVersionsResponse(api_keys=keys)

    def _metadata(self, request: messages.MetadataRequest) -> messages.MetadataResponse:
        brokers = [
            messages.MetadataResponseBroker(node_id=each.node_id, host="127.0.0.1", port=each.port)
            for each in self.brokers
        ]
        assert request.topics is not None
        topics = [
            messages.MetadataResponseTopic(
                name=topic.name,
                partitions=[
                    messages.MetadataResponsePartition(partition_index=index, leader_id=leader)
                    for index, leader in self.leaders.items()
                ],
            )
            for topic in request.topics
        ]
        return messages.MetadataResponse(brokers=brokers, topics=topics)


def _frames(connection: socket.socket) -> Iterator[bytes]:
    while True:
        size = _exactly(connection, 4)
        if not size:
            return
        yield _exactly(connection, struct.unpack(">i", size)[0])


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            return b""
        data += more
    return data


def fetch_answer(
    records: bytes | bytearray = b"",
    *,
    error: int = 0,
    aborted: list[tuple[int, int]] | None = None,
    partition: int = 0,
) -> messages.FetchResponse:
    """An answer about one partition of `orders`; `aborted` are (first offset, producer id)."""
    listed = [
        messages.AbortedTransaction(first_offset=first, producer_id=producer)
        for first, producer in aborted or ()
    ]
    answer = messages.FetchResponsePartitionData(
        partition_index=partition,
        error_code=error,
        aborted_transactions=listed,
        records=bytes(records),
    )
    return messages.FetchResponse(
        responses=[messages.FetchableTopicResponse(topic="orders", partitions=[answer])]
    )


def offset_answer(offset: int, *, error: int = 0, partition: int = 0) -> messages.ListOffsetsResponse:
    """An answer about one partition of `orders`."""
    answer = messages.ListOffsetsPartitionResponse(partition_index=partition, error_code=error, offset=offset)
    return messages.ListOffsetsResponse(
        topics=[messages.ListOffsetsTopicResponse(name="orders", partitions=[answer])]
    )


def log_of(
    batches: dict[int, bytes | bytearray],
) -> Callable[[messages.FetchRequest], messages.FetchResponse]:
    """Answer fetches from batches by their base offset, one batch at a time; 1 beyond the last of them."""

    def answer(request: messages.FetchRequest) -> messages.FetchResponse:
        asked = request.topics[0].partitions[0].fetch_offset
        begun = [base for base in batches if base <= asked]
        if not begun:
            return fetch_answer(error=1)
        return fetch_answer(batches[max(begun)])

    return answer


@contextmanager
def two_brokers() -> Iterator[tuple[ScriptedBroker, ScriptedBroker]]:
    """Two brokers that know each other."""
    with ScriptedBroker(1) as one, ScriptedBroker(2) as two:
        one.brokers = two.brokers = [one, two]
        yield one, two
