"""Requests that librdkafka cannot send, over connections of our own: to each broker of a cluster by its role.

Operators look into transactions with requests that only Java's clients know. These are sent here as plain
as can be: one request at a time, no retries, no TLS and no passwords. A cluster that expects those is told
apart before anything is sent.
"""

from __future__ import annotations

import itertools
import socket
import struct
from collections.abc import Iterator
from typing import Any

from riverlog.cli.arguments import Connection
from riverlog.client.bootstrap import Bootstrap
from riverlog.client.refusals import BrokerUnreachable
from riverlog.errors import ProtocolError, RequestRefused, RiverlogError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.versions import APIS
from riverlog.protocol.wire import read_response, write_request

API_VERSIONS, METADATA, FIND_COORDINATOR = 18, 3, 10
DESCRIBE_PRODUCERS, WRITE_TXN_MARKERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS = 61, 27, 65, 66

TRANSACTION_KEY = 1
FIRST_FIND_COORDINATOR_WITH_MANY = 4
FIRST_METADATA_WITHOUT_CREATION = 4

REPLY_BYTES_MAX = 64 << 20

_SIZE = struct.Struct(">i")

Address = tuple[str, int]


class PlainCluster:
    """A cluster's brokers, each asked on one connection. Raises `RiverlogError`s."""

    def __init__(self, given: Connection) -> None:
        protocol = given["properties"].get("security.protocol", "plaintext")
        if protocol.lower() != "plaintext":
            raise RiverlogError(f"this command speaks to brokers in plain text only, not with {protocol}")
        self._bootstrap = Bootstrap(given["servers"], given["timeout_seconds"])
        self._timeout = given["timeout_seconds"]
        self._sockets: dict[Address, socket.socket] = {}
        self._versions: dict[Address, dict[int, int]] = {}
        self._numbers = itertools.count(1)
        self._brokers: dict[int, Address] = {}

    def __enter__(self) -> PlainCluster:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets.values():
            each.close()

    # Who is asked

    def brokers(self) -> list[Address]:
        """Give the address of every broker."""
        self._metadata(messages.MetadataRequest(topics=[], allow_auto_topic_creation=False))
        return list(self._brokers.values())

    def leader_of(self, topic: str, partition: int) -> Address:
        """Give the address of a partition's leader."""
        request = messages.MetadataRequest(
            topics=[messages.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        )
        (told,) = self._metadata(request).topics
        refuse(told.error_code, f"looking for topic {topic!r}")
        for each in told.partitions:
            if each.partition_index == partition and each.leader_id in self._brokers:
                return self._brokers[each.leader_id]
        raise RiverlogError(f"partition {topic}-{partition} does not exist, or has no leader")

    def partitions_of(self, topic: str) -> list[int]:
        """List a topic's partitions."""
        request = messages.MetadataRequest(
            topics=[messages.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        )
        (told,) = self._metadata(request).topics
        refuse(told.error_code, f"looking for topic {topic!r}")
        return sorted(each.partition_index for each in told.partitions)

    def coordinator_of(self, transactional_id: str) -> Address:
        """Give the address of a transactional id's coordinator."""
        request = messages.FindCoordinatorRequest(
            key=transactional_id, coordinator_keys=[transactional_id], key_type=TRANSACTION_KEY
        )
        address = self._entrance()
        reply, version = self._call(address, FIND_COORDINATOR, request)
        found = reply.coordinators[0] if version >= FIRST_FIND_COORDINATOR_WITH_MANY else reply
        refuse(found.error_code, f"looking for the coordinator of {transactional_id!r}")
        return found.host, found.port

    def _metadata(self, request: messages.MetadataRequest) -> messages.MetadataResponse:
        reply: messages.MetadataResponse
        reply, _ = self._call(self._entrance(), METADATA, request)
        self._brokers = {each.node_id: (each.host, each.port) for each in reply.brokers}
        return reply

    def _entrance(self) -> Address:
        if self._sockets:
            return next(iter(self._sockets))
        self._bootstrap.reach()
        for address in self._bootstrap.addresses():
            try:
                self._connect(address)
            except BrokerUnreachable:
                continue
            return address
        raise BrokerUnreachable(f"no broker at {self._bootstrap.servers} answers")

    # Asking

    def ask(self, address: Address, api_key: int, request: Any) -> Any:
        """Send a request in the newest version that both sides know; give the reply."""
        reply, _ = self._call(address, api_key, request)
        return reply

    def _call(self, address: Address, api_key: int, request: Any) -> tuple[Any, int]:
        if address not in self._sockets:
            self._connect(address)
        api = APIS[api_key]
        version = min(api.max_version, self._versions[address].get(api_key, -1))
        if version < api.min_version:
            raise RiverlogError(f"the broker at {address[0]}:{address[1]} does not serve {api.name}")
        return self._exchange(address, api_key, version, request), version

    def _connect(self, address: Address) -> None:
        try:
            self._sockets[address] = socket.create_connection(address, self._timeout)
        except OSError as error:
            raise BrokerUnreachable(f"no broker at {address[0]}:{address[1]}: {error}") from None
        reply = self._exchange(address, API_VERSIONS, 0, messages.ApiVersionsRequest())
        self._versions[address] = {each.api_key: each.max_version for each in reply.api_keys}

    def _exchange(self, address: Address, api_key: int, version: int, request: Any) -> Any:
        connection = self._sockets[address]
        number = next(self._numbers)
        try:
            connection.sendall(write_request(api_key, version, number, "riverlog", request))
            (size,) = _SIZE.unpack(b"".join(_receive(connection, _SIZE.size)))
            if not 0 < size <= REPLY_BYTES_MAX:
                raise RiverlogError(f"{address[0]}:{address[1]} does not speak Kafka's protocol")
            frame = b"".join(_receive(connection, size))
            answered, reply = read_response(api_key, version, frame, 0, len(frame))
        except OSError as error:
            raise BrokerUnreachable(
                f"no usable answer from {address[0]}:{address[1]}: {error}. Does it expect TLS or a password?"
            ) from None
        except ProtocolError as error:
            raise RiverlogError(
                f"{address[0]}:{address[1]} does not speak Kafka's protocol: {error}"
            ) from None
        if answered != number:
            raise RiverlogError(f"{address[0]}:{address[1]} answered another request")
        return reply


def refuse(error_code: int, doing: str) -> None:
    """Raise what a broker answered, unless that is no error."""
    if error_code:
        code = ErrorCode(error_code)
        raise RequestRefused(error_code, f"{doing} failed: {code.text} ({code.name})")


def _receive(connection: socket.socket, size: int) -> Iterator[bytes]:
    while size:
        piece = connection.recv(min(size, 1 << 20))
        if not piece:
            raise ConnectionError("the broker closed the connection")
        size -= len(piece)
        yield piece
