"""The connection over a real socket pair: framing, order of replies, back-pressure, limits."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from riverlog.broker import connection as connection_module
from riverlog.broker.connection import BACKLOG_BYTES_MAX, Connection
from riverlog.broker.handler import Parked
from riverlog.broker.metrics.counters import Traffic
from riverlog.broker.request_memory import RequestMemory
from riverlog.errors import RemoteProtocolError

LIMIT = 1_000_000
DEADLINE = 5.0


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


class Bench:
    """A connection whose far end is in the test's hands, and a dispatch that the test decides."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.far.settimeout(DEADLINE)
        self.memory = RequestMemory(limit_bytes=4 * LIMIT)
        self.traffic = Traffic()
        self.seen: list[bytes] = []
        self.answer: Callable[[bytes], Any] = lambda body: frame(b"re:" + body)
        self.closed: list[Connection] = []
        self.sending: asyncio.Task[None] | None = None
        self.connection = Connection(
            self.near,
            loop=self.loop,
            dispatch=self._dispatch,
            memory=self.memory,
            request_bytes_max=LIMIT,
            listener_name="PLAINTEXT",
            peer_name="127.0.0.1:5",
            on_closed=self.closed.append,
            traffic=self.traffic,
        )

    def _dispatch(self, _connection: Connection, buffer: Any, start: int, end: int) -> Any:
        body = bytes(buffer[start:end])
        self.seen.append(body)
        return self.answer(body)

    def run_until(self, condition: Callable[[], bool]) -> None:
        async def wait() -> None:
            async with asyncio.timeout(DEADLINE):
                while not condition():
                    await asyncio.sleep(0)

        self.loop.run_until_complete(wait())

    def settle(self) -> None:
        """Let the loop look at everything that is ready."""

        async def turns() -> None:
            for _ in range(20):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turns())

    def received(self, size: int) -> bytes:
        """Run the loop until the far end holds `size` bytes, or the end of the stream, and take them."""
        self.far.setblocking(False)
        data = bytearray()

        async def wait() -> None:
            async with asyncio.timeout(DEADLINE):
                while len(data) < size:
                    try:
                        piece = self.far.recv(size - len(data))
                    except BlockingIOError:
                        await asyncio.sleep(0)
                        continue
                    if not piece:
                        return
                    data.extend(piece)

        self.loop.run_until_complete(wait())
        return bytes(data)

    def far_end(self) -> bytes:
        """Run the loop until the far end sees that nothing follows."""
        return self.received(1)

    def close(self) -> None:
        self.connection.close("the test is over")
        self.far.close()
        self.loop.close()


def send_in_the_background(bench: Bench, stream: bytes) -> None:
    """Let the far end send as fast as the connection reads."""
    bench.far.setblocking(False)
    bench.sending = bench.loop.create_task(bench.loop.sock_sendall(bench.far, stream))


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def test_requests_in_one_packet_are_answered_in_order(bench: Bench) -> None:
    bench.far.sendall(frame(b"request1") + frame(b"request2") + frame(b"request3"))

    replies = bench.received(3 * (4 + 3 + 8))

    assert replies == frame(b"re:request1") + frame(b"re:request2") + frame(b"re:request3")
    assert (bench.traffic.received_bytes, bench.traffic.sent_bytes) == (3 * 12, len(replies))


@pytest.mark.parametrize("piece", [1, 3, 5, 11])
def test_a_request_may_arrive_in_pieces_of_any_size(bench: Bench, piece: int) -> None:
    stream = frame(b"request1") + frame(b"request2")

    for at in range(0, len(stream), piece):
        bench.far.sendall(stream[at : at + piece])
        bench.settle()

    assert bench.received(2 * 15) == frame(b"re:request1") + frame(b"re:request2")
    assert bench.memory.taken_bytes == 0


def test_a_request_larger_than_the_scratch_buffer_arrives_whole(bench: Bench) -> None:
    body = os.urandom(900_000)
    bench.answer = lambda body: frame(b"%08d" % len(body))

    bench.far.setblocking(False)
    stream = memoryview(frame(body))
    while stream:
        try:
            stream = stream[bench.far.send(stream) :]
        except BlockingIOError:
            bench.settle()

    assert bench.received(12) == frame(b"00900000")
    assert bench.seen == [body]
    assert bench.memory.taken_bytes == 0


def test_a_parked_reply_keeps_its_place_before_later_ones(bench: Bench) -> None:
    parked = Parked(blocking=False)
    bench.answer = lambda body: parked if body == b"request1" else frame(b"re:" + body)

    bench.far.sendall(frame(b"request1") + frame(b"request2"))
    bench.run_until(lambda: len(bench.seen) == 2)
    parked.resolve(frame(b"late"))

    assert bench.received(8 + 15) == frame(b"late") + frame(b"re:request2")


def test_a_blocking_request_holds_back_the_next_until_it_is_answered(bench: Bench) -> None:
    parked = Parked(blocking=True)
    bench.answer = lambda body: parked if body == b"request1" else frame(b"re:" + body)
    bench.far.sendall(frame(b"request1") + frame(b"request2"))
    bench.run_until(lambda: len(bench.seen) == 1)

    bench.far.sendall(frame(b"request3"))
    bench.settle()
    seen_while_parked = list(bench.seen)
    parked.resolve(frame(b"late"))
    replies = bench.received(8 + 15 + 15)

    assert seen_while_parked == [b"request1"]
    assert replies == frame(b"late") + frame(b"re:request2") + frame(b"re:request3")


def test_a_request_that_wants_no_reply_gets_none_and_later_replies_flow(bench: Bench) -> None:
    bench.answer = lambda body: None if body == b"request1" else frame(b"re:" + body)

    bench.far.sendall(frame(b"request1") + frame(b"request2"))

    assert bench.received(15) == frame(b"re:request2")


def test_a_parked_request_without_reply_is_skipped_in_the_order(bench: Bench) -> None:
    parked = Parked(blocking=False)
    bench.answer = lambda body: parked if body == b"request1" else frame(b"re:" + body)
    bench.far.sendall(frame(b"request1") + frame(b"request2"))
    bench.run_until(lambda: len(bench.seen) == 2)

    parked.resolve(None)

    assert bench.received(15) == frame(b"re:request2")


@pytest.mark.parametrize("size", [-1, 0, 7, LIMIT + 1, 2**31 - 1, -(2**31)])
def test_a_size_outside_the_limits_closes_the_connection_without_memory(bench: Bench, size: int) -> None:
    bench.far.sendall(struct.pack(">i", size) + b"x" * 20)

    bench.run_until(lambda: bench.connection.is_closed)

    assert bench.closed == [bench.connection]
    assert bench.memory.taken_bytes == 0
    assert bench.seen == []
    assert bench.traffic.rejected_requests == 1


def test_malformed_bytes_close_this_connection_and_abandon_what_is_parked(bench: Bench) -> None:
    abandoned: list[bool] = []
    parked = Parked(blocking=False, on_abandoned=lambda: abandoned.append(True))

    def answer(body: bytes) -> Any:
        if body == b"request1":
            return parked
        raise RemoteProtocolError("not a request")

    bench.answer = answer

    bench.far.sendall(frame(b"request1") + frame(b"garbage!"))
    bench.run_until(lambda: bench.connection.is_closed)

    assert abandoned == [True]
    assert bench.far.recv(10) == b""
    assert (bench.traffic.rejected_requests, bench.traffic.failed_requests) == (1, 0)


def test_a_bug_in_a_handler_ends_only_its_connection(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def answer(_body: bytes) -> Any:
        raise ZeroDivisionError

    bench.answer = answer

    bench.far.sendall(frame(b"request1"))
    bench.run_until(lambda: bench.connection.is_closed)

    assert "a request from 127.0.0.1:5 failed" in caplog.text
    assert (bench.traffic.rejected_requests, bench.traffic.failed_requests) == (0, 1)


def test_a_peer_that_does_not_read_is_not_read_either(bench: Bench) -> None:
    big = b"x" * 300_000
    bench.answer = lambda _body: frame(big)
    request = frame(b"request1")

    bench.far.sendall(request * 50)
    bench.settle()
    answered_early = len(bench.seen)
    replies = bench.received(50 * (4 + len(big)))

    assert answered_early < 50
    assert replies == frame(big) * 50


def test_reading_pauses_once_the_backlog_is_full(bench: Bench) -> None:
    parked = Parked(blocking=True)
    bench.answer = lambda body: parked if len(bench.seen) == 1 else None
    bench.far.setblocking(False)
    bench.far.send(frame(b"request1"))
    bench.run_until(lambda: len(bench.seen) == 1)

    sent = 0
    stalled = 0
    while stalled < 3:
        try:
            sent += bench.far.send(frame(b"x" * 1000) * 100)
            stalled = 0
        except BlockingIOError:
            bench.settle()
            stalled += 1
    held = len(bench.connection._backlog)

    assert BACKLOG_BYTES_MAX < held <= 3 * BACKLOG_BYTES_MAX
    assert sent > held


def test_segment_runs_leave_between_the_bytes_around_them(bench: Bench, tmp_path: Any) -> None:
    content = os.urandom(3_000_000)
    (tmp_path / "segment").write_bytes(content)
    with (tmp_path / "segment").open("rb") as file:
        fd = file.fileno()

        class Slice:
            def __init__(self, position: int, length: int) -> None:
                self.file = SimpleNamespace(fd=fd)
                self.position, self.length = position, length

            def read(self) -> bytes:
                return os.pread(fd, self.length, self.position)

            def after(self, done: int) -> Slice:
                return Slice(self.position + done, self.length - done)

        bench.answer = lambda _body: [b"head", Slice(10, 2_500_000), b"middle", Slice(5, 100), b"tail"]
        bench.far.sendall(frame(b"request1") * 2)
        whole = b"head" + content[10:2_500_010] + b"middle" + content[5:105] + b"tail"

        assert bench.received(2 * len(whole)) == whole * 2
        assert bench.traffic.sent_bytes == 2 * len(whole)


def test_a_file_shorter_than_promised_closes_the_connection(
    bench: Bench, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "segment").write_bytes(b"short")
    with (tmp_path / "segment").open("rb") as file:
        slice_ = SimpleNamespace(
            file=SimpleNamespace(fd=file.fileno()),
            position=5,
            length=connection_module.COPIED_SLICE_MAX + 1,
        )
        bench.answer = lambda _body: [b"head", slice_]

        bench.far.sendall(frame(b"request1"))
        bench.run_until(lambda: bench.connection.is_closed)

    assert "ended before its index said" in caplog.text


def test_frames_wait_their_turn_when_request_memory_is_used_up(bench: Bench) -> None:
    bench.memory.limit_bytes = 100_000
    taken = bench.memory.take(90_000)
    assert taken is not None
    body = b"y" * 80_000

    bench.far.sendall(frame(body)[:50_000])
    bench.settle()
    waiting = bench.memory.taken_bytes
    bench.memory.give_back(taken)
    bench.settle()
    bench.far.sendall(frame(body)[50_000:])
    bench.run_until(lambda: bench.seen == [body])

    assert waiting == len(taken)
    assert bench.memory.taken_bytes == 0


def test_draining_answers_what_was_asked_then_closes(bench: Bench) -> None:
    parked = Parked(blocking=True)
    bench.answer = lambda _body: parked
    bench.far.sendall(frame(b"request1"))
    bench.run_until(lambda: len(bench.seen) == 1)

    bench.connection.drain()
    open_while_parked = not bench.connection.is_closed
    parked.resolve(frame(b"late"))
    reply = bench.received(8)
    end = bench.far_end()
    bench.far.close()
    bench.run_until(lambda: bench.connection.is_closed)

    assert open_while_parked
    assert reply == frame(b"late")
    assert end == b""


def test_requests_that_come_while_draining_do_not_reset_the_replies_before_them(bench: Bench) -> None:
    parked = Parked(blocking=True)
    bench.answer = lambda _body: parked
    bench.far.sendall(frame(b"request1") * 2)
    bench.run_until(lambda: len(bench.seen) == 1)

    bench.connection.drain()
    bench.far.sendall(frame(b"request2") * 1000)
    parked.resolve(frame(b"late"))
    bench.settle()

    assert bench.received(8) == frame(b"late")
    assert bench.far_end() == b""
    assert len(bench.seen) == 1


def test_a_peer_that_does_not_take_its_replies_is_not_waited_for(bench: Bench) -> None:
    bench.answer = lambda _body: frame(bytes(16 << 20))

    bench.far.sendall(frame(b"request1"))
    bench.settle()

    assert len(bench.seen) == 1
    assert not bench.connection.is_waiting


def test_a_peer_whose_request_is_parked_is_waited_for(bench: Bench) -> None:
    bench.answer = lambda _body: Parked(blocking=True)

    bench.far.sendall(frame(b"request1"))
    bench.settle()

    assert bench.connection.is_waiting


def test_after_its_turn_a_connection_lets_others_have_theirs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "TURN_SECONDS", -1.0)
    seen_by_others: list[int] = []

    def answer(body: bytes) -> bytes:
        bench.loop.call_soon(lambda: seen_by_others.append(len(bench.seen)))
        return frame(b"re:" + body)

    bench.answer = answer
    requests = [b"request%d" % number for number in range(5)]

    bench.far.sendall(b"".join(map(frame, requests)))
    replies = bench.received(5 * 15)

    assert replies == b"".join(frame(b"re:" + request) for request in requests)
    assert len(set(seen_by_others)) >= 4, "the loop was at others in between"


def test_large_replies_behind_a_parked_one_hold_the_next_request_back(bench: Bench) -> None:
    parked = Parked(blocking=False)
    replies: list[Any] = [parked, *[frame(bytes(400_000))] * 9]
    bench.answer = lambda _body: replies[len(bench.seen) - 1]

    bench.far.sendall(frame(b"requests") * 10)
    bench.settle()
    looked_at = len(bench.seen)
    parked.resolve(frame(b"at last"))
    received = bench.received(11 + 9 * 400_004)

    assert looked_at == 4, "the parked one, and three of 400 KB that pass 1 MiB together"
    assert received[:11] == frame(b"at last")
    assert len(bench.seen) == 10


def test_a_frame_that_is_only_announced_keeps_nobody_out(bench: Bench) -> None:
    bench.memory.limit_bytes = 3 * connection_module.FIRST_BYTES
    bench.connection._request_bytes_max = 100 * connection_module.FIRST_BYTES

    bench.far.sendall(struct.pack(">i", 100 * connection_module.FIRST_BYTES) + b"begun")
    bench.settle()

    assert bench.memory.take(connection_module.FIRST_BYTES) is not None


def test_a_frame_larger_than_its_first_buffer_arrives_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "FIRST_BYTES", 70_000)
    body = os.urandom(900_000)

    send_in_the_background(bench, frame(body))
    bench.run_until(lambda: bool(bench.seen))

    assert bench.seen == [body]
    assert bench.memory.taken_bytes == 0


def test_a_frame_that_may_not_grow_goes_on_when_another_is_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "FIRST_BYTES", 70_000)
    bench.memory.limit_bytes = 300_000
    older = bench.memory.take(70_000)
    assert older is not None
    body = os.urandom(900_000)

    send_in_the_background(bench, frame(body))
    bench.settle()
    held_back = not bench.seen
    bench.memory.give_back(older)
    bench.run_until(lambda: bool(bench.seen))

    assert held_back
    assert bench.seen == [body]
    assert bench.memory.taken_bytes == 0
