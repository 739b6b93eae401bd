"""One partition of the offsets topic with the machine that decides for its groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from riverlog.groups.records import GroupRecord, encode
from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.records import Record, build_batch

if TYPE_CHECKING:
    from riverlog.groups.machine import GroupMachine
    from riverlog.log import PartitionLog


class Shard:
    """A partition's log and its machine: what the one takes, the other replays."""

    __slots__ = ("is_loaded", "log", "machine")

    def __init__(self, log: PartitionLog, machine: GroupMachine) -> None:
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

    def append(self, records: Sequence[GroupRecord], wall_ms: int, compression: Compression) -> ErrorCode:
        """Append records as one batch and replay them; or do neither, and say why.

        Removals that are too many for one batch are appended in several.
        """
        log = self.log
        if log.settings.min_insync_replicas > 1:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        batch = build_batch(
            [Record(-1, wall_ms, *encode(record)) for record in records], compression=compression
        )
        result = log.append(batch, 0, len(batch), wall_ms)
        if result.error_code == ErrorCode.MESSAGE_TOO_LARGE and _can_be_split(records):
            half = len(records) // 2
            return self.append(records[:half], wall_ms, compression) or self.append(
                records[half:], wall_ms, compression
            )
        if result.error_code:
            return ErrorCode(result.error_code)
        for place, record in enumerate(records, result.base_offset):
            self.machine.replay(record, place)
        return ErrorCode.NONE


def _can_be_split(records: Sequence[GroupRecord]) -> bool:
    """Whether only removals: a commit or a generation is in the log as a whole or not at all."""
    return len(records) > 1 and all(record.value is None for record in records)
