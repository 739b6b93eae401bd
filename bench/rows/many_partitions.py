"""One librdkafka client that writes evenly to 1,000 partitions: many small batches, many logs.

The topic stays between turns, as topics of that size do; only what a turn adds is measured.
"""

from typing import NamedTuple

from bench.broker import Broker
from bench.connection import Client
from bench.errors import check_count
from bench.isolation import in_own_process
from bench.librdkafka import Producer
from bench.process import Meter, Usage
from bench.row import Figure, Row, Sample, System, at_least, at_most

TOPIC = "many-partitions"
PARTITIONS = 1000
MESSAGE_BYTES = 100
MESSAGES = 2_000_000
SECONDS_MAX = 15.0


class Section(NamedTuple):
    """A measured section and the messages acknowledged in it."""

    messages: int
    usage: Usage


def produce(port: int, pid: int, count: int) -> Section:
    """Load: produce `count` messages, round robin."""
    producer = Producer(port, TOPIC, PARTITIONS, MESSAGE_BYTES, {})
    producer.produce(PARTITIONS, SECONDS_MAX)
    with Meter(pid) as meter:
        count = producer.produce(count, SECONDS_MAX)
    producer.close()
    return Section(count, meter.usage)


def measure(broker: Broker, scale: float) -> Sample:
    """Write to the topic, which the first turn creates."""
    with Client(broker.port) as client:
        if TOPIC not in client.metadata(None).topics:
            client.create_topics({TOPIC: PARTITIONS})
        before = client.end_offset(TOPIC, PARTITIONS)
        section = in_own_process(produce, broker.port, broker.pid, int(MESSAGES * scale))
        gained = client.end_offset(TOPIC, PARTITIONS) - before
        check_count(section.messages + PARTITIONS, gained)
    millions = section.messages / 1e6
    return {
        "rate": millions / section.usage.seconds,
        "cpu": section.usage.broker_cpu / millions,
        "client_cpu": section.usage.client_cpu / millions,
    }


ROW = Row(
    name="many-partitions",
    title="1,000 partitions written evenly, one librdkafka client, 100 B messages",
    figures=(
        Figure("rate", "produce", "M/s", at_least(1.5)),
        Figure("cpu", "broker CPU", "s per million", at_most(0.4)),
        Figure("client_cpu", "client CPU", "s per million"),
    ),
    measure=measure,
    systems=(System.PEER, System.SUBJECT, System.SUBJECT_FSYNC),
)
