"""Rows 48-51: what compaction leaves, and when.

A segment cannot be smaller than 1 MB, so batches are large here. Cleaning begins when the broker gets round
to it: within 15 s by Kafka's default.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from riverlog.protocol.compression import Compression
from riverlog.protocol.records import Record, build_batch
from tests.process.raw_client import RawClient

from .asking import StoredBatch, Topic, append, batches_of, eventually, fetch, list_offset, log_end
from .transactional import TransactionalProducer

NewTopic = Callable[..., Topic]

SEGMENT_BYTES = 1 << 20
FILLER_BYTES = 400_000
FILLERS = 3
"""So many make a segment overflow: all before the last of them is sealed then."""
FILLER = b"filler"
HOUR = "3600000"
COMPACTED = {
    "cleanup_policy": "compact",
    "segment_bytes": str(SEGMENT_BYTES),
    "min_cleanable_dirty_ratio": "0.001",
}


def put(client: RawClient, topic: Topic, *pairs: tuple[bytes, bytes | None]) -> int:
    """Append one batch; give the offset behind it."""
    now = int(time.time() * 1000)
    return append(client, topic, build_batch([Record(0, now, key, value) for key, value in pairs]))


def seal(client: RawClient, topic: Topic) -> int:
    """Fill the segment, so that all before the last batch is in a sealed one; give that batch's offset."""
    chance = random.Random(1)
    for _ in range(FILLERS):
        end = put(client, topic, (FILLER, chance.randbytes(FILLER_BYTES)))
    return end - 1


def all_stored(client: RawClient, topic: Topic) -> list[StoredBatch]:
    """Read a partition from its start to its end, as a consumer goes: from batch to batch."""
    offset, end = list_offset(client, topic, -2).offset, log_end(client, topic)
    found: list[StoredBatch] = []
    while offset < end:
        reply = fetch(client, topic, offset)
        assert reply.error_code == 0
        batches = batches_of(reply.records)
        assert batches, f"nothing is found from {offset} on, and the log ends at {end}"
        found += batches
        offset = batches[-1].header.next_offset
    # A marker may have been written meanwhile.
    assert offset >= end
    return found


def records_of(client: RawClient, topic: Topic) -> list[Record]:
    """Give all records but those that fill segments."""
    return [
        record
        for batch in all_stored(client, topic)
        if not batch.header.is_control
        for record in batch.records
        if record.key != FILLER
    ]


def is_gone(client: RawClient, topic: Topic, offset: int) -> bool:
    return offset not in {record.offset for record in records_of(client, topic)}


def await_gone(client: RawClient, topic: Topic, offset: int) -> None:
    eventually(lambda: is_gone(client, topic, offset), f"offset {offset} of {topic.name} is compacted away")


def test_the_last_value_of_each_key_stays_at_its_offset(client: RawClient, new_topic: NewTopic) -> None:
    """Row 48: whatever the batches and their codecs; and the active segment is never touched."""
    topic = new_topic(**COMPACTED)
    chance = random.Random(48)
    now = int(time.time() * 1000)
    written: list[Record] = []
    for number in range(120):
        records = [
            Record(
                0, now + number, b"key-%d" % chance.randrange(300), chance.randbytes(chance.randrange(300))
            )
            for _ in range(chance.choice((1, 3, 20)))
        ]
        end = append(client, topic, build_batch(records, compression=Compression(number % 5)))
        written += [
            record._replace(offset=end - len(records) + index) for index, record in enumerate(records)
        ]
    first_active = seal(client, topic)
    put(client, topic, (b"key-1", b"new"), (b"key-1", b"newer"))

    await_gone(client, topic, 0)

    last = {record.key: record.offset for record in written}
    expected = [record for record in written if last[record.key] == record.offset]
    found = records_of(client, topic)
    assert [record for record in found if record.offset < first_active] == expected
    assert [record.value for record in found if record.offset > first_active] == [b"new", b"newer"]


def test_the_lag_settings_say_when_a_record_may_go(client: RawClient, new_topic: NewTopic) -> None:
    """Row 48: not before min.compaction.lag.ms, and by max.compaction.lag.ms however little is dirty."""
    protected = new_topic(**COMPACTED, min_compaction_lag_ms=HOUR)
    hurried = new_topic(**{**COMPACTED, "min_cleanable_dirty_ratio": "1.0"}, max_compaction_lag_ms="1000")
    patient = new_topic(**{**COMPACTED, "min_cleanable_dirty_ratio": "1.0"})
    for topic in (protected, patient, hurried):
        put(client, topic, (b"a", b"1"), (b"a", b"2"))
        seal(client, topic)

    await_gone(client, hurried, 0)
    # What was written later has been cleaned, so the others have been looked at.
    later = new_topic(**COMPACTED)
    put(client, later, (b"a", b"1"), (b"a", b"2"))
    seal(client, later)
    await_gone(client, later, 0)

    assert not is_gone(client, protected, 0)
    assert not is_gone(client, patient, 0)


def test_a_tombstone_stays_for_its_time_after_its_first_cleaning(
    client: RawClient, new_topic: NewTopic
) -> None:
    """Row 49: delete.retention.ms counts from the cleaning that first met it, not from its timestamp."""
    short = new_topic(**COMPACTED, delete_retention_ms="1000")
    long = new_topic(**COMPACTED, delete_retention_ms=HOUR)
    for topic in (short, long):
        put(client, topic, (b"a", b"1"), (b"b", b"1"))
        put(client, topic, (b"a", None), (b"c", None))
        seal(client, topic)
        await_gone(client, topic, 0)
        # The first cleaning took what was deleted, and left the word of it.
        assert [record.offset for record in records_of(client, topic)] == [1, 2, 3]

    def cleaned_again(topic: Topic) -> bool:
        """Give the broker reason to clean once more, and see whether the tombstones are gone."""
        put(client, topic, (b"x", b"1"))
        seal(client, topic)
        return is_gone(client, topic, 2)

    eventually(lambda: cleaned_again(short), "the tombstone goes when its time is over")
    second = put(client, long, (b"x", b"1"), (b"x", b"2")) - 2
    seal(client, long)
    await_gone(client, long, second)

    assert [record.offset for record in records_of(client, short)][:1] == [1]
    assert not is_gone(client, long, 2)
    assert not is_gone(client, long, 3)


def test_a_consumer_reaches_the_end_of_a_compacted_log(client: RawClient, new_topic: NewTopic) -> None:
    """Row 50: from every offset, those that are gone included; and the newest record is found by its time."""
    topic = new_topic(**COMPACTED)
    put(client, topic, *((b"a", b"%d" % number) for number in range(10)))
    seal(client, topic)
    end = put(client, topic, (b"b", b"1"))

    await_gone(client, topic, 0)

    for start in range(end):
        offset = start
        while offset < end:
            batches = batches_of(fetch(client, topic, offset).records)
            assert batches
            assert batches[-1].header.next_offset > offset
            offset = batches[-1].header.next_offset
        assert offset == end
    assert list_offset(client, topic, -2).offset == 0
    assert list_offset(client, topic, -1).offset == end
    assert list_offset(client, topic, 0).offset == 9


def test_compaction_does_not_pass_an_open_transaction(client: RawClient, new_topic: NewTopic) -> None:
    """Row 51: what lies behind its first record stays until it is decided."""
    topic = new_topic(**COMPACTED)
    put(client, topic, (b"a", b"1"), (b"a", b"2"))
    seal(client, topic)
    producer = TransactionalProducer(client, f"compaction-{topic.name}").init()
    producer.send(topic)
    behind = put(client, topic, (b"b", b"1"), (b"b", b"2")) - 2
    seal(client, topic)
    seal(client, topic)

    await_gone(client, topic, 0)
    later = new_topic(**COMPACTED)
    put(client, later, (b"a", b"1"), (b"a", b"2"))
    seal(client, later)
    await_gone(client, later, 0)
    assert not is_gone(client, topic, behind)

    producer.end()
    put(client, topic, (b"c", b"1"))
    await_gone(client, topic, behind)
