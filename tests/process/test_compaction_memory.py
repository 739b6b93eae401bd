"""Many keys, little memory: the helper's resident set stays within what the settings give it."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from riverlog.config import CleanerSettings
from riverlog.log import PartitionLog
from riverlog.log.cleaning.assignment import Assignment, cleanable_of
from riverlog.log.cleaning.helper_process import HelperProcess
from riverlog.log.cleaning.job import Outcome
from riverlog.protocol.compression import Compression
from riverlog.protocol.records import Record, build_batch
from tests.log_builders import NOW, append, new_log, read_all

BATCH_RECORDS = 500
IO_BYTES = 512 << 10
WORKING_BYTES = 16 << 20
"""What decoding takes beside the keys and the buffer: columns of one buffer's records, and what the allocator
keeps of them."""


def write(log: PartitionLog, keys: int, records: int) -> dict[bytes, bytes | None]:
    """Write records of random keys, each key at least once; some delete theirs. Give what they come to."""
    chance = random.Random(records)
    numbers = [*range(keys), *(chance.randrange(keys) for _ in range(records - keys))]
    chance.shuffle(numbers)
    model: dict[bytes, bytes | None] = {}
    for start in range(0, records, BATCH_RECORDS):
        batch = [
            Record(0, NOW, b"key-%d" % number, None if (start + number) % 50 == 0 else b"%d" % start)
            for number in numbers[start : start + BATCH_RECORDS]
        ]
        model.update((record.key or b"", record.value) for record in batch)
        codec = Compression.LZ4 if start % 3 == 0 else Compression.NONE
        append(log, build_batch(batch, compression=codec))
    assert log.roll_if_due(NOW + (1 << 50))
    return model


def peak(pid: int) -> int:
    """The largest resident set that a process ever had, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the process is gone")


async def clean_all(log: PartitionLog, warm_up: PartitionLog, map_bytes: int) -> tuple[list[Outcome], int]:
    """Clean to the end, round by round; give the rounds, and by how much the helper's memory grew."""
    settings = CleanerSettings(log_cleaner_dedupe_buffer_size=map_bytes, log_cleaner_io_buffer_size=IO_BYTES)
    helper = await HelperProcess.start()

    async def round_of(each: PartitionLog) -> Outcome:
        assignment = Assignment(each, cleanable_of(each, NOW))
        outcome = await helper.run(
            assignment.job(settings, NOW), lambda replacement: assignment.put_in_place(replacement, NOW)
        )
        each.sync_names()
        assignment.finish(outcome)
        return outcome

    try:
        await round_of(warm_up)
        before = peak(helper.pid)
        rounds = []
        while log.cleaned_offset < log.log_end_offset:
            rounds.append(await round_of(log))
        return rounds, peak(helper.pid) - before
    finally:
        await helper.stop()


def check(tmp_path: Path, *, keys: int, records: int, map_bytes: int, rounds_min: int) -> None:
    settings = {"cleanup_policy": frozenset({"compact"}), "segment_bytes": 8 << 20}
    warm_up = new_log(tmp_path / "warm-up", **settings)
    write(warm_up, 100, 1000)
    log = new_log(tmp_path / "data", **settings)
    model = write(log, keys, records)

    rounds, growth = asyncio.run(clean_all(log, warm_up, map_bytes))

    assert len(rounds) >= rounds_min
    assert all(each.map_memory_bytes <= map_bytes for each in rounds)
    assert growth <= map_bytes + IO_BYTES + WORKING_BYTES
    found = read_all(log)
    assert {record.key: record.value for record in found} == model
    assert len(found) == len(model)


def test_a_map_of_half_a_megabyte_cleans_forty_thousand_keys(tmp_path: Path) -> None:
    check(tmp_path, keys=40_000, records=100_000, map_bytes=1 << 19, rounds_min=4)


@pytest.mark.slow
def test_a_million_keys_are_cleaned_in_a_few_rounds_of_sixteen_megabytes(tmp_path: Path) -> None:
    check(tmp_path, keys=1_000_000, records=2_500_000, map_bytes=16 << 20, rounds_min=3)


@pytest.mark.slow
def test_a_million_keys_are_cleaned_at_once_with_the_default_memory(tmp_path: Path) -> None:
    check(tmp_path, keys=1_000_000, records=2_500_000, map_bytes=128 << 20, rounds_min=1)
