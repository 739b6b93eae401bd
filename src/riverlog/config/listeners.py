"""Listeners: the addresses a broker opens, and those it tells clients to use.

    PLAINTEXT://127.0.0.1:9092,INTERNAL://[::1]:9093
    \\_name__/   \\_ host _/ \\port/

An empty host means every interface. Port 0 asks the system for a free port. The name is either a
security protocol itself or one that `listener.security.protocol.map` maps to a protocol.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from riverlog.config.kinds import ConfigType, Kind, ListKind, split_list

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_PROTOCOL_MAP = tuple((name, name) for name in ("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"))
LOCALHOST = "127.0.0.1"
EVERY_INTERFACE = ("", "0.0.0.0", "::")

_ADDRESS = re.compile(
    r"(?P<name>[A-Za-z0-9_]+)://(\[(?P<ipv6>[0-9A-Fa-f:.%]+)\]|(?P<host>[^\[\]:/,\s]*)):(?P<port>[0-9]{1,5})"
)


class Listener(NamedTuple):
    """One address with the name of its listener."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


class Listeners(ListKind[tuple[Listener, ...]]):
    """A list of addresses, each with its own name."""

    accepted = "NAME://HOST:PORT, several separated by commas, each name once"

    def parse(self, text: str) -> tuple[Listener, ...]:
        listeners = tuple(_parse_listener(item) for item in split_list(text))
        if not listeners or len({listener.name for listener in listeners}) < len(listeners):
            raise ValueError(text)
        return listeners

    def format(self, value: Sequence[Listener]) -> str:
        return ",".join(str(listener) for listener in value)


class ProtocolMap(Kind[tuple[tuple[str, str], ...]]):
    """`NAME:PROTOCOL,...`: the security protocol of each listener name."""

    type = ConfigType.STRING
    accepted = f"a list of NAME:PROTOCOL, separated by commas, with protocols {', '.join(SECURITY_PROTOCOLS)}"

    def parse(self, text: str) -> tuple[tuple[str, str], ...]:
        protocols: dict[str, str] = {}
        for item in split_list(text):
            name, colon, protocol = (part.strip().upper() for part in item.partition(":"))
            if not colon or not name or protocol not in SECURITY_PROTOCOLS or name in protocols:
                raise ValueError(text)
            protocols[name] = protocol
        return tuple(protocols.items())

    def format(self, value: Sequence[tuple[str, str]]) -> str:
        return ",".join(f"{name}:{protocol}" for name, protocol in value)


def listener_on_localhost(port: int) -> tuple[Listener, ...]:
    """Give the single plain listener that the short form `port` stands for."""
    return (Listener("PLAINTEXT", LOCALHOST, port),)


def advertised_listeners(
    listeners: Sequence[Listener],
    advertised: Sequence[Listener] | None,
    bound_ports: Mapping[str, int],
    host_name: str,
) -> tuple[Listener, ...]:
    """Say which addresses clients are told, one for each listener that is open.

    `bound_ports` has the port that was really opened for each listener name; it stands in for port 0.
    `host_name` stands in for a listener on every interface, which is no address to connect to. A
    listener that `advertised` leaves out is told as it is.
    """
    told = {listener.name: listener for listener in advertised or ()}
    addresses = []
    for listener in listeners:
        address = told.get(listener.name, listener)
        host = host_name if address.host in EVERY_INTERFACE else address.host
        addresses.append(Listener(listener.name, host, address.port or bound_ports[listener.name]))
    return tuple(addresses)


def security_protocol_of(listener_name: str, protocol_map: Sequence[tuple[str, str]]) -> str | None:
    """Say which security protocol a listener speaks; None when its name is mapped to none."""
    protocols: Mapping[str, str] = dict(protocol_map)
    return protocols.get(listener_name)


def _parse_listener(text: str) -> Listener:
    match = _ADDRESS.fullmatch(text)
    if not match or int(match["port"]) > 65535:
        raise ValueError(text)
    return Listener(match["name"].upper(), match["ipv6"] or match["host"], int(match["port"]))
