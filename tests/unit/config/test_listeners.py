"""Addresses to listen on and addresses to tell."""

from __future__ import annotations

import pytest

from riverlog.config.listeners import (
    Listener,
    Listeners,
    ProtocolMap,
    advertised_listeners,
    listener_on_localhost,
    security_protocol_of,
)
from tests.unit.config.texts import is_accepted


@pytest.mark.parametrize(
    ("text", "listeners"),
    [
        ("PLAINTEXT://127.0.0.1:9092", (Listener("PLAINTEXT", "127.0.0.1", 9092),)),
        ("PLAINTEXT://:0", (Listener("PLAINTEXT", "", 0),)),
        ("plaintext://host.example:1", (Listener("PLAINTEXT", "host.example", 1),)),
        ("A://[::1]:1, B_2://0.0.0.0:65535", (Listener("A", "::1", 1), Listener("B_2", "0.0.0.0", 65535))),
    ],
)
def test_listeners_are_read(text: str, listeners: tuple[Listener, ...]) -> None:
    assert Listeners().parse(text) == listeners


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9092",
        "127.0.0.1:9092",
        "PLAINTEXT://127.0.0.1",
        "PLAINTEXT://127.0.0.1:65536",
        "PLAINTEXT://::1:9092",
        "PLAINTEXT://h:1,PLAINTEXT://h:2",
        "PLAIN TEXT://h:1",
        "PLAINTEXT://h:1/path",
        "PLAINTEXT://[h]:1x",
    ],
)
def test_what_is_no_list_of_listeners_is_refused(text: str) -> None:
    assert not is_accepted(Listeners(), text)


def test_listeners_are_written_as_they_are_read() -> None:
    text = "A://[::1]:1,B://host:2,C://:3"

    assert Listeners().format(Listeners().parse(text)) == text


def test_a_protocol_map_is_read_and_written() -> None:
    protocols = ProtocolMap().parse("inside:plaintext, OUT:SASL_SSL")

    assert protocols == (("INSIDE", "PLAINTEXT"), ("OUT", "SASL_SSL"))
    assert ProtocolMap().format(protocols) == "INSIDE:PLAINTEXT,OUT:SASL_SSL"
    assert security_protocol_of("OUT", protocols) == "SASL_SSL"
    assert security_protocol_of("ELSE", protocols) is None


@pytest.mark.parametrize("text", ["A", "A:", ":PLAINTEXT", "A:TCP", "A:SSL,A:PLAINTEXT"])
def test_what_is_no_protocol_map_is_refused(text: str) -> None:
    assert not is_accepted(ProtocolMap(), text)


def test_a_bare_port_listens_on_localhost_alone() -> None:
    assert [str(listener) for listener in listener_on_localhost(9)] == ["PLAINTEXT://127.0.0.1:9"]


def test_clients_are_told_the_port_that_was_really_opened() -> None:
    listeners = (Listener("A", "127.0.0.1", 0), Listener("B", "127.0.0.1", 5))

    told = advertised_listeners(listeners, None, {"A": 40001, "B": 5}, "box")

    assert told == (Listener("A", "127.0.0.1", 40001), Listener("B", "127.0.0.1", 5))


@pytest.mark.parametrize("everywhere", ["", "0.0.0.0", "::"])
def test_a_listener_on_every_interface_is_told_by_the_name_of_the_host(everywhere: str) -> None:
    told = advertised_listeners((Listener("A", everywhere, 1),), None, {"A": 1}, "box")

    assert told == (Listener("A", "box", 1),)


def test_an_advertised_address_replaces_the_one_that_is_opened() -> None:
    listeners = (Listener("A", "", 1), Listener("B", "10.0.0.1", 2))

    told = advertised_listeners(listeners, (Listener("A", "public", 443),), {"A": 1, "B": 2}, "box")

    assert told == (Listener("A", "public", 443), Listener("B", "10.0.0.1", 2))
