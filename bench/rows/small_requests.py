"""Produce requests of one 100-byte record each, acks=1: what a request costs the broker, and how many it can
take.

Kafka serves one request of a connection at a time, so one connection with 64 in flight is its worst case and
the everyday one of a client that does not linger.
"""

import time
from typing import NamedTuple

from bench import wire
from bench.broker import Broker
from bench.connection import Client, connect, learn_produce_shape, pump
from bench.errors import check_count
from bench.isolation import in_own_process
from bench.process import Meter, Usage
from bench.row import Figure, Row, Sample, at_least, at_most

TOPIC = "small-requests"
MESSAGE_BYTES = 100
SECONDS = 4.0


class Shape(NamedTuple):
    """How the load is spread."""

    connections: int
    in_flight: int


SHAPES = {"eight": Shape(8, 16), "one": Shape(1, 64)}


class Section(NamedTuple):
    """A measured section and the requests answered in it."""

    requests: int
    usage: Usage


def produce(port: int, pid: int, shape: Shape, seconds: float) -> Section:
    """Load: produce single records for so many seconds."""
    batch = wire.batch_of([b"x" * MESSAGE_BYTES], int(time.time() * 1000))
    request = wire.produce_request(TOPIC, 0, batch, 1)
    with Client(port) as client:
        response = learn_produce_shape(client, request)
    lanes = [connect(port) for _ in range(shape.connections)]
    with Meter(pid) as meter:
        count = pump(lanes, [request], response, shape.in_flight, 1 << 40, seconds)
    for lane in lanes:
        lane.close()
    return Section(count, meter.usage)


def measure(broker: Broker, scale: float) -> Sample:
    """Send each shape of load to a new topic."""
    sample = {}
    for name, shape in SHAPES.items():
        with Client(broker.port) as client:
            client.create_topics({TOPIC: 1})
            section = in_own_process(produce, broker.port, broker.pid, shape, SECONDS * scale)
            end_offset = client.end_offset(TOPIC)
            check_count(section.requests + 1, end_offset)
            client.delete_topic(TOPIC)
        sample[name] = section.requests / section.usage.seconds / 1000
        sample[f"{name}_cpu"] = section.usage.broker_cpu / section.requests * 1e6
        sample[f"{name}_client_cpu"] = section.usage.client_cpu / section.requests * 1e6
    return sample


ROW = Row(
    name="small-requests",
    title="produce requests of one 100 B record, acks=1",
    figures=(
        Figure("eight", "8 connections x 16 in flight", "k/s", at_least(2.0), digits=1),
        Figure("eight_cpu", "8 connections x 16, broker CPU", "µs per request", at_most(0.4), digits=1),
        Figure("eight_client_cpu", "8 connections x 16, client CPU", "µs per request", digits=1),
        Figure("one", "1 connection x 64 in flight", "k/s", at_least(2.0), digits=1),
        Figure("one_cpu", "1 connection x 64, broker CPU", "µs per request", at_most(0.4), digits=1),
        Figure("one_client_cpu", "1 connection x 64, client CPU", "µs per request", digits=1),
    ),
    measure=measure,
)
