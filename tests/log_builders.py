"""Builders for tests of the log: a manager on a temporary directory, partitions, batches appended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riverlog.config import LogSettings, TopicSettings
from riverlog.log import Disk, LogManager, PartitionLog
from riverlog.protocol.batches import split_batches
from riverlog.protocol.records import Record, read_records
from riverlog.types import TopicPartition
from tests.batch_builders import BATCH_TIME_MS, batch

NOW = BATCH_TIME_MS + 60_000
ORDERS = TopicPartition("orders", 0)
TOPIC_ID = bytes(range(16))


def manager(
    *directories: Path,
    disk: Disk | None = None,
    settings: TopicSettings | None = None,
    log_settings: dict[str, Any] | None = None,
    load: bool = True,
    **options: Any,
) -> LogManager:
    """A manager over some directories, all topics with the same settings, loaded."""
    topic = settings or TopicSettings()
    made = LogManager(
        LogSettings(log_dirs=tuple(map(str, directories)), **(log_settings or {})),
        lambda _topic: topic,
        disk=disk,
        **options,
    )
    if load:
        made.load(NOW)
    return made


def new_log(directory: Path, *, disk: Disk | None = None, **settings: Any) -> PartitionLog:
    """A new partition in a directory of its own."""
    made = manager(directory, disk=disk, settings=TopicSettings(**settings))
    return made.create(ORDERS, TOPIC_ID, NOW)


def reopened(log: PartitionLog, *, disk: Disk | None = None, **settings: Any) -> PartitionLog:
    """The same partition as the next process finds it, without having been closed."""
    log.directory.close()
    made = manager(Path(log.directory.path), disk=disk, settings=TopicSettings(**settings))
    found = made.get(log.topic_partition)
    assert found is not None, made.failed
    return found


def append(log: PartitionLog, data: bytearray | None = None, *, now_ms: int = NOW, **options: Any) -> int:
    """Append a batch (by default one of three records) and give its base offset."""
    data = data if data is not None else batch(**options)
    result = log.append(data, 0, len(data), now_ms)
    assert result.error_code == 0, result
    return result.base_offset


def read_all(log: PartitionLog, start: int | None = None, *, max_bytes: int = 1 << 20) -> list[Record]:
    """All records that a consumer gets, from the log start or from `start`."""
    offset = log.log_start_offset if start is None else start
    found: list[Record] = []
    while offset < log.high_watermark:
        result = log.read(offset, max_bytes, must_return_one_batch=True)
        assert result.error_code == 0, result
        assert result.records is not None, (offset, log)
        data = result.records.read()
        walk = split_batches(data, 0, len(data))
        assert walk.end == len(data)
        assert walk.batches
        for position, header in walk.batches:
            found += [record for record in read_records(data, position) if record.offset >= offset]
            offset = header.next_offset
    return found


def offsets(log: PartitionLog, start: int | None = None) -> list[int]:
    """The offsets that a consumer gets."""
    return [record.offset for record in read_all(log, start)]
