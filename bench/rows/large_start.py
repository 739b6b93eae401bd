"""Start with 10,000 partitions that were stopped cleanly: time until all of them are served.

Riverlog alone. The partitions hold one message each. The clock runs from the start of the process until
Metadata shows a leader for every partition and a produce is acknowledged.
"""

import time

from bench.broker import RETRY_SECONDS, START_SECONDS_MAX, Broker
from bench.connection import Client
from bench.errors import BrokerFailed, Unanswered
from bench.isolation import in_own_process
from bench.librdkafka import Producer
from bench.process import memory
from bench.row import Figure, Row, Sample, System, no_more_than
from bench.rows.start import wait_until_acknowledged

TOPICS = 10
PARTITIONS = 1000
MESSAGE_BYTES = 100
SECONDS_MAX = 30.0


def fill(port: int, topic: str) -> None:
    """Load: one message to every partition of a topic."""
    producer = Producer(port, topic, PARTITIONS, MESSAGE_BYTES, {})
    producer.produce(PARTITIONS, SECONDS_MAX)
    producer.close()


def wait_until_all_are_led(broker: Broker, topics: dict[str, int]) -> None:
    """Ask for all topics until every partition has a leader.

    Raises:
        BrokerFailed: the broker has ended, or the time is up.
    """
    expected = {name: (0, partitions) for name, partitions in topics.items()}
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        broker.check_alive()
        try:
            with Client(broker.port) as client:
                if client.metadata(None).topics == expected:
                    return
        except (OSError, Unanswered):
            pass  # not listening yet
        time.sleep(RETRY_SECONDS)
    raise BrokerFailed(f"{broker.name} does not lead all partitions after {START_SECONDS_MAX:.0f} s")


def measure(broker: Broker, _: float) -> Sample:
    """Create and fill the partitions, stop, start again."""
    topics = {f"large-start-{index}": PARTITIONS for index in range(TOPICS)}
    broker.start()
    created = time.monotonic()
    with Client(broker.port) as client:
        # One by one: where a file takes a millisecond to create, all at once take longer than a request may.
        for name, partitions in topics.items():
            client.create_topics({name: partitions})
    creation = time.monotonic() - created
    for topic in topics:
        in_own_process(fill, broker.port, topic)
    stopped = time.monotonic()
    broker.stop()
    stop = time.monotonic() - stopped

    started = time.monotonic()
    broker.spawn()
    wait_until_all_are_led(broker, topics)
    wait_until_acknowledged(broker, next(iter(topics)))
    seconds = time.monotonic() - started
    return {"seconds": seconds, "creation": creation, "stop": stop, "idle": memory(broker.pid).now_mb}


ROW = Row(
    name="large-start",
    title="10,000 partitions",
    figures=(
        Figure("seconds", "start to first acknowledged message", "s", no_more_than(3)),
        Figure("creation", "creation of 10 topics of 1,000", "s"),
        Figure("stop", "clean stop", "s"),
        Figure("idle", "memory after the start", "MB", digits=0),
    ),
    measure=measure,
    systems=(System.SUBJECT,),
    starts_broker=True,
)
