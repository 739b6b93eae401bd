"""Where a cluster is, and whether anything answers there.

librdkafka keeps trying an address for as long as it is allowed to and tells the reasons only to its
log. A person who mistyped a port wants the reason at once, so `Bootstrap.reach` first opens a plain
TCP connection and names what stood in the way; the connection is closed again unused.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from confluent_kafka import KafkaException

from riverlog.client.refusals import BrokerUnreachable
from riverlog.errors import ConfigError, RiverlogError

DEFAULT_SERVERS = "127.0.0.1:9092"
DEFAULT_PORT = 9092
DEFAULT_TIMEOUT_SECONDS = 10.0
CONNECT_SECONDS_MAX = 3.0
"""How long one address may take to accept a connection before the next one is tried."""

_ACCEPTED = f"HOST:PORT[,HOST:PORT]..., as in {DEFAULT_SERVERS}"

_log = logging.getLogger("riverlog.client.librdkafka")
# Without a handler Python prints warnings to stderr: a library stays silent until it is asked to speak.
_log.addHandler(logging.NullHandler())

_Client = TypeVar("_Client")


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The address list of a cluster, the patience of its user, and librdkafka properties for every client."""

    servers: str = DEFAULT_SERVERS
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    properties: Mapping[str, str] = field(default_factory=dict)

    def addresses(self) -> list[tuple[str, int]]:
        """Split the list into (host, port); raise `ConfigError` where an entry is neither."""
        addresses = [_address(entry.strip()) for entry in self.servers.split(",") if entry.strip()]
        if not addresses:
            raise ConfigError("bootstrap", self.servers, _ACCEPTED)
        return addresses

    def reach(self) -> None:
        """Return once one address accepts a connection; raise `BrokerUnreachable` naming each failure."""
        failures = []
        for host, port in self.addresses():
            try:
                socket.create_connection((host, port), min(CONNECT_SECONDS_MAX, self.timeout_seconds)).close()
            except OSError as error:
                failures.append(f"{_show(host, port)} ({_reason(error)})")
            else:
                return
        raise BrokerUnreachable(
            f"no broker at {', '.join(failures)}: is it running? `riverlog up` starts one here; "
            "--bootstrap or RIVERLOG_BOOTSTRAP names another"
        )

    def connect(self, client: Callable[[dict[str, Any]], _Client], properties: Mapping[str, Any]) -> _Client:
        """Make a librdkafka client that speaks to this cluster, once somebody answers there.

        `properties` are the client's own; those of the user come last. Raises `BrokerUnreachable`, or
        `RiverlogError` naming a property that librdkafka does not take.
        """
        self.reach()
        try:
            return client(
                {
                    "bootstrap.servers": self.servers,
                    "client.id": "riverlog",
                    "socket.connection.setup.timeout.ms": int(CONNECT_SECONDS_MAX * 1000),
                    "reconnect.backoff.max.ms": 1000,
                    "logger": _log,
                    **properties,
                    **self.properties,
                }
            )
        except KafkaException as exception:
            reason = exception.args[0].str()
            raise RiverlogError(f"a property of the client library is not accepted: {reason}") from None


def _address(entry: str) -> tuple[str, int]:
    without_protocol = entry.rpartition("://")[2]
    host, colon, port = without_protocol.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = without_protocol, str(DEFAULT_PORT)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError("bootstrap", entry, _ACCEPTED)
    return host, int(port)


def _show(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, socket.gaierror):
        return "unknown host name"
    return (error.strerror or str(error)).lower()
