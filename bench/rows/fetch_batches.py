"""Fetch over one raw connection from a log in the page cache: how fast the broker can read and send.

Each Fetch asks for one megabyte of whole batches at an offset known beforehand, since all batches are equal.
The client looks at the first response closely, then only at frame sizes, and receives into one buffer over
and over.
"""

import socket
import struct
import time
from collections.abc import Iterator
from itertools import cycle
from typing import NamedTuple

from bench import wire
from bench.broker import Broker
from bench.connection import Client, connect, learn_produce_shape, pump, receive_exactly
from bench.errors import Refused
from bench.isolation import in_own_process
from bench.process import Meter, Usage, wait_until_quiet
from bench.row import Figure, Row, Sample, at_least, at_most

TOPIC = "fetch-batches"
MESSAGE_BYTES = 100
LOG_BYTES = 400_000_000
FETCH_BYTES = 1_048_576
IN_FLIGHT = 2
SECONDS = 3.0
FILL_SECONDS_MAX = 60.0
BATCH_TAIL = 43  # after the timestamps
SIZES = {"16k": 16_384, "1m": 1_000_000}


class Section(NamedTuple):
    """A measured section and the bytes of records it received."""

    count_bytes: int
    usage: Usage


def fill(port: int, batch_bytes: int, log_bytes: int) -> int:
    """Load: write the log that is then read; return how many batches it has."""
    batch = wire.batch_up_to(batch_bytes, MESSAGE_BYTES, int(time.time() * 1000))
    request = wire.produce_request(TOPIC, 0, batch.data, 1)
    with Client(port) as client:
        shape = learn_produce_shape(client, request)
    lane = connect(port)
    count = pump([lane], [request], shape, 5, log_bytes // len(batch.data), FILL_SECONDS_MAX)
    lane.close()
    return count + 1


def fetch(port: int, pid: int, batch_bytes: int, batch_count: int, seconds: float) -> Section:
    """Load: read the log again and again for so many seconds."""
    batch = wire.batch_up_to(batch_bytes, MESSAGE_BYTES, 0)
    batches_per_fetch = max(1, FETCH_BYTES // len(batch.data))
    fetch_bytes = batches_per_fetch * len(batch.data)
    requests = [
        wire.fetch_request(TOPIC, 0, index * batch.record_count, fetch_bytes)
        for index in range(0, batch_count - batches_per_fetch + 1, batches_per_fetch)
    ]
    with Client(port) as client:
        frame = client.call(requests[0])
    check(frame, batch.data, fetch_bytes)
    lane = connect(port)
    buffer = bytearray(4 + len(frame))
    with Meter(pid) as meter:
        count = read(lane, cycle(requests), buffer, seconds)
    lane.close()
    check(buffer[4:], batch.data, fetch_bytes)
    return Section(count * fetch_bytes, meter.usage)


def check(frame: bytearray, batch: bytes, fetch_bytes: int) -> None:
    """Hold a response against what was produced; what a broker may change stands before the CRC."""
    fetched = wire.read_fetched(frame)
    if fetched.error_code != wire.NO_ERROR or fetched.records_size != fetch_bytes:
        raise Refused(f"Fetch answered {fetched}, not {fetch_bytes} bytes")
    start = fetched.records_start
    # The timestamps are another process's; everything after them is equal in both.
    if frame[start + BATCH_TAIL : start + len(batch)] != batch[BATCH_TAIL:]:
        raise Refused("Fetch answered other records than were produced")


def read(lane: socket.socket, requests: Iterator[bytes], buffer: bytearray, seconds: float) -> int:
    """Keep requests in flight until the time is up, then drain; return how many responses came."""
    size = struct.pack(">i", len(buffer) - 4)
    view = memoryview(buffer)
    deadline = time.monotonic() + seconds
    for _ in range(IN_FLIGHT):
        lane.sendall(next(requests))
    under_way, answered = IN_FLIGHT, 0
    while under_way:
        receive_exactly(lane, view)
        if buffer[:4] != size:
            raise Refused("Fetch answered a frame of another size")
        answered += 1
        if time.monotonic() < deadline:
            lane.sendall(next(requests))
        else:
            under_way -= 1
    return answered


def measure(broker: Broker, scale: float) -> Sample:
    """Read a log of each batch size."""
    sample = {}
    for size, batch_bytes in SIZES.items():
        with Client(broker.port) as client:
            client.create_topics({TOPIC: 1})
            batch_count = in_own_process(fill, broker.port, batch_bytes, int(LOG_BYTES * max(scale, 0.25)))
            wait_until_quiet(broker.pid)
            section = in_own_process(
                fetch, broker.port, broker.pid, batch_bytes, batch_count, SECONDS * scale
            )
            client.delete_topic(TOPIC)
        gigabytes = section.count_bytes / 1e9
        sample[size] = gigabytes / section.usage.seconds
        sample[f"{size}_cpu"] = section.usage.broker_cpu / gigabytes
        sample[f"{size}_client_cpu"] = section.usage.client_cpu / gigabytes
    return sample


ROW = Row(
    name="fetch-batches",
    title="raw fetch of 1 MB at a time, 2 requests in flight",
    figures=(
        Figure("16k", "from 16 KB batches", "GB/s", at_least(1.0)),
        Figure("1m", "from 1 MB batches", "GB/s", at_least(1.0)),
        Figure("16k_cpu", "from 16 KB batches, broker CPU", "s per GB", at_most(0.7), digits=3),
        Figure("1m_cpu", "from 1 MB batches, broker CPU", "s per GB", at_most(0.7), digits=3),
        Figure("16k_client_cpu", "from 16 KB batches, client CPU", "s per GB", digits=3),
        Figure("1m_client_cpu", "from 1 MB batches, client CPU", "s per GB", digits=3),
    ),
    measure=measure,
)
