"""Where a cluster is: addresses, and what is said when nobody answers there."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from riverlog.client.bootstrap import Bootstrap
from riverlog.client.refusals import BrokerUnreachable
from riverlog.errors import ConfigError, RiverlogError


@pytest.fixture
def listening() -> Iterator[str]:
    """An address where somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def deserted() -> Iterator[str]:
    """An address that is taken, so nobody else can listen there, and refuses connections."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{unused.getsockname()[1]}"


@pytest.mark.parametrize(
    ("servers", "addresses"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        ("a:1,b:2", [("a", 1), ("b", 2)]),
        (" a:1 , b:2 ,", [("a", 1), ("b", 2)]),
        ("broker", [("broker", 9092)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[::1]", [("::1", 9092)]),
        ("SASL_SSL://broker.example:9093", [("broker.example", 9093)]),
    ],
)
def test_addresses_are_read_as_librdkafka_reads_them(servers: str, addresses: list[tuple[str, int]]) -> None:
    assert Bootstrap(servers).addresses() == addresses


@pytest.mark.parametrize(
    "servers", ["", ",", "host:", "host:port", ":9092", "host:0", "host:65536", "host:9²"]
)
def test_what_is_no_address_is_refused_with_the_accepted_form(servers: str) -> None:
    with pytest.raises(ConfigError, match=r"bootstrap=.* expected HOST:PORT"):
        Bootstrap(servers).addresses()


def test_a_refused_connection_is_named_with_what_to_do(deserted: str) -> None:
    with pytest.raises(BrokerUnreachable) as caught:
        Bootstrap(deserted).reach()

    assert f"no broker at {deserted} (connection refused)" in str(caught.value)
    assert "riverlog up" in str(caught.value)
    assert "RIVERLOG_BOOTSTRAP" in str(caught.value)


def test_each_address_that_failed_is_named(deserted: str) -> None:
    with pytest.raises(BrokerUnreachable, match=r"host\.invalid:1 \(unknown host name\), 127\.0\.0\.1:"):
        Bootstrap(f"host.invalid:1,{deserted}").reach()


def test_one_address_that_answers_is_enough(deserted: str, listening: str) -> None:
    Bootstrap(f"{deserted},{listening}").reach()


def test_a_users_properties_win_over_the_clients_own(listening: str) -> None:
    bootstrap = Bootstrap(listening, properties={"client.id": "mine"})

    properties: dict[str, Any] = bootstrap.connect(dict, {"client.id": "own", "linger.ms": 5})

    assert properties["client.id"] == "mine"
    assert properties["linger.ms"] == 5
    assert properties["bootstrap.servers"] == listening


def test_a_property_that_librdkafka_does_not_know_is_named(listening: str) -> None:
    from confluent_kafka import Producer

    bootstrap = Bootstrap(listening, properties={"linger.mz": "5"})

    with pytest.raises(RiverlogError, match=r"property of the client library .*linger\.mz"):
        bootstrap.connect(Producer, {})
