"""What commands say when no broker answers: one clear line, and soon."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from tests.process.command import Riverlog

COMMANDS = [
    ["topics", "list"],
    ["topics", "create", "t"],
    ["produce", "t"],
    ["consume", "t"],
    ["consume", "t", "--group", "g"],
    ["offsets", "t"],
    ["config", "describe", "--topic", "t"],
]


@pytest.fixture
def deserted() -> Iterator[str]:
    """An address that is taken, so nobody else can listen there, and refuses connections."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{unused.getsockname()[1]}"


@pytest.fixture
def mute() -> Iterator[str]:
    """An address where connections are accepted and nothing is ever answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def babbling() -> Iterator[str]:
    """An address where something else than Kafka answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def babble() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=babble, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_refused_connection_is_one_line(deserted: str, command: list[str]) -> None:
    refused = Riverlog(deserted)(*command, expect=1)

    assert refused.err == (
        f"riverlog: no broker at {deserted} (connection refused): is it running? "
        "`riverlog up` starts one here; --bootstrap or RIVERLOG_BOOTSTRAP names another\n"
    )


@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[1], COMMANDS[3], COMMANDS[4]], ids=" ".join)
def test_silence_ends_with_the_time_out_and_one_line(mute: str, command: list[str]) -> None:
    refused = Riverlog(mute)(*command, "--timeout", "1", expect=1)

    assert refused.err.startswith("riverlog: no usable answer while ")
    assert refused.err.count("\n") == 1


def test_records_that_nobody_acknowledges_are_counted(mute: str) -> None:
    failed = Riverlog(mute)("produce", "t", "--delivery-timeout", "1", stdin=b"a\nb\n", expect=1)

    assert "riverlog: 2 records for topic 't' not delivered: " in failed.err
    assert "0 records delivered to topic 't'" in failed.err


def test_something_else_than_kafka_is_one_line(babbling: str) -> None:
    refused = Riverlog(babbling)("topics", "list", "--timeout", "1", expect=1)

    assert refused.err.startswith("riverlog: no usable answer while listing topics: ")
    assert refused.err.count("\n") == 1


def test_what_is_no_address_is_wrong_usage() -> None:
    refused = Riverlog("localhost:port")("topics", "list", expect=2)

    assert refused.err.startswith("riverlog: bootstrap='localhost:port' is not accepted: expected HOST:PORT")


def test_an_unknown_property_of_the_client_library_is_named(riverlog: Riverlog) -> None:
    refused = riverlog("topics", "list", "-X", "linger.mz=5", expect=1)

    assert "a property of the client library is not accepted" in refused.err
    assert "linger.mz" in refused.err
