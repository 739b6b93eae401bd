"""Ready-made batches over one raw connection, five requests in flight: how fast the broker can append.

The load sends the same prebuilt Produce request again and again, so it costs the client little more than the
copy into the socket. Batches hold 100-byte messages.
"""

import time
from typing import NamedTuple

from bench import wire
from bench.broker import Broker
from bench.connection import Client, connect, learn_produce_shape, pump
from bench.errors import check_count
from bench.isolation import in_own_process
from bench.process import Meter, Usage
from bench.row import Figure, Row, Sample, System, at_least

TOPIC = "produce-batches"
MESSAGE_BYTES = 100
IN_FLIGHT = 5
SECONDS = 2.5
BYTES_MAX = 1_500_000_000
SIZES = {"16k": 16_384, "1m": 1_000_000}
ACKS = {"one": 1, "all": -1}


class Section(NamedTuple):
    """A measured section, the bytes of its batches, and the records the log should hold after it."""

    count_bytes: int
    record_count: int
    usage: Usage


def produce(port: int, pid: int, batch_bytes: int, acks: int, seconds: float) -> Section:
    """Load: produce for so many seconds."""
    batch = wire.batch_up_to(batch_bytes, MESSAGE_BYTES, int(time.time() * 1000))
    request = wire.produce_request(TOPIC, 0, batch.data, acks)
    with Client(port) as client:
        shape = learn_produce_shape(client, request)
    lane = connect(port)
    count_max = BYTES_MAX // len(batch.data)
    with Meter(pid) as meter:
        count = pump([lane], [request], shape, IN_FLIGHT, count_max, seconds)
    lane.close()
    return Section(count * len(batch.data), (count + 1) * batch.record_count, meter.usage)


def measure(broker: Broker, scale: float) -> Sample:
    """Produce each size with each kind of acknowledgement, to a new topic each."""
    sample = {}
    for size, batch_bytes in SIZES.items():
        for acks, code in ACKS.items():
            with Client(broker.port) as client:
                client.create_topics({TOPIC: 1})
                section = in_own_process(produce, broker.port, broker.pid, batch_bytes, code, SECONDS * scale)
                end_offset = client.end_offset(TOPIC)
                check_count(section.record_count, end_offset)
                client.delete_topic(TOPIC)
            megabytes = section.count_bytes / 1e6
            sample[f"{size}_{acks}"] = megabytes / section.usage.seconds
            sample[f"{size}_{acks}_cpu"] = section.usage.broker_cpu / megabytes * 1000
            sample[f"{size}_{acks}_client_cpu"] = section.usage.client_cpu / megabytes * 1000
    return sample


ROW = Row(
    name="produce-batches",
    title="raw produce, 5 requests in flight",
    figures=(
        Figure("16k_one", "16 KB batches, acks=1", "MB/s", at_least(1.5), digits=0),
        Figure("16k_all", "16 KB batches, acks=all", "MB/s", at_least(1.5), digits=0),
        Figure("1m_one", "1 MB batches, acks=1", "MB/s", at_least(1.5), digits=0),
        Figure("1m_all", "1 MB batches, acks=all", "MB/s", at_least(1.5), digits=0),
        Figure("16k_one_cpu", "16 KB batches, acks=1, broker CPU", "s per GB"),
        Figure("1m_one_cpu", "1 MB batches, acks=1, broker CPU", "s per GB"),
        Figure("16k_one_client_cpu", "16 KB batches, acks=1, client CPU", "s per GB"),
        Figure("1m_one_client_cpu", "1 MB batches, acks=1, client CPU", "s per GB"),
    ),
    measure=measure,
    systems=(System.PEER, System.SUBJECT, System.SUBJECT_FSYNC),
)
