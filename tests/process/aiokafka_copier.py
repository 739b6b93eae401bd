"""The same copier with aiokafka, which knows no membership in transactions: each copier has its partitions.

    python -m tests.process.aiokafka_copier BOOTSTRAP SOURCE SINK GROUP copier-N SEED

Copier N of two has every second partition, and its transactional id keeps it alone with them: whoever
comes after it first fences it, and only then asks where it was. Whatever it cannot go on after ends it with
exit code 1; whoever started it starts it again.
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from tests.process.copier import ABORT_CHANCE, RECORDS_MAX, TRANSACTION_MS

COPIERS = 2
TRANSACTION_SECONDS_MAX = 10.0
START_SECONDS_MAX = 20.0


async def copy(bootstrap: str, source: str, sink: str, group: str, name: str, seed: int) -> None:
    """Copy for ever."""
    chance = random.Random(seed)
    shared = {"bootstrap_servers": bootstrap, "retry_backoff_ms": 50}
    producer = AIOKafkaProducer(transactional_id=name, transaction_timeout_ms=TRANSACTION_MS, **shared)
    consumer = AIOKafkaConsumer(
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        fetch_max_wait_ms=50,
        **shared,
    )
    async with asyncio.timeout(START_SECONDS_MAX):
        await producer.start()
        await consumer.start()
        number = int(name.rpartition("-")[2])
        partitions = await producer.partitions_for(source)
        consumer.assign([TopicPartition(source, each) for each in partitions if each % COPIERS == number])
    while True:
        found = await consumer.getmany(timeout_ms=500, max_records=chance.randint(1, RECORDS_MAX))
        records = [record for each in found.values() for record in each]
        if not records:
            continue
        async with asyncio.timeout(TRANSACTION_SECONDS_MAX):
            await producer.begin_transaction()
            for record in records:
                await producer.send(sink, record.value, record.key, record.partition)
            ends = {place: each[-1].offset + 1 for place, each in found.items() if each}
            await producer.send_offsets_to_transaction(ends, group)
            if chance.random() >= ABORT_CHANCE:
                await producer.commit_transaction()
                continue
            await producer.abort_transaction()
            for place, each in found.items():
                consumer.seek(place, each[0].offset)


def main() -> int:
    """Copy until something ends it."""
    logging.disable()  # the broker's crashes are what the test is about
    bootstrap, source, sink, group, name, seed = sys.argv[1:]
    try:
        asyncio.run(copy(bootstrap, source, sink, group, name, int(seed)))
    except (KafkaError, TimeoutError) as refused:
        print(f"{name}: {refused!r}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
