"""Start after a crash with a gigabyte of log: time until it serves, and whether all of it is still there.

The log is written with acks=1 in small batches, the most there is to check per byte, and the broker is killed
right after the last acknowledgement, without a pause in which it could checkpoint. The files are in the page
cache, since only the process dies. The clock runs from the start of the process to a record acknowledged.
"""

import time

from bench.broker import Broker
from bench.connection import Client
from bench.errors import check_count
from bench.isolation import in_own_process
from bench.row import Figure, Row, Sample, System, no_more_than
from bench.rows import fetch_batches
from bench.rows.start import wait_until_acknowledged

LOG_BYTES = 1_000_000_000
BATCH_BYTES = 16_384
OTHER_TOPIC = "crash-start"


def measure(broker: Broker, scale: float) -> Sample:
    """Fill the log, kill, start again, count."""
    broker.start()
    with Client(broker.port) as client:
        client.create_topics({fetch_batches.TOPIC: 1})
    in_own_process(fetch_batches.fill, broker.port, BATCH_BYTES, int(LOG_BYTES * scale))
    with Client(broker.port) as client:
        before = client.end_offset(fetch_batches.TOPIC)
    broker.kill()

    started = time.monotonic()
    broker.spawn()
    wait_until_acknowledged(broker, OTHER_TOPIC)
    seconds = time.monotonic() - started
    with Client(broker.port) as client:
        check_count(before, client.end_offset(fetch_batches.TOPIC))
    return {"seconds": seconds}


ROW = Row(
    name="crash-start",
    title="start after a crash with 1 GB of log",
    figures=(Figure("seconds", "start to first acknowledged message", "s", no_more_than(3)),),
    measure=measure,
    systems=(System.PEER, System.SUBJECT, System.SUBJECT_FSYNC),
    starts_broker=True,
)
