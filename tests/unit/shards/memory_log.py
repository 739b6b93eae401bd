"""A partition that lies in memory, and a group commit that commits when it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from riverlog.config import TopicSettings
from riverlog.errors import StorageError
from riverlog.groups import OFFSETS_TOPIC
from riverlog.log.results import AppendResult, ReadResult
from riverlog.protocol.batches import patch_offset_and_epoch, read_header
from riverlog.types import TopicPartition


class Slice(NamedTuple):
    data: bytes

    @property
    def length(self) -> int:
        return len(self.data)

    def read(self) -> bytes:
        return self.data


class MemoryLog:
    """As much of a PartitionLog as a coordinator uses."""

    def __init__(self, partition: int = 0, *, durability: str = "fsync") -> None:
        self.topic_partition = TopicPartition(OFFSETS_TOPIC, partition)
        self.path = "/in/memory"
        self.leader_epoch = 0
        self.settings = TopicSettings(
            durability=durability,
            cleanup_policy=frozenset({"compact"}),
        )
        self.batches: list[bytes] = []
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.flushed_offset = 0
        self.refusal = 0
        self.is_unreadable = False

    def append(
        self, buffer: bytearray, start: int, end: int, now_ms: int, *, is_sequenced: bool = True
    ) -> AppendResult:
        assert is_sequenced == (read_header(buffer, start).producer_id < 0)
        size = end - start
        refusal = self.refusal or (10 if size > self.settings.max_message_bytes else 0)
        if refusal:
            return AppendResult(refusal, -1, -1, 0)
        base_offset = self.log_end_offset
        patch_offset_and_epoch(buffer, start, base_offset, 0)
        self.batches.append(bytes(buffer[start:end]))
        self.log_end_offset = read_header(buffer, start).next_offset
        return AppendResult(0, base_offset, -1, 0)

    def put(self, batch: bytearray) -> None:
        """Add a batch as it would lie there, with its offsets."""
        self.batches.append(bytes(batch))
        self.log_end_offset = self.flushed_offset = read_header(batch).next_offset

    def read(self, offset: int, max_bytes: int, *, must_return_one_batch: bool) -> ReadResult:
        assert must_return_one_batch
        if self.is_unreadable:
            return ReadResult(56, None, self.log_end_offset, self.log_end_offset, 0)
        data = b""
        for batch in self.batches:
            if read_header(batch).last_offset >= offset and (not data or len(data) + len(batch) <= max_bytes):
                data += batch
        return ReadResult(0, Slice(data), self.log_end_offset, self.log_end_offset, 0)  # type: ignore[arg-type]

    def flush(self) -> None:
        self.flushed_offset = self.log_end_offset

    def restarted(self) -> MemoryLog:
        """The same log, as another process opens it."""
        other = MemoryLog(self.topic_partition.partition)
        other.batches = list(self.batches)
        other.log_end_offset = other.flushed_offset = self.log_end_offset
        return other


class MemoryCommit:
    """Everybody waits until `settle`."""

    def __init__(self) -> None:
        self.waiting: list[tuple[MemoryLog, Callable[[StorageError | None], None]]] = []

    def wait_for(
        self, log: MemoryLog, end_offset: int, on_done: Callable[[StorageError | None], None]
    ) -> None:
        assert end_offset == log.log_end_offset
        self.waiting.append((log, on_done))

    def settle(self, error: StorageError | None = None) -> None:
        waiting, self.waiting = self.waiting, []
        for log, on_done in waiting:
            assert error is not None or log.flushed_offset == log.log_end_offset
            on_done(error)
