"""From send to receipt, one 100-byte message per request, nothing lingers: what a single message waits for.

A sender keeps to a schedule and never waits for an answer; a receiver holds one long-polling Fetch open. Both
are raw connections in processes of their own, since a client library's threads would be most of what is
measured on a machine of two cores. Times are CLOCK_MONOTONIC, one clock for all processes.

A message waits from when it was due until the response that holds it has been read. A sender that falls
behind its schedule, because the broker takes no more bytes or leaves it no core, makes messages wait, and
that counts; how far it fell behind is reported beside.
"""

import socket
import struct
import time
from array import array
from collections.abc import Iterable
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

from bench import wire
from bench.broker import Broker
from bench.connection import Client, ResponseShape, connect, learn_produce_shape, receive_exactly
from bench.errors import Refused, Unanswered
from bench.isolation import Load, meeting_point
from bench.process import Meter
from bench.row import Figure, Row, Sample, System, at_most

TOPIC = "latency"
MESSAGE = b"x" * 100
RATES = (1000, 5000)
SECONDS = 6.0
LEAD_SECONDS = 0.2
"""Between the moment when both processes are ready and the first message."""
MEETING_SECONDS_MAX = 30.0
FETCH_BYTES = 1 << 20
RECEIVE_BYTES = 1 << 16


class Sent(NamedTuple):
    """When each message was due, how late it was handed to the kernel, and the sender's CPU."""

    times: "array[float]"
    lateness: "array[float]"
    cpu: float


class Received(NamedTuple):
    """When each message was received, and the receiver's CPU."""

    times: "array[float]"
    cpu: float


def send(port: int, ready: Barrier, shape: ResponseShape, rate: int, count: int) -> Sent:
    """Load: send `count` messages on schedule; then collect what acknowledgements are still due."""
    request = wire.produce_request(TOPIC, 0, wire.batch_of([MESSAGE], int(time.time() * 1000)), -1)
    lane = connect(port)
    acknowledgements = bytearray()
    times, lateness = array("d"), array("d")
    ready.wait(MEETING_SECONDS_MAX)
    start = time.monotonic() + LEAD_SECONDS
    for index in range(count):
        due = start + index / rate
        late = time.monotonic() - due
        if late < 0:
            time.sleep(-late)
            due = time.monotonic()  # how exactly this machine wakes a sleeper is not the broker's doing
        times.append(due)
        lateness.append(max(0.0, late))
        lane.sendall(request)
        try:
            acknowledgements += lane.recv(RECEIVE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass  # none yet
    missing = bytearray(count * shape.response_size - len(acknowledgements))
    receive_exactly(lane, memoryview(missing))
    lane.close()
    acknowledgements += missing
    for position in (shape.error_position, shape.error_position + 1):
        if any(acknowledgements[position :: shape.response_size]):
            raise Refused("a Produce response carries an error code")
    return Sent(times, lateness, time.process_time())


def receive(port: int, ready: Barrier, offset: int, count: int) -> Received:
    """Load: receive `count` messages from `offset` on; batches are equal, so bytes tell their number."""
    batch_bytes = len(wire.batch_of([MESSAGE], 0))
    lane = connect(port)
    buffer = bytearray(2 * FETCH_BYTES)
    view = memoryview(buffer)
    times = array("d")
    ready.wait(MEETING_SECONDS_MAX)
    while len(times) < count:
        lane.sendall(wire.fetch_request(TOPIC, 0, offset + len(times), FETCH_BYTES))
        filled = lane.recv_into(view)
        while filled < 4 or filled < 4 + struct.unpack_from(">i", buffer)[0]:
            more = lane.recv_into(view[filled:])
            if more == 0:
                raise Unanswered("the broker closed the connection")
            filled += more
        now = time.monotonic()
        fetched = wire.read_fetched(view[4:filled])
        if fetched.error_code != wire.NO_ERROR or fetched.records_size % batch_bytes:
            raise Refused(f"Fetch answered {fetched}")
        times.extend([now] * (fetched.records_size // batch_bytes))
    lane.close()
    return Received(times, time.process_time())


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def measure(broker: Broker, scale: float) -> Sample:
    """Run each rate on a new topic."""
    sample: dict[str, float] = {}
    for rate in RATES:
        count = int(rate * max(1.0, SECONDS * scale))
        with Client(broker.port) as client:
            client.create_topics({TOPIC: 1})
            request = wire.produce_request(TOPIC, 0, wire.batch_of([MESSAGE], 0), -1)
            shape = learn_produce_shape(client, request)
            ready = meeting_point(2)
            with (
                Load(receive, broker.port, ready, 1, count) as receiver,
                Load(send, broker.port, ready, shape, rate, count) as sender,
                Meter(broker.pid) as meter,
            ):
                sent, received = sender.result(), receiver.result()
            client.delete_topic(TOPIC)
        waits = [there - here for here, there in zip(sent.times, received.times, strict=True)]
        sample |= {
            f"p50_{rate}": percentile(waits, 0.50) * 1e3,
            f"p99_{rate}": percentile(waits, 0.99) * 1e3,
            f"cpu_{rate}": meter.usage.broker_cpu / count * 1e6,
            f"late_{rate}": percentile(sent.lateness, 0.99) * 1e3,
            f"client_cpu_{rate}": (sent.cpu + received.cpu) / count * 1e6,
        }
    return sample


ROW = Row(
    name="latency",
    title="end to end, one message per request, acks=all",
    figures=tuple(
        figure
        for rate in RATES
        for figure in (
            Figure(f"p50_{rate}", f"p50 at {rate:,} msg/s", "ms", at_most(0.7)),
            Figure(f"p99_{rate}", f"p99 at {rate:,} msg/s", "ms", at_most(0.7)),
            Figure(f"cpu_{rate}", f"broker CPU at {rate:,} msg/s", "µs per message", digits=0),
            Figure(f"client_cpu_{rate}", f"client CPU at {rate:,} msg/s", "µs per message", digits=0),
            Figure(f"late_{rate}", f"sender behind, p99 at {rate:,} msg/s", "ms"),
        )
    ),
    measure=measure,
    systems=(System.PEER, System.SUBJECT, System.SUBJECT_FSYNC),
)
