"""One client's socket: request frames in, replies out, in the order in which the requests came.

    socket ──recv──▶ scratch ──frames──▶ dispatch ──▶ reply ──────────────┐
                        │                        └──▶ Parked … resolved ──┤ in order
                 frame in pieces ▶ own buffer                             ▼
    socket ◀──send / sendfile──────────────────────────────────────── out queue

Rules
- A request is looked at only when nothing of the peer is waiting to be sent, no blocking request is
  parked, and the replies that wait for their turn are fewer than `PIPELINED_MAX` and smaller than
  `KEPT_BYTES_MAX`. What arrives meanwhile is kept up to `BACKLOG_BYTES_MAX`, then the socket is no
  longer read: back-pressure reaches the peer.
- However many requests came at once, after `TURN_SECONDS` the other connections have their turn.
- Fetch replies carry runs of segment files; they leave by `sendfile`, without passing through here.
- Whatever goes wrong with a request's bytes ends this connection and nothing else.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

from riverlog.broker.handler import Parked
from riverlog.broker.metrics.counters import Traffic
from riverlog.broker.request_memory import FIRST_BYTES
from riverlog.errors import ProtocolError, RemoteProtocolError

if TYPE_CHECKING:
    import asyncio

    from riverlog.broker.handler import Reply
    from riverlog.broker.request_memory import RequestMemory
    from riverlog.log import FileSlice
    from riverlog.protocol.produce_shape import ProduceShape

PIPELINED_MAX = 1000
"""Replies a connection may have outstanding before its next request waits."""

BACKLOG_BYTES_MAX = 256 * 1024
"""Requests received but not yet looked at; more than this and the socket is not read."""

COPIED_SLICE_MAX = 16 * 1024
"""Below this many bytes of a segment file, one copy is cheaper than sendfile's extra system calls."""

UNSENT_BYTES_MAX = 256 * 1024
"""Replies gathered for one send. Past it they are sent at once, so that many small requests with large
replies never pile up here: the socket fills, and the next request waits."""

KEPT_BYTES_MAX = 1024 * 1024
"""Replies that are ready but must wait for an earlier one; more than this and the next request waits."""

TURN_SECONDS = 0.005
"""How long the requests of one connection are answered before the loop looks at the others."""

LINGER_SECONDS = 1.0
"""How long a stopping broker waits for a peer that was told everything to close its end."""

SMALLEST_REQUEST = 8
_SIZE = struct.Struct(">i")
_MSG_MORE = getattr(socket, "MSG_MORE", 0)

logger = logging.getLogger("riverlog.broker.connection")

Dispatch = Callable[["Connection", "bytearray | memoryview", int, int], "Reply | Parked | None"]


class Connection:
    """A plain (unencrypted) connection that owns its socket."""

    __slots__ = (
        "_backlog",
        "_dispatch",
        "_fd",
        "_filled",
        "_flush_is_due",
        "_frame",
        "_frame_view",
        "_is_blocked",
        "_is_discarding",
        "_is_draining",
        "_is_reading",
        "_is_writing",
        "_kept_bytes",
        "_loop",
        "_memory",
        "_needed",
        "_on_closed",
        "_out",
        "_request_bytes_max",
        "_slots",
        "_socket",
        "_traffic",
        "_unsent_bytes",
        "frame_started",
        "is_closed",
        "last_active",
        "listener_name",
        "peer_host",
        "peer_name",
        "produce_shape",
        "software_name",
        "software_version",
    )

    def __init__(
        self,
        sock: socket.socket,
        *,
        loop: asyncio.AbstractEventLoop,
        dispatch: Dispatch,
        memory: RequestMemory,
        request_bytes_max: int,
        listener_name: str,
        peer_name: str,
        on_closed: Callable[[Connection], None],
        traffic: Traffic | None = None,
    ) -> None:
        self._socket = sock
        self._traffic = traffic or Traffic()
        self._fd = sock.fileno()
        self._loop = loop
        self._dispatch = dispatch
        self._memory = memory
        self._request_bytes_max = request_bytes_max
        self._on_closed = on_closed
        self.listener_name = listener_name
        self.peer_name = peer_name
        self.peer_host = peer_name.rpartition(":")[0]
        self.software_name = ""
        self.software_version = ""
        self.produce_shape: ProduceShape | None = None

        self._frame: bytearray | None = None
        """The frame that is arriving in pieces: `_filled` of its `_needed` bytes are here."""
        self._frame_view: memoryview | None = None
        self._filled = 0
        self._needed = 0
        self.frame_started = 0.0
        """When the unfinished frame began (loop time); 0 while there is none."""
        self._backlog = bytearray()
        self._slots: deque[Parked | Reply] = deque()
        """Replies that must leave in this order; a blocking one is always the last."""
        self._out: deque[bytes | memoryview | FileSlice] = deque()
        self._unsent_bytes = 0
        self._kept_bytes = 0
        """Of the replies in `_slots`."""
        self._is_blocked = False
        self._is_writing = False
        self._is_draining = False
        self._is_discarding = False
        self._flush_is_due = False
        self.is_closed = False
        self.last_active = loop.time()
        self._is_reading = True
        loop.add_reader(self._fd, self._on_readable)

    # -- receiving ---------------------------------------------------------------------------------

    def _on_readable(self) -> None:
        memory = self._memory
        try:
            if self._frame is None:
                received = self._socket.recv_into(memory.scratch)
            else:
                assert self._frame_view is not None
                received = self._socket.recv_into(self._frame_view[self._filled : self._needed])
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.close(f"receiving failed: {error}")
            return
        if not received:
            self.close("the peer closed it")
            return
        if self._is_discarding:
            return
        self.last_active = self._loop.time()
        self._traffic.received_bytes += received
        if self._frame is not None:
            self._filled += received
            if self._filled == self._needed:
                self._finish_frame()
            elif self._filled == len(self._frame):
                self._grow_frame()
        elif self._is_held() or self._backlog:
            self._backlog += memory.scratch_view[:received]
            self._work_off_backlog()
        else:
            self._take(memory.scratch, 0, received)

    def _is_held(self) -> bool:
        """Say whether the next request must wait."""
        return (
            self._is_blocked
            or self._is_writing
            or len(self._slots) >= PIPELINED_MAX
            or self._kept_bytes > KEPT_BYTES_MAX
        )

    def _take(self, buffer: bytearray, start: int, end: int) -> None:
        """Answer the whole frames in `buffer[start:end]`, keep what is left, send what is ready."""
        turn_ends = 0.0
        is_turn_over = False
        while end - start >= 4 and not self._is_held():
            size = _SIZE.unpack_from(buffer, start)[0]
            if not SMALLEST_REQUEST <= size <= self._request_bytes_max:
                self._refuse_size(size)
                return
            stop = start + 4 + size
            if stop > end:
                break
            if turn_ends and perf_counter() > turn_ends:
                is_turn_over = True
                self._on_resolved()  # that is, come back when the loop has been at the others
                break
            self._answer(buffer, start + 4, stop)
            if self.is_closed:
                return
            start = stop
            if start < end and not turn_ends:
                # Not before it is needed: most requests come alone.
                turn_ends = perf_counter() + TURN_SECONDS
            if self._unsent_bytes > UNSENT_BYTES_MAX and not self._is_writing and not self._send():
                return
        if start < end:
            if is_turn_over or self._is_held():
                self._backlog += memoryview(buffer)[start:end]
            else:
                self._begin_frame(buffer, start, end)
        if self._out and not self._is_writing:
            self._send()

    def _refuse_size(self, size: int) -> None:
        self._traffic.rejected_requests += 1
        self.close(
            f"a request of {size} bytes is outside {SMALLEST_REQUEST}..{self._request_bytes_max} "
            "(socket.request.max.bytes)",
            level=logging.WARNING,
        )

    def _begin_frame(self, buffer: bytearray, start: int, end: int) -> None:
        """Give the unfinished frame at the end of `buffer` a buffer of its own."""
        have = end - start
        if have < 4:
            needed = 4
        else:
            size = _SIZE.unpack_from(buffer, start)[0]
            if not SMALLEST_REQUEST <= size <= self._request_bytes_max:
                self._refuse_size(size)
                return
            needed = 4 + size
        frame = self._memory.take(min(needed, max(FIRST_BYTES, 2 * have)))
        if frame is None:
            self._backlog += memoryview(buffer)[start:end]
            self._pause_reading()
            self._memory.when_free(self._retry_backlog)
            return
        frame[:have] = memoryview(buffer)[start:end]
        self._frame = frame
        self._frame_view = memoryview(frame)
        self._filled = have
        self._needed = needed
        if not self.frame_started:
            self.frame_started = self._loop.time()

    def _grow_frame(self) -> None:
        """The buffer is full and the frame is not: get a larger one, or wait for it."""
        assert self._frame is not None
        assert self._frame_view is not None
        grown = self._memory.grow(self._frame, min(self._needed, 2 * len(self._frame)))
        if grown is None:
            self._pause_reading()
            self._memory.when_free(self._retry_growth)
            return
        self._frame_view.release()
        self._frame = grown
        self._frame_view = memoryview(grown)

    def _retry_growth(self) -> None:
        self._loop.call_soon(self._grow_again)

    def _grow_again(self) -> None:
        if not self.is_closed and not self._is_draining:
            self._resume_reading()
            self._grow_frame()

    def _finish_frame(self) -> None:
        """The frame's last byte is here (or the four bytes that say its length)."""
        frame, needed = self._frame, self._needed
        assert frame is not None
        assert self._frame_view is not None
        self._frame_view.release()
        self._frame = self._frame_view = None
        try:
            if needed == 4:
                self._begin_frame(frame, 0, 4)
                return
            self.frame_started = 0.0
            if self._is_held():
                self._backlog += memoryview(frame)[:needed]
                self._pause_reading()
            else:
                self._take(frame, 0, needed)
        finally:
            self._memory.give_back(frame)

    def _retry_backlog(self) -> None:
        if not self.is_closed:
            self._loop.call_soon(self._after_resolved)

    def _work_off_backlog(self) -> None:
        """Look at the requests that had to wait, as far as that is possible now."""
        if self._is_draining:
            return
        if self._backlog and not self._is_held():
            waiting, self._backlog = self._backlog, bytearray()
            self._take(waiting, 0, len(waiting))
        if self.is_closed:
            return
        if len(self._backlog) > BACKLOG_BYTES_MAX:
            self._pause_reading()
        elif not self._backlog:
            self._resume_reading()

    def _pause_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._fd)

    def _resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._loop.add_reader(self._fd, self._on_readable)

    @property
    def is_waiting(self) -> bool:
        """Say whether the peer waits for something of ours: such a connection is not idle.

        One that does not take what it asked for is.
        """
        return bool(self._slots) and not self._is_writing

    # -- answering ---------------------------------------------------------------------------------

    def _answer(self, buffer: bytearray, start: int, end: int) -> None:
        try:
            reply = self._dispatch(self, buffer, start, end)
        except RemoteProtocolError as error:
            self._traffic.rejected_requests += 1
            self.close(f"malformed request: {error}", level=logging.WARNING)
            return
        except ProtocolError:
            self._traffic.failed_requests += 1
            logger.exception("could not write a reply to %s", self.peer_name)
            self.close("internal error")
            return
        except Exception:
            # The edge of one connection: a bug in one handler must not end the others' connections.
            self._traffic.failed_requests += 1
            logger.exception("a request from %s failed", self.peer_name)
            self.close("internal error")
            return
        if reply.__class__ is Parked:
            assert isinstance(reply, Parked)
            if reply.is_resolved:
                self._keep_in_order(reply.reply)
                return
            reply.attach(self._on_resolved)
            self._slots.append(reply)
            self._is_blocked = reply.blocking
        else:
            assert not isinstance(reply, Parked)
            self._keep_in_order(reply)

    def _keep_in_order(self, reply: Reply | None) -> None:
        if reply is None:
            return
        if self._slots:
            self._slots.append(reply)
            self._kept_bytes += _size_of(reply)
        else:
            self._queue(reply)

    def _queue(self, reply: Reply) -> None:
        """Put a reply's chunks into the out queue; short runs of files are read right away."""
        if isinstance(reply, bytes):
            self._out.append(reply)
            self._unsent_bytes += len(reply)
            return
        for chunk in reply:
            if isinstance(chunk, bytes):
                self._out.append(chunk)
                self._unsent_bytes += len(chunk)
            else:
                self._out.append(chunk.read() if chunk.length <= COPIED_SLICE_MAX else chunk)
                self._unsent_bytes += chunk.length

    def _on_resolved(self) -> None:
        # Several replies often get ready in one turn of the loop (one fsync serves many): send them as one.
        if not self._flush_is_due and not self.is_closed:
            self._flush_is_due = True
            self._loop.call_soon(self._after_resolved)

    def _after_resolved(self) -> None:
        self._flush_is_due = False
        if self.is_closed:
            return
        slots = self._slots
        while slots:
            head = slots[0]
            if isinstance(head, Parked):
                if not head.is_resolved:
                    break
                slots.popleft()
                if head.reply is not None:
                    self._queue(head.reply)
            else:
                slots.popleft()
                self._kept_bytes -= _size_of(head)
                self._queue(head)
        last = slots[-1] if slots else None
        self._is_blocked = isinstance(last, Parked) and last.blocking and not last.is_resolved
        if self._out and not self._is_writing:
            self._send()
        if not self.is_closed:
            self._work_off_backlog()
        self._close_when_drained()

    # -- sending -----------------------------------------------------------------------------------

    def _send(self) -> bool:
        """Send from the out queue until it is empty or the socket takes no more; say if it is still open."""
        out = self._out
        self._unsent_bytes = 0
        try:
            while out:
                head = out.popleft()
                if isinstance(head, bytes | memoryview):
                    if out and isinstance(out[0], bytes):
                        run = [head]
                        while out and isinstance(out[0], bytes):
                            run.append(out.popleft())  # type: ignore[arg-type]  # just checked
                        head = b"".join(run)
                    try:
                        # More follows by sendfile: let the kernel put both into one segment.
                        sent = self._socket.send(head, _MSG_MORE if out else 0)
                    except (BlockingIOError, InterruptedError):
                        sent = 0
                    self._traffic.sent_bytes += sent
                    if sent < len(head):
                        out.appendleft(memoryview(head)[sent:])
                        self._wait_until_writable()
                        return True
                else:
                    try:
                        sent = os.sendfile(self._fd, head.file.fd, head.position, head.length)
                    except (BlockingIOError, InterruptedError):
                        out.appendleft(head)
                        self._wait_until_writable()
                        return True
                    self._traffic.sent_bytes += sent
                    if sent < head.length:
                        if not sent:
                            self.close("a segment file ended before its index said", level=logging.ERROR)
                            return False
                        out.appendleft(head.after(sent))
        except OSError as error:
            self.close(f"sending failed: {error}")
            return False
        if self._is_writing:
            self._is_writing = False
            self._loop.remove_writer(self._fd)
        return True

    def _wait_until_writable(self) -> None:
        if not self._is_writing:
            self._is_writing = True
            self._loop.add_writer(self._fd, self._on_writable)

    def _on_writable(self) -> None:
        self.last_active = self._loop.time()
        self._send()
        if not self.is_closed and not self._is_writing:
            self._after_resolved()

    # -- the end -----------------------------------------------------------------------------------

    def drain(self) -> None:
        """Look at no more requests; once what was asked is answered and sent, say that this is all."""
        self._is_draining = True
        self._pause_reading()
        self._close_when_drained()

    def _close_when_drained(self) -> None:
        if not self._is_draining or self._is_discarding or self.is_closed or self._slots or self._out:
            return
        # Closing a socket with unread bytes in it resets the connection, and the reset takes replies along
        # that the peer has not read yet. So say that nothing follows, and wait for the peer to close.
        self._is_discarding = True
        self._drop_unfinished()
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            self.close(f"the broker is stopping: {error}")
            return
        self._resume_reading()
        self._loop.call_later(LINGER_SECONDS, self.close, "the broker is stopping")

    def close(self, reason: str, *, level: int = logging.DEBUG) -> None:
        """End the connection at once; what is parked is abandoned."""
        if self.is_closed:
            return
        self.is_closed = True
        logger.log(level, "closing the connection of %s: %s", self.peer_name, reason)
        self._pause_reading()
        if self._is_writing:
            self._is_writing = False
            self._loop.remove_writer(self._fd)
        self._socket.close()
        for slot in self._slots:
            if isinstance(slot, Parked) and not slot.is_resolved and slot.on_abandoned is not None:
                slot.on_abandoned()
        self._slots.clear()
        self._out.clear()
        self._drop_unfinished()
        self._on_closed(self)

    def _drop_unfinished(self) -> None:
        """Forget what arrived and was not looked at."""
        self._backlog = bytearray()
        self.frame_started = 0.0
        if self._frame is not None:
            assert self._frame_view is not None
            self._frame_view.release()
            frame, self._frame, self._frame_view = self._frame, None, None
            self._memory.give_back(frame)


def _size_of(reply: Reply) -> int:
    if isinstance(reply, bytes):
        return len(reply)
    # Runs of files stay in their files.
    return sum(len(chunk) for chunk in reply if isinstance(chunk, bytes))
