"""Where a new partition goes: to the log directory that stores the least.

Bytes decide, then the number of partitions: the directories of a new broker are filled in turn. Bytes are
added up at most once a second, since a topic may come with a thousand partitions.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from riverlog.log.log_directory import LogDirectory
    from riverlog.log.partition_log import PartitionLog

REFRESH_MS = 1000


class Placement:
    """What each log directory stores."""

    __slots__ = ("_bytes", "_counts", "_directories", "_refreshed_ms")

    def __init__(self, directories: Sequence[LogDirectory]) -> None:
        self._directories = directories
        self._bytes: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._refreshed_ms: int | None = None

    def choose(self, logs: Iterable[PartitionLog], now_ms: int) -> LogDirectory:
        """Choose among the directories that work; there is one."""
        if self._refreshed_ms is None or now_ms - self._refreshed_ms >= REFRESH_MS:
            self._refresh(logs)
            self._refreshed_ms = now_ms
        candidates = [directory for directory in self._directories if directory.failure is None]
        return min(candidates, key=lambda each: (self._bytes[each.path], self._counts[each.path]))

    def note_created(self, directory: LogDirectory) -> None:
        """Count a partition that was made there."""
        self._counts[directory.path] += 1

    def note_deleted(self, directory: LogDirectory) -> None:
        """Count a partition that is gone from there."""
        self._counts[directory.path] -= 1

    def _refresh(self, logs: Iterable[PartitionLog]) -> None:
        self._bytes.clear()
        self._counts.clear()
        for log in logs:
            self._counts[log.directory.path] += 1
            if len(self._directories) > 1:
                self._bytes[log.directory.path] += log.size
