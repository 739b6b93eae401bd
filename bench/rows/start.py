"""From the start of the process to the first acknowledged message; a broker's memory, idle and in use.

The data directory is new (Kafka's formatted beforehand, which is not counted). A raw client tries every 5 ms
to have a topic created and one record acknowledged with acks=all. Idle is a while after that; in use is the
peak after a million small messages and some hundred megabytes of large batches went in and out.
"""

import time

from bench import wire
from bench.broker import RETRY_SECONDS, START_SECONDS_MAX, Broker
from bench.connection import Client
from bench.errors import BrokerFailed, Unanswered
from bench.isolation import in_own_process
from bench.process import memory, wait_until_quiet
from bench.row import Figure, Row, Sample, no_more_than
from bench.rows import fetch_batches, one_client

TOPIC = "start"
IDLE_SECONDS = 2.0
MESSAGES = 1_000_000
BATCH_BYTES = 1_000_000
LOG_BYTES = 400_000_000
FETCH_SECONDS = 2.0


def wait_until_acknowledged(broker: Broker, topic: str) -> None:
    """Try to create the topic and to have one record acknowledged until it works.

    Raises:
        BrokerFailed: the broker has ended, or the time is up.
    """
    batch = wire.batch_of([b"first"], int(time.time() * 1000))
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        broker.check_alive()
        try:
            with Client(broker.port) as client:
                while time.monotonic() < deadline:
                    client.metadata([topic], may_create=True)
                    if client.produce(topic, batch).error_code == wire.NO_ERROR:
                        return
                    time.sleep(RETRY_SECONDS)
        except (OSError, Unanswered):
            time.sleep(RETRY_SECONDS)
    raise BrokerFailed(f"{broker.name} acknowledged nothing in {START_SECONDS_MAX:.0f} s")


def use(broker: Broker, scale: float) -> None:
    """Put small messages and large batches in and out."""
    with Client(broker.port) as client:
        client.create_topics({one_client.TOPIC: 1, fetch_batches.TOPIC: 1})
    in_own_process(one_client.produce, broker.port, broker.pid, int(MESSAGES * scale))
    in_own_process(one_client.consume, broker.port, broker.pid, int(MESSAGES * scale))
    count = in_own_process(fetch_batches.fill, broker.port, BATCH_BYTES, int(LOG_BYTES * scale))
    in_own_process(fetch_batches.fetch, broker.port, broker.pid, BATCH_BYTES, count, FETCH_SECONDS * scale)


def measure(broker: Broker, scale: float) -> Sample:
    """Start the broker, time it, use it."""
    started = time.monotonic()
    broker.spawn()
    wait_until_acknowledged(broker, TOPIC)
    seconds = time.monotonic() - started
    time.sleep(IDLE_SECONDS)
    wait_until_quiet(broker.pid)
    idle = memory(broker.pid).now_mb
    use(broker, scale)
    return {"seconds": seconds, "idle": idle, "in_use": memory(broker.pid).peak_mb}


ROW = Row(
    name="start",
    title="start and memory",
    figures=(
        Figure("seconds", "start to first acknowledged message", "s", no_more_than(0.5)),
        Figure("idle", "memory, idle", "MB", no_more_than(60), digits=0),
        Figure("in_use", "memory, peak in use", "MB", no_more_than(150), digits=0),
    ),
    measure=measure,
    starts_broker=True,
)
