"""What readers of brokers and of files have in common: isolation by name, and the error for what is gone."""

from __future__ import annotations

from riverlog.errors import ConfigError, RiverlogError
from riverlog.types import TopicPartition

READ_COMMITTED = "read_committed"
READ_UNCOMMITTED = "read_uncommitted"


class RecordsLost(RiverlogError):
    """Records were deleted, by retention or on request, before they were read: those in [start, end)."""

    def __init__(self, place: TopicPartition, start: int, end: int) -> None:
        super().__init__(
            f"{place}: the records from offset {start} up to {end} were deleted before they were read; "
            "`skip_lost` goes on with those that are left"
        )
        self.place = place
        self.start = start
        self.end = end

    def __reduce__(self) -> tuple[type[RecordsLost], tuple[TopicPartition, int, int]]:
        return RecordsLost, (self.place, self.start, self.end)


def is_read_committed(isolation: str) -> bool:
    """Read an isolation level by the name that Kafka gives it. Raises ConfigError."""
    if isolation not in (READ_COMMITTED, READ_UNCOMMITTED):
        raise ConfigError("isolation", isolation, f"{READ_COMMITTED} or {READ_UNCOMMITTED}")
    return isolation == READ_COMMITTED
