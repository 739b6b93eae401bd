"""A shard: what the log takes the machine replays, nothing else, and all of it or nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from riverlog.config import GroupSettings
from riverlog.groups.machine import GroupMachine
from riverlog.groups.records import CommittedOffset, GroupRecord, OffsetCommit, decode
from riverlog.groups.surroundings import Surroundings
from riverlog.log import PartitionLog
from riverlog.protocol.batches import read_header
from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.records import read_records
from riverlog.shards import Shard
from tests.unit.shards.memory_log import MemoryLog

NOW_MS = 1_700_000_000_000


def shard_on(log: MemoryLog) -> Shard[GroupMachine]:
    return Shard(cast(PartitionLog, log), GroupMachine(Surroundings(GroupSettings())))


def commits(count: int, *, offset: int | None = 5) -> list[GroupRecord]:
    value = None if offset is None else CommittedOffset(offset, -1, "", NOW_MS)
    return [OffsetCommit("g", "t", partition, value) for partition in range(count)]


def test_what_is_appended_is_one_batch_and_is_replayed() -> None:
    log = MemoryLog()
    shard = shard_on(log)

    error_code = shard.append(commits(2), NOW_MS, Compression.NONE)

    (batch,) = log.batches
    records = list(read_records(batch))
    assert error_code == 0
    assert [decode(record.key or b"", record.value) for record in records] == commits(2)
    assert [record.timestamp for record in records] == [NOW_MS, NOW_MS]
    assert len(shard.machine.offsets.known_partitions("g")) == 2


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD])
def test_the_batch_is_compressed_as_the_settings_say(compression: Compression) -> None:
    log = MemoryLog()

    shard_on(log).append(commits(3), NOW_MS, compression)

    assert read_header(log.batches[0]).compression == compression


def test_what_the_log_refuses_is_not_replayed() -> None:
    log = MemoryLog()
    log.refusal = ErrorCode.KAFKA_STORAGE_ERROR
    shard = shard_on(log)

    assert shard.append(commits(1), NOW_MS, Compression.NONE) == ErrorCode.KAFKA_STORAGE_ERROR
    assert not shard.machine.offsets.has_any("g")


def test_a_commit_that_is_too_large_is_refused_as_a_whole() -> None:
    log = MemoryLog()
    log.settings = replace(log.settings, max_message_bytes=1000)
    shard = shard_on(log)

    assert shard.append(commits(100), NOW_MS, Compression.NONE) == ErrorCode.MESSAGE_TOO_LARGE
    assert log.batches == []


def test_removals_that_are_too_many_for_a_batch_are_several() -> None:
    log = MemoryLog()
    shard = shard_on(log)
    shard.append(commits(100), NOW_MS, Compression.NONE)

    log.settings = replace(log.settings, max_message_bytes=1000)
    error_code = shard.append(commits(100, offset=None), NOW_MS, Compression.NONE)

    assert error_code == 0
    assert len(log.batches) > 2
    assert not shard.machine.offsets.has_any("g")


def test_a_topic_that_demands_more_replicas_than_there_are_takes_nothing() -> None:
    log = MemoryLog()
    log.settings = replace(log.settings, min_insync_replicas=2)

    assert shard_on(log).append(commits(1), NOW_MS, Compression.NONE) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert log.batches == []


@pytest.mark.parametrize(("durability", "is_safe"), [("fsync", False), ("page-cache", True)])
def test_what_is_appended_is_safe_when_the_topic_s_durability_says_so(durability: str, is_safe: bool) -> None:
    log = MemoryLog(durability=durability)
    shard = shard_on(log)
    shard.append(commits(1), NOW_MS, Compression.NONE)

    before = shard.is_safe
    log.flush()

    assert before == is_safe
    assert shard.is_safe
