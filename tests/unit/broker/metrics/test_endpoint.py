"""`GET /metrics` over a real socket: what is answered, what is refused, and what a rude peer gets."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from riverlog.broker.listening import ListenError
from riverlog.broker.metrics.endpoint import CONNECTIONS_MAX, HEAD_BYTES_MAX, MetricsEndpoint

GET = b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
DEADLINE_SECONDS = 20


@contextlib.asynccontextmanager
async def serving(
    text: Callable[[], Iterator[str]] = lambda: iter(["one 1\n"]), **options: float
) -> AsyncIterator[MetricsEndpoint]:
    endpoint = MetricsEndpoint("127.0.0.1", 0, text, **options)
    await endpoint.start()
    try:
        yield endpoint
    finally:
        await endpoint.stop()


@contextlib.asynccontextmanager
async def connected(endpoint: MetricsEndpoint) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection(*endpoint.address)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def ask(endpoint: MetricsEndpoint, request: bytes = GET) -> tuple[bytes, bytes]:
    """Send a request; give status line and body, joined where it came in chunks."""
    async with connected(endpoint) as (reader, writer):
        writer.write(request)
        answer = await reader.read()
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"chunked" in head:
        body = joined(body)
    return head.partition(b"\r\n")[0], body


def joined(body: bytes) -> bytes:
    chunks = []
    while True:
        size, _, body = body.partition(b"\r\n")
        chunk, body = body[: int(size, 16)], body[int(size, 16) :]
        assert body.startswith(b"\r\n")
        body = body[2:]
        if not chunk:
            assert body == b""
            return b"".join(chunks)
        chunks.append(chunk)


def run(test: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await test

    asyncio.run(bounded())


def test_metrics_are_read_anew_for_each_request() -> None:
    numbers = iter(range(10))

    async def test() -> None:
        async with serving(lambda: iter([f"one {next(numbers)}\n"])) as endpoint:
            assert await ask(endpoint) == (b"HTTP/1.1 200 OK", b"one 0\n")
            assert await ask(endpoint) == (b"HTTP/1.1 200 OK", b"one 1\n")
            assert (await ask(endpoint, GET.replace(b"metrics ", b"metrics?a=b ")))[1] == b"one 2\n"

    run(test())


def test_a_long_answer_comes_in_chunks_and_whole() -> None:
    lines = [f"line {number}\n" for number in range(100_000)]

    async def test() -> None:
        async with serving(lambda: iter(lines)) as endpoint:
            assert (await ask(endpoint))[1] == "".join(lines).encode()
            old = await ask(endpoint, b"GET /metrics HTTP/1.0\r\n\r\n")
            assert old[1] == "".join(lines).encode()

    run(test())


def test_others_are_served_while_metrics_are_read() -> None:
    turns = 0
    done = asyncio.Event()

    def slowly() -> Iterator[str]:
        # Pieces that take longer than a slice together, whatever the machine.
        before = turns
        while turns < before + 3:
            yield ""
        yield "done 1\n"

    async def count_turns() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)

    async def test() -> None:
        counting = asyncio.create_task(count_turns())
        async with serving(slowly) as endpoint:
            assert (await ask(endpoint))[1] == b"done 1\n"
        done.set()
        await counting

    run(test())


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET / HTTP/1.1",
        b"GET /metricsx HTTP/1.1",
        b"POST /metrics HTTP/1.1",
        b"GET /metrics",
        b"\x00\xff\xfe",
        b"",
    ],
)
def test_anything_else_is_not_found(request_line: bytes) -> None:
    async def test() -> None:
        async with serving() as endpoint:
            status, body = await ask(endpoint, request_line + b"\r\n\r\n")
            assert status == b"HTTP/1.1 404 Not Found"
            assert body == b"There is /metrics here, and nothing else.\n"

    run(test())


def test_a_request_that_is_too_large_is_refused() -> None:
    async def test() -> None:
        async with serving() as endpoint, connected(endpoint) as (reader, writer):
            writer.write(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 4 * HEAD_BYTES_MAX)
            with contextlib.suppress(ConnectionError):
                assert (await reader.readline()).startswith((b"HTTP/1.1 431", b""))
            assert await ask(endpoint) == (b"HTTP/1.1 200 OK", b"one 1\n")

    run(test())


def test_a_request_that_does_not_come_ends() -> None:
    async def test() -> None:
        async with serving(request_seconds=0.05) as endpoint, connected(endpoint) as (reader, writer):
            writer.write(b"GET /metrics HTTP/1.1\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 408 Request Timeout\r\n")

    run(test())


def test_a_peer_that_reads_nothing_is_cut() -> None:
    endless = iter(lambda: "x" * 100_000, "")

    async def test() -> None:
        async with (
            serving(lambda: endless, request_seconds=0.1, answer_seconds=0.1) as endpoint,
            connected(endpoint) as (reader, writer),
        ):
            writer.write(GET)
            reader._transport.pause_reading()  # type: ignore[attr-defined]  # a peer that is asleep
            while endpoint._serving or not endpoint._server:
                await asyncio.sleep(0.01)

    run(test())


def test_too_many_at_once_are_closed_and_a_later_one_is_served() -> None:
    async def test() -> None:
        async with serving() as endpoint:
            async with contextlib.AsyncExitStack() as stack:
                for _ in range(CONNECTIONS_MAX):
                    await stack.enter_async_context(connected(endpoint))
                while len(endpoint._serving) < CONNECTIONS_MAX:
                    await asyncio.sleep(0.01)
                reader, _writer = await stack.enter_async_context(connected(endpoint))
                with contextlib.suppress(ConnectionError):
                    assert await reader.read() == b""
            while endpoint._serving:
                await asyncio.sleep(0.01)
            assert await ask(endpoint) == (b"HTTP/1.1 200 OK", b"one 1\n")

    run(test())


def test_a_fault_while_reading_ends_one_answer_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> Iterator[str]:
        yield "one 1\n"
        raise RuntimeError("a fault")

    async def test() -> None:
        async with serving(fail) as endpoint, connected(endpoint) as (reader, writer):
            writer.write(GET)
            with contextlib.suppress(ConnectionError):
                assert not (await reader.read()).endswith(b"0\r\n\r\n")

    with caplog.at_level(logging.ERROR):
        run(test())

    assert "metrics could not be told" in caplog.text


def test_a_stop_does_not_wait_for_peers() -> None:
    async def test() -> None:
        endpoint = MetricsEndpoint("127.0.0.1", 0, lambda: iter(()))
        await endpoint.start()
        async with connected(endpoint) as (reader, _writer):
            while not endpoint._serving:
                await asyncio.sleep(0.01)
            await endpoint.stop()
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        with pytest.raises(ConnectionError):
            await asyncio.open_connection(*endpoint.address)

    run(test())


def test_a_port_that_is_taken_is_named() -> None:
    async def test() -> None:
        async with serving() as endpoint:
            port = endpoint.address[1]
            with pytest.raises(ListenError, match=rf"127\.0\.0\.1:{port} \(metrics\.host, metrics\.port\)"):
                MetricsEndpoint("127.0.0.1", port, lambda: iter(()))

    run(test())


def test_a_port_is_given_back_when_the_start_fails() -> None:
    async def test() -> None:
        endpoint = MetricsEndpoint("127.0.0.1", 0, lambda: iter(()))
        await endpoint.stop()
        again = MetricsEndpoint("127.0.0.1", endpoint.address[1], lambda: iter(()))
        await again.stop()

    run(test())
