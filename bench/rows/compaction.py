"""Compaction: how fast the cleaner goes through a log, and what a producer beside it notices.

A topic with `cleanup.policy=delete` is filled with records whose keys were all written many times, in batches
of 16 KB. Then the policy becomes `compact`, and the clock runs until nothing below the active segment is
dirty. How far a log is clean stands in `cleaner-offset-checkpoint` in the data directory, for both brokers.
The rate is that of the bytes that were dirty. After it exactly one record per key must be left of them.

Then it is done once more while a producer, for as long as the first time took, sends batches of ten messages
as fast as they are acknowledged; its rate is compared with its rate before, alone.

`log.cleaner.backoff.ms`, the pause between two looks for something to clean, is 100 ms for every broker: the
15 s by default would be most of what is measured. All else is the default; so there is one cleaner.
"""

import random
import struct
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NamedTuple

from bench import wire
from bench.broker import Broker
from bench.connection import Client, connect, learn_produce_shape, pump
from bench.errors import Refused, Unanswered, check_count
from bench.isolation import Load, in_own_process, meeting_point
from bench.process import Meter, Usage, memory, wait_until_quiet
from bench.row import Figure, Row, Sample, at_least, at_most

LOG_BYTES = 150_000_000
TAPE_BYTES = 16_000_000
"""So much is built, and then sent again and again."""
BATCH_BYTES = 16_384
SEGMENT_BYTES = 25_000_000
RECORDS_PER_KEY = 3
"""How often a key is on the tape, on average; with equal probability for each key and place."""
VALUE_SIZES = {"100": 100, "1000": 1000}
FILL_SECONDS_MAX = 60.0
CLEAN_SECONDS_MAX = 90.0
POLL_SECONDS = 0.01
BESIDE_TOPIC = "compaction-beside"
BESIDE_MESSAGES = 10
BESIDE_SECONDS = 2.0
BESIDE_SECONDS_MIN = 0.5
IN_FLIGHT = 5
MEETING_SECONDS_MAX = 30.0
FETCH_BYTES = 1 << 20

TOPIC_CONFIGS = {
    "cleanup.policy": "delete",
    "segment.bytes": str(SEGMENT_BYTES),
    "min.cleanable.dirty.ratio": "0.01",
}


class Filled(NamedTuple):
    """How many records a log was given, and how many keys they have."""

    records: int
    keys: int


class Cleaned(NamedTuple):
    """A cleaning: how much was dirty, and what going through it took."""

    dirty_bytes: int
    usage: Usage


def keyed_batches(size: int, value_bytes: int, seed: int) -> tuple[list[bytes], int]:
    """Build batches of so many bytes in all, of equal size and record count; tell how many keys they have."""
    randomness = random.Random(seed)
    value = bytes(index & 0xFF for index in range(value_bytes))
    record_size = len(wire.record(0, value, key_of(0)))
    per_batch = BATCH_BYTES // record_size
    batch_count = max(1, size // (per_batch * record_size))
    key_count = max(1, batch_count * per_batch // RECORDS_PER_KEY)
    now = int(time.time() * 1000)
    seen: set[int] = set()
    batches = []
    for _ in range(batch_count):
        keys = [randomness.randrange(key_count) for _ in range(per_batch)]
        seen.update(keys)
        records = [wire.record(delta, value, key_of(key)) for delta, key in enumerate(keys)]
        batches.append(wire.batch_of_records(records, now))
    return batches, len(seen)


def key_of(number: int) -> bytes:
    """Return a key; all have the same size."""
    return b"key-%012d" % number


def fill(port: int, topic: str, value_bytes: int, log_bytes: int) -> Filled:
    """Load: write the log, going round and round the tape."""
    batches, keys = keyed_batches(min(TAPE_BYTES, log_bytes), value_bytes, seed=value_bytes)
    requests = [wire.produce_request(topic, 0, batch, 1) for batch in batches]
    with Client(port) as client:
        shape = learn_produce_shape(client, requests[0])
    lane = connect(port)
    wanted = max(log_bytes // len(batches[0]), len(batches))
    count = pump([lane], requests, shape, IN_FLIGHT, wanted, FILL_SECONDS_MAX) + 1
    lane.close()
    per_batch = struct.unpack_from(">i", batches[0], wire.RECORD_COUNT)[0]
    return Filled(count * per_batch, keys)


def count_records(port: int, topic: str, end: int) -> int:
    """Load: read the log up to an offset; return how many records it still has."""
    offset = count = 0
    with Client(port) as client:
        while offset < end:
            frame = client.call(wire.fetch_request(topic, 0, offset, FETCH_BYTES))
            fetched = wire.read_fetched(frame)
            if fetched.error_code != wire.NO_ERROR or not fetched.records_size:
                raise Refused(f"Fetch at {offset} answered {fetched}")
            position = fetched.records_start
            stop = position + fetched.records_size
            while position + wire.BATCH_HEADER.size <= stop and offset < end:
                base, length = struct.unpack_from(">qi", frame, position)
                if position + 12 + length > stop:
                    break  # the end of a batch that did not fit
                delta = struct.unpack_from(">i", frame, position + wire.LAST_OFFSET_DELTA)[0]
                if base < end:
                    count += struct.unpack_from(">i", frame, position + wire.RECORD_COUNT)[0]
                offset = base + delta + 1
                position += 12 + length
    return count


def produce(port: int, seconds: float, ready: Barrier) -> float:
    """Load: produce small batches for so many seconds; return batches per second."""
    batch = wire.batch_of([b"x" * 100] * BESIDE_MESSAGES, int(time.time() * 1000))
    request = wire.produce_request(BESIDE_TOPIC, 0, batch, 1)
    with Client(port) as client:
        shape = learn_produce_shape(client, request)
    lane = connect(port)
    ready.wait(MEETING_SECONDS_MAX)
    started = time.monotonic()
    count = pump([lane], [request], shape, IN_FLIGHT, 1 << 40, seconds)
    rate = count / (time.monotonic() - started)
    lane.close()
    return rate


def clean_up_to(checkpoint: str, topic: str) -> int:
    """Read up to which offset the first partition of a topic is clean, out of a checkpoint file's text.

    version, number of entries, then an entry a line: topic partition offset
    """
    for line in checkpoint.splitlines()[2:]:
        name, partition, offset = line.split()
        if (name, partition) == (topic, "0"):
            return int(offset)
    return 0


def wait_until_clean(data: Path, topic: str, end: int) -> None:
    """Wait until the checkpoint says that the log is clean up to an offset."""
    path = data / "cleaner-offset-checkpoint"
    deadline = time.monotonic() + CLEAN_SECONDS_MAX
    clean = 0
    while time.monotonic() < deadline:
        if path.exists():
            clean = clean_up_to(path.read_text(), topic)
        if clean >= end:
            return
        time.sleep(POLL_SECONDS)
    raise Unanswered(f"clean up to {clean}, not to {end}, after {CLEAN_SECONDS_MAX:.0f} s")


def clean(broker: Broker, client: Client, topic: str, end: int) -> Cleaned:
    """Allow cleaning and wait for its end."""
    dirty = sum(path.stat().st_size for path in segments(broker.data, topic) if int(path.stem) < end)
    with Meter(broker.pid) as meter:
        client.alter_topic(topic, {"cleanup.policy": "compact"})
        wait_until_clean(broker.data, topic, end)
    return Cleaned(dirty, meter.usage)


def segments(data: Path, topic: str) -> list[Path]:
    """Return the segments of a topic's first partition."""
    return sorted((data / f"{topic}-0").glob("*.log"))


def fill_and_rest(broker: Broker, client: Client, topic: str, value_bytes: int, log_bytes: int) -> Filled:
    """Create a topic and fill it; return when the broker has come to rest."""
    client.create_topics({topic: 1}, TOPIC_CONFIGS)
    filled = in_own_process(fill, broker.port, topic, value_bytes, log_bytes)
    check_count(filled.records, client.end_offset(topic))
    wait_until_quiet(broker.pid)
    return filled


def clean_alone(broker: Broker, client: Client, topic: str, value_bytes: int, log_bytes: int) -> Cleaned:
    """Fill a topic, clean it with nothing else going on, look at what is left, delete it."""
    filled = fill_and_rest(broker, client, topic, value_bytes, log_bytes)
    end = int(segments(broker.data, topic)[-1].stem)
    cleaned = clean(broker, client, topic, end)
    check_count(filled.keys, in_own_process(count_records, broker.port, topic, end))
    client.delete_topic(topic)
    return cleaned


def clean_beside_producer(
    broker: Broker, client: Client, topic: str, value_bytes: int, log_bytes: int, seconds: float
) -> tuple[Cleaned, float]:
    """Fill a topic and clean it while a producer works; tell what share of its rate the producer keeps."""
    fill_and_rest(broker, client, topic, value_bytes, log_bytes)
    client.create_topics({BESIDE_TOPIC: 1})
    alone = in_own_process(produce, broker.port, BESIDE_SECONDS, meeting_point(1))
    ready = meeting_point(2)
    with Load(produce, broker.port, max(seconds, BESIDE_SECONDS_MIN), ready) as producer:
        ready.wait(MEETING_SECONDS_MAX)
        cleaned = clean(broker, client, topic, int(segments(broker.data, topic)[-1].stem))
        beside = producer.result()
    client.delete_topic(BESIDE_TOPIC)
    client.delete_topic(topic)
    return cleaned, beside / alone


def measure(broker: Broker, scale: float) -> Sample:
    """Clean a log of small records, then two of larger ones."""
    sample: dict[str, float] = {}
    turn = time.monotonic_ns()
    log_bytes = max(int(LOG_BYTES * scale), 2 * SEGMENT_BYTES)
    with Client(broker.port) as client:
        for name, value_bytes in VALUE_SIZES.items():
            topic = f"compaction-{turn}-{name}"
            cleaned = clean_alone(broker, client, topic, value_bytes, log_bytes)
            sample[name] = cleaned.dirty_bytes / 1e6 / cleaned.usage.seconds
            sample[f"{name}_cpu"] = cleaned.usage.broker_cpu / (cleaned.dirty_bytes / 1e9)
        topic = f"compaction-{turn}-beside"
        cleaned, kept = clean_beside_producer(
            broker, client, topic, value_bytes, log_bytes, cleaned.usage.seconds
        )
    sample["beside"] = cleaned.dirty_bytes / 1e6 / cleaned.usage.seconds
    sample["kept"] = kept * 100
    sample["memory"] = memory(broker.pid).peak_mb
    return sample


ROW = Row(
    name="compaction",
    title="a log of keys written many times is compacted",
    figures=(
        Figure("100", "100 B values", "MB/s", at_least(1.0), digits=1),
        Figure("100_cpu", "100 B values, broker CPU", "s per GB", at_most(1.0), digits=1),
        Figure("1000", "1 KB values", "MB/s", at_least(1.0), digits=1),
        Figure("1000_cpu", "1 KB values, broker CPU", "s per GB", at_most(1.0), digits=1),
        Figure("beside", "1 KB values, beside a producer", "MB/s", at_least(1.0), digits=1),
        Figure("kept", "rate that the producer keeps", "%", at_least(1.0), digits=0),
        Figure("memory", "memory, peak", "MB", at_most(1.0), digits=0),
    ),
    measure=measure,
    settings={"log.cleaner.backoff.ms": "100"},
)
