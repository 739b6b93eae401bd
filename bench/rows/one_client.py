"""One librdkafka client, 100-byte messages, one partition: what a message costs the broker, and how fast it
goes.

The client is the limit here, so the rate says little about the broker and the broker's CPU says much.
acks=all and lingering are librdkafka's defaults; so are its fetch sizes.
"""

from typing import NamedTuple

from bench.broker import Broker
from bench.connection import Client
from bench.errors import LoadFailed, check_count
from bench.isolation import in_own_process
from bench.librdkafka import Consumer, Producer
from bench.process import Meter, Usage
from bench.row import Figure, Row, Sample, System, at_least, at_most

TOPIC = "one-client"
MESSAGE_BYTES = 100
MESSAGES = 4_000_000
SCALE_MIN = 0.5  # with fewer messages, the first moments of a client are most of what is seen
SECONDS_MAX = 30.0
SETTINGS_CONSUMER = {"fetch.queue.backoff.ms": "1"}
"""By default librdkafka pauses a second whenever its queue of fetched messages is full: mere chance."""


class Section(NamedTuple):
    """A measured section and how many messages it moved."""

    messages: int
    usage: Usage


def produce(port: int, pid: int, count: int) -> Section:
    """Load: produce `count` messages."""
    producer = Producer(port, TOPIC, 1, MESSAGE_BYTES, {})
    producer.produce(1, SECONDS_MAX)  # connected, and the partition's leader known
    with Meter(pid) as meter:
        count = producer.produce(count, SECONDS_MAX)
    producer.close()
    return Section(count, meter.usage)


def consume(port: int, pid: int, count: int) -> Section:
    """Load: consume `count` messages."""
    consumer = Consumer(port, TOPIC, SETTINGS_CONSUMER)
    consumer.start()
    first = consumer.consume(1, SECONDS_MAX)
    with Meter(pid) as meter:
        consumed = consumer.consume(count - first, SECONDS_MAX)
    consumer.close()
    if first + consumed < count:
        raise LoadFailed(f"consumed {first + consumed} of {count} messages in {SECONDS_MAX} s")
    return Section(consumed, meter.usage)


def measure(broker: Broker, scale: float) -> Sample:
    """Produce to a new topic, consume it, delete it."""
    with Client(broker.port) as client:
        client.create_topics({TOPIC: 1})
        produced = in_own_process(produce, broker.port, broker.pid, int(MESSAGES * max(scale, SCALE_MIN)))
        end_offset = client.end_offset(TOPIC)
        check_count(produced.messages + 1, end_offset)
        consumed = in_own_process(consume, broker.port, broker.pid, end_offset)
        client.delete_topic(TOPIC)
    sample = {}
    for name, (count, usage) in {"produce": produced, "consume": consumed}.items():
        millions = count / 1e6
        sample[f"{name}_cpu"] = usage.broker_cpu / millions
        sample[f"{name}_rate"] = millions / usage.seconds
        sample[f"{name}_client_cpu"] = usage.client_cpu / millions
    return sample


ROW = Row(
    name="one-client",
    title="one librdkafka client, 100 B messages",
    figures=(
        Figure("produce_cpu", "produce, broker CPU", "s per million", at_most(0.30)),
        Figure("consume_cpu", "consume, broker CPU", "s per million", at_most(0.35), digits=3),
        Figure("produce_rate", "produce", "M/s", at_least(1.1)),
        Figure("consume_rate", "consume", "M/s", at_least(1.1)),
        Figure("produce_client_cpu", "produce, client CPU", "s per million"),
        Figure("consume_client_cpu", "consume, client CPU", "s per million"),
    ),
    measure=measure,
    systems=(System.PEER, System.SUBJECT, System.SUBJECT_FSYNC),
)
