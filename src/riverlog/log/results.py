"""What a partition answers: values, never exceptions, since a request is answered partition by partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from riverlog.log.open_files import FileSlice


class AppendResult(NamedTuple):
    """The answer to a batch. Without an error it is in the file (which is not yet: on the disk)."""

    error_code: int
    base_offset: int
    """-1 with an error."""
    log_append_time_ms: int
    """-1 where the producer's timestamps count."""
    log_start_offset: int
    message: str | None = None
    record_errors: tuple[tuple[int, str | None], ...] = ()
    is_duplicate: bool = False
    """It was appended before, at `base_offset`; the log is unchanged."""


class ReadResult(NamedTuple):
    """The answer to a read."""

    error_code: int
    records: FileSlice | None
    """Whole batches; None if there is nothing to give."""
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[tuple[int, int]] | None = None
    """(producer id, first offset) of transactions to skip; None unless reading committed data."""


class FoundOffset(NamedTuple):
    """A record found by its timestamp."""

    offset: int
    timestamp: int
    leader_epoch: int
