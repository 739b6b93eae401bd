"""Named limits cut off what is too large, too slow, too idle or too much, and only that."""

from __future__ import annotations

import contextlib
import resource
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from riverlog.protocol import messages, wire
from tests.hostile.polite_client import PoliteClient
from tests.live_broker import LiveBroker
from tests.process.raw_client import API_VERSIONS, FETCH, METADATA, RawClient

DEADLINE_SECONDS = 20.0
METADATA_OF_ALL = wire.write_request(METADATA, 12, 1, "limits", messages.MetadataRequest(topics=None))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., LiveBroker]]:
    """Start a broker with these settings (names with `_` for `.`)."""
    running: list[LiveBroker] = []

    def started(**settings: object) -> LiveBroker:
        texts = {name.replace("_", "."): str(value) for name, value in settings.items()}
        running.append(LiveBroker(tmp_path / f"data{len(running)}", settings=texts))
        return running[-1]

    yield started
    for broker in running:
        broker.stop()
        assert "Traceback" not in broker.output(10**9), broker.output()


def connect(broker: LiveBroker) -> socket.socket:
    return socket.create_connection(("127.0.0.1", broker.port), DEADLINE_SECONDS)


def is_closed(sock: socket.socket, within: float = DEADLINE_SECONDS) -> bool:
    """Say whether the broker closes the connection within so many seconds; whatever it says is read."""
    sock.settimeout(within)
    try:
        while sock.recv(1 << 20):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def is_served(sock: socket.socket) -> bool:
    """Say whether a metadata request is answered."""
    sock.settimeout(DEADLINE_SECONDS)
    with contextlib.suppress(ConnectionError):
        sock.sendall(METADATA_OF_ALL)
        return bool(sock.recv(4))
    return False


def await_that(condition: Callable[[], bool], claim: str) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < until, f"not within {DEADLINE_SECONDS} s: {claim}"
        time.sleep(0.01)


@pytest.mark.parametrize("size", [2**31 - 1, 1_000_001, 7, 0, -1, -(2**31)])
def test_a_frame_of_impossible_size_ends_the_connection_before_it_arrives(
    start: Callable[..., LiveBroker], size: int
) -> None:
    broker = start(socket_request_max_bytes=1_000_000)

    with connect(broker) as sock, connect(broker) as other:
        sock.sendall(struct.pack(">i", size))

        assert is_closed(sock)
        assert is_served(other)
    await_that(lambda: "socket.request.max.bytes" in broker.output(), "the limit is named in the log")


def test_a_request_that_trickles_in_is_cut_off(start: Callable[..., LiveBroker]) -> None:
    broker = start(request_read_timeout_ms=500)

    with connect(broker) as sock, PoliteClient(broker.bootstrap) as polite:
        began = time.monotonic()
        sock.settimeout(0.05)
        cut_off = False
        for byte in METADATA_OF_ALL + bytes(1000):
            try:
                sock.sendall(bytes([byte]) if byte else b"\0")
                cut_off = not sock.recv(1)
            except TimeoutError:
                continue
            except ConnectionError:
                cut_off = True
            if cut_off:
                break
            # The whole of the request itself came in time; what follows never becomes one.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        polite.wait_for_rounds(5)

    assert cut_off
    assert time.monotonic() - began < DEADLINE_SECONDS
    assert "request.read.timeout.ms" in broker.output()


def test_idle_connections_are_closed_and_a_busy_one_is_not(start: Callable[..., LiveBroker]) -> None:
    broker = start(connections_max_idle_ms=1000)

    with PoliteClient(broker.bootstrap) as polite, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect(broker)) for _ in range(50)]
        assert all(is_served(sock) for sock in idle)

        assert all(is_closed(sock) for sock in idle)
        polite.wait_for_rounds(5)


def test_a_consumer_that_waits_for_records_is_not_idle(start: Callable[..., LiveBroker]) -> None:
    broker = start(connections_max_idle_ms=1000)

    with RawClient(broker.bootstrap) as client:
        client.create_topic("quiet")
        client.send_fetch({("quiet", 0): 0}, max_wait_ms=4000)

        assert client.receive_fetched()["quiet", 0].error_code == 0


def test_a_client_that_never_reads_its_replies_is_cut_off_as_idle(start: Callable[..., LiveBroker]) -> None:
    broker = start(connections_max_idle_ms=1000)
    with RawClient(broker.bootstrap) as client:
        for number in range(300):
            client.create_topic(f"a-topic-with-quite-a-long-name-so-that-replies-grow-{number}")

    with connect(broker) as sock:
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                sock.send(METADATA_OF_ALL)
        await_that(lambda: "idle" in broker.output() or _is_reset(sock), "the silent reader is cut off")


def _is_reset(sock: socket.socket) -> bool:
    return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


def test_thousands_of_idle_connections_cost_little_and_disturb_nobody(
    start: Callable[..., LiveBroker],
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(3000, hard - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 500), hard))
    broker = start()

    with PoliteClient(broker.bootstrap) as polite, contextlib.ExitStack() as stack:
        polite.wait_for_rounds(5)
        before = broker.memory()
        idle = [stack.enter_context(connect(broker)) for _ in range(count)]
        assert is_served(idle[-1])
        for sock in idle:
            sock.sendall(METADATA_OF_ALL[:7])  # each has begun a request
        polite.wait_for_rounds(5)
        each = (broker.memory() - before) / count

    print(
        f"{count} connections take {each / 1024:.1f} KiB each, slowest round {polite.longest * 1000:.0f} ms"
    )
    assert each < 64 * 1024


def test_beyond_max_connections_one_waits_until_another_leaves(start: Callable[..., LiveBroker]) -> None:
    broker = start(max_connections=3)

    with contextlib.ExitStack() as stack:
        first, *others = [stack.enter_context(connect(broker)) for _ in range(3)]
        assert all(is_served(sock) for sock in (first, *others))
        late = stack.enter_context(connect(broker))
        late.sendall(METADATA_OF_ALL)
        assert all(is_served(sock) for sock in others)
        assert not is_closed(late, within=1.5)
        first.close()

        late.settimeout(DEADLINE_SECONDS)
        assert late.recv(4)
    assert "max.connections=3" in broker.output()


def test_beyond_max_connections_per_ip_a_connection_is_closed_at_once(
    start: Callable[..., LiveBroker],
) -> None:
    broker = start(max_connections_per_ip=2, max_connections_per_ip_overrides="127.0.0.1:3")

    with contextlib.ExitStack() as stack:
        within = [stack.enter_context(connect(broker)) for _ in range(3)]
        assert all(is_served(sock) for sock in within)
        beyond = stack.enter_context(connect(broker))
        assert is_closed(beyond)
        within.pop().close()
        await_that(lambda: _is_taken_in(broker), "the place that became free is given away")
        assert all(is_served(sock) for sock in within)
    assert "max.connections.per.ip=3" in broker.output()


def _is_taken_in(broker: LiveBroker) -> bool:
    with connect(broker) as sock:
        return is_served(sock)


def test_a_client_that_never_reads_takes_no_memory_and_disturbs_nobody(
    start: Callable[..., LiveBroker],
) -> None:
    broker = start()
    with RawClient(broker.bootstrap) as client:
        for number in range(500):
            client.create_topic(f"a-topic-with-quite-a-long-name-so-that-replies-grow-{number}")
    fetch = messages.FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=50 << 20,
        topics=[
            messages.FetchRequestFetchTopic(
                topic="polite",
                partitions=[messages.FetchRequestFetchPartition(partition=0, partition_max_bytes=50 << 20)],
            )
        ],
    )
    requests = METADATA_OF_ALL + wire.write_request(FETCH, 12, 2, "limits", fetch)

    with PoliteClient(broker.bootstrap) as polite, contextlib.ExitStack() as stack:
        polite.wait_for_rounds(20)
        before = broker.memory()
        for _ in range(20):
            sock = stack.enter_context(connect(broker))
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(20_000):
                    sock.send(requests * 10)
        polite.wait_for_rounds(50)
        growth = broker.memory() - before

    print(
        f"20 connections that never read: +{growth >> 20} MiB, slowest round {polite.longest * 1000:.0f} ms"
    )
    assert growth < 100 << 20


def test_a_flood_of_costly_requests_on_one_connection_leaves_turns_to_the_others(
    start: Callable[..., LiveBroker],
) -> None:
    broker = start()
    with RawClient(broker.bootstrap) as client:
        for number in range(500):
            client.create_topic(f"topic-{number}")
    flood = METADATA_OF_ALL * 5000

    with PoliteClient(broker.bootstrap) as polite, connect(broker) as sock:
        polite.wait_for_rounds(5)
        polite.longest = 0.0
        sock.sendall(flood[: 200 * 1024])
        read = 0
        for _ in range(100):
            read += len(sock.recv(1 << 20))
        polite.wait_for_rounds(20)

    print(f"{read >> 20} MiB of replies read, slowest round beside it {polite.longest * 1000:.0f} ms")
    assert polite.longest < DEADLINE_SECONDS / 2


def test_every_api_version_out_of_range_ends_the_connection_but_for_api_versions(
    start: Callable[..., LiveBroker],
) -> None:
    broker = start()

    with connect(broker) as sock:
        sock.sendall(struct.pack(">ihhih", 10, METADATA, 999, 7, -1))
        assert is_closed(sock)
    with connect(broker) as sock:
        sock.sendall(struct.pack(">ihhih", 10, API_VERSIONS, 999, 7, -1))
        size, correlation_id, error_code = struct.unpack(">iih", sock.recv(10))

    assert (correlation_id, error_code) == (7, 35)
    assert size > 6
