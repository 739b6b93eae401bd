"""One partition of a coordinator's topic with the machine that decides for what is kept there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.records import Record, build_batch
from riverlog.shards.machine import Machine
from riverlog.shards.outcome import NO_PRODUCER

if TYPE_CHECKING:
    from riverlog.log import PartitionLog
    from riverlog.protocol.compression import Compression
    from riverlog.shards.outcome import ProducerIdentity

M = TypeVar("M", bound=Machine)


class Shard(Generic[M]):
    """A partition's log and its machine: what the one takes, the other replays."""

    __slots__ = ("is_loaded", "log", "machine")

    def __init__(self, log: PartitionLog, machine: M) -> None:
        self.log = log
        self.machine = machine
        self.is_loaded = log.log_start_offset == log.log_end_offset
        """The machine knows all that is in the log."""

    def __repr__(self) -> str:
        return f"Shard({self.log.topic_partition})"

    @property
    def is_safe(self) -> bool:
        """What was appended so far is committed: a crash cannot take it back."""
        log = self.log
        return log.flushed_offset >= log.log_end_offset or log.settings.durability != "fsync"

    def append(
        self,
        records: Sequence[Any],
        wall_ms: int,
        compression: Compression,
        producer: ProducerIdentity | None = None,
    ) -> ErrorCode:
        """Append records as one batch and replay them; or do neither, and say why.

        With a producer they are part of its transaction. Removals that are too many for one batch are
        appended in several.
        """
        log = self.log
        if log.settings.min_insync_replicas > 1:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        encode = self.machine.encode
        encoded = [Record(-1, wall_ms, *encode(record)) for record in records]
        if producer is None:
            batch = build_batch(encoded, compression=compression)
            result = log.append(batch, 0, len(batch), wall_ms)
        else:
            batch = build_batch(
                encoded,
                compression=compression,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                is_transactional=True,
            )
            result = log.append(batch, 0, len(batch), wall_ms, is_sequenced=False)
        if result.error_code == ErrorCode.MESSAGE_TOO_LARGE and _can_be_split(records):
            half = len(records) // 2
            return self.append(records[:half], wall_ms, compression) or self.append(
                records[half:], wall_ms, compression
            )
        if result.error_code:
            return ErrorCode(result.error_code)
        producer_id = NO_PRODUCER if producer is None else producer.producer_id
        for place, record in enumerate(records, result.base_offset):
            self.machine.replay(record, place, producer_id)
        return ErrorCode.NONE


def _can_be_split(records: Sequence[Any]) -> bool:
    """Whether only removals: whatever else is decided is in the log as a whole or not at all."""
    return len(records) > 1 and all(record.value is None for record in records)
