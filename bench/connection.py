"""Sockets to a broker: one request at a time, or many in flight at little cost.

`Client` asks and waits. `pump` keeps a number of like requests in flight on each of several connections
without a Python-level step per request: the responses to like requests have equal sizes, so whole runs of
them are counted by their bytes and their error codes are checked by a strided slice.

    stream  |size..error..|size..error..|size..er      received in any pieces
                   ^             ^            ^        every response_size bytes
"""

import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench import wire, wire_groups
from bench.errors import Refused, Unanswered, Unserved

TIMEOUT_SECONDS = 30.0
RECEIVE_BYTES = 1 << 16


def connect(port: int) -> socket.socket:
    """Open a connection to the broker on this machine, without Nagle's delay and without a timeout.

    On a socket with a timeout, Python asks the kernel once more per call, and waits even where MSG_DONTWAIT
    is given. A load that hangs is ended by `isolation.Load`.
    """
    opened = socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)
    opened.settimeout(None)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def receive_exactly(source: socket.socket, view: memoryview) -> None:
    """Fill the buffer from the socket."""
    filled = 0
    while filled < len(view):
        count = source.recv_into(view[filled:])
        if count == 0:
            raise Unanswered("the broker closed the connection")
        filled += count


def receive_frame(source: socket.socket) -> bytearray:
    """Receive one response without its size."""
    size = bytearray(4)
    receive_exactly(source, memoryview(size))
    frame = bytearray(struct.unpack(">i", size)[0])
    receive_exactly(source, memoryview(frame))
    return frame


class Client:
    """A connection that sends a request and waits for its response."""

    def __init__(self, port: int) -> None:
        self.socket = connect(port)
        self.socket.settimeout(TIMEOUT_SECONDS)

    def call(self, request: bytes) -> bytearray:
        """Send a framed request, return the response without its size."""
        self.socket.sendall(request)
        return receive_frame(self.socket)

    def metadata(self, topics: list[str] | None, *, may_create: bool = False) -> wire.Metadata:
        """Ask for brokers and topics; None asks for all topics."""
        return wire.read_metadata(self.call(wire.metadata_request(topics, may_create=may_create)))

    def require(self, api_key: int, version: int, name: str) -> None:
        """Raise Unserved unless the broker serves the request at this version."""
        served = wire.read_api_versions(self.call(wire.api_versions_request()))
        lowest, highest = served.get(api_key, (0, -1))
        if not lowest <= version <= highest:
            raise Unserved(f"the broker does not serve {name} (key {api_key}) at version {version}")

    def create_topics(self, topics: dict[str, int], configs: Mapping[str, str] | None = None) -> None:
        """Create topics with so many partitions each, and wait until every partition's leader serves."""
        frame = self.call(wire.create_topics_request(topics, configs))
        errors = wire.read_topic_errors(frame, has_message=True)
        if any(errors.values()):
            raise Refused(f"CreateTopics answered {errors}")
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            try:
                for name, partitions in topics.items():
                    self.end_offset(name, partitions)
                return
            except Refused:
                time.sleep(0.01)  # named in the metadata before its log is open
        raise Unanswered(f"no leaders for {list(topics)} after {TIMEOUT_SECONDS:.0f} s")

    def alter_topic(self, topic: str, configs: Mapping[str, str]) -> None:
        """Set configurations of a topic."""
        errors = wire.read_config_errors(self.call(wire.alter_topic_request(topic, configs)))
        if any(errors.values()):
            raise Refused(f"IncrementalAlterConfigs answered {errors}")

    def wait_for_coordinator(self, key: str, key_type: int = wire_groups.GROUP_KEY) -> None:
        """Wait until a group or a transactional id has a coordinator; the first to ask has its topic made."""
        self._call_until_settled(wire_groups.find_coordinator_request(key, key_type))
        if key_type == wire_groups.GROUP_KEY:  # it may be named before it has opened the topic
            self._call_until_settled(wire_groups.leave_group_request(key, ["nobody"]))

    def _call_until_settled(self, request: bytes) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while wire_groups.read_error(self.call(request)) in wire_groups.NOT_YET:
            if time.monotonic() > deadline:
                raise Unanswered(f"no coordinator after {TIMEOUT_SECONDS:.0f} s")
            time.sleep(0.02)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        errors = wire.read_topic_errors(self.call(wire.delete_topic_request(topic)), has_message=False)
        if any(errors.values()):
            raise Refused(f"DeleteTopics answered {errors}")

    def end_offset(self, topic: str, partitions: int = 1, isolation: int = wire.READ_UNCOMMITTED) -> int:
        """Return the sum of the end offsets of a topic's partitions: how many records it ever took."""
        return sum(wire.read_end_offsets(self.call(wire.end_offsets_request(topic, partitions, isolation))))

    def produce(self, topic: str, batch: bytes, acks: int = -1) -> wire.Produced:
        """Append a batch to partition 0."""
        return wire.read_produced(self.call(wire.produce_request(topic, 0, batch, acks)))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


class ResponseShape(NamedTuple):
    """What all responses to like requests look like, counted from the first byte of the size."""

    response_size: int
    error_position: int


def learn_produce_shape(client: Client, request: bytes) -> ResponseShape:
    """Send the request once and measure its response."""
    frame = client.call(request)
    produced = wire.read_produced(frame)
    if produced.error_code != wire.NO_ERROR:
        raise Refused(f"Produce answered error {produced.error_code}")
    return ResponseShape(4 + len(frame), 4 + produced.error_position)


class _Lane:
    """One connection of a pump, and its place in the requests that it goes round."""

    __slots__ = ("phase", "position", "request_count", "request_size", "socket", "tape")

    def __init__(
        self, opened: socket.socket, tape: memoryview, request_size: int, request_count: int
    ) -> None:
        self.socket = opened
        self.tape = tape
        self.request_size = request_size
        self.request_count = request_count
        self.position = 0
        self.phase = 0  # how many bytes of an answer were received that is not complete

    def send(self, count: int) -> None:
        start = self.position * self.request_size
        self.socket.sendall(self.tape[start : start + count * self.request_size])
        self.position = (self.position + count) % self.request_count


def pump(
    sockets: list[socket.socket],
    requests: Sequence[bytes],
    shape: ResponseShape,
    in_flight: int,
    count_max: int,
    seconds: float,
) -> int:
    """Keep `in_flight` requests under way on each socket until time or count is up, then drain.

    The requests are of equal size, and their responses too; each connection goes round and round them, in
    order, starting at a place of its own.

    Returns how many requests were answered without error.

    Raises:
        Refused: a response carries an error code.
        Unanswered: a connection was closed, or nothing came for long.
    """
    count, size = len(requests), len(requests[0])
    assert all(len(request) == size for request in requests)
    lanes = {}
    for index, opened in enumerate(sockets):
        start = index * count // len(sockets)
        once_round = [*requests[start:], *requests[:start]]
        # A round, and what a burst that begins at its end runs into.
        tape = b"".join(once_round + (once_round * (in_flight // count + 1))[:in_flight])
        lanes[opened.fileno()] = _Lane(opened, memoryview(tape), size, count)
    buffer = bytearray(RECEIVE_BYTES)
    deadline = time.monotonic() + seconds
    left = count_max
    for lane in lanes.values():
        first = min(in_flight, left)
        lane.send(first)
        left -= first
    under_way, answered = count_max - left, 0
    with select.epoll() as poller:
        for descriptor in lanes:
            poller.register(descriptor, select.EPOLLIN)
        while under_way:
            for descriptor, _ in poller.poll(TIMEOUT_SECONDS) or _stuck():
                lane = lanes[descriptor]
                done = _take(lane, buffer, shape)
                answered += done
                under_way -= done
                if done and left and time.monotonic() < deadline:
                    again = min(done, left)
                    lane.send(again)
                    left -= again
                    under_way += again
    return answered


def _stuck() -> list[tuple[int, int]]:
    raise Unanswered(f"no response for {TIMEOUT_SECONDS:.0f} s")


def _take(lane: _Lane, buffer: bytearray, shape: ResponseShape) -> int:
    """Receive what is there; return how many responses it completes."""
    size, error_position = shape
    count = lane.socket.recv_into(buffer)
    if count == 0:
        raise Unanswered("the broker closed the connection")
    for position in (error_position, error_position + 1):
        if any(buffer[(position - lane.phase) % size : count : size]):
            raise Refused("a Produce response carries an error code")
    done, lane.phase = divmod(lane.phase + count, size)
    return done
