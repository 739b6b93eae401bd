"""How much of one partition is on the disk, and what must be synced for the rest to be.

    [......... flushed ........|...... in the page cache ......]
    [.. recovery point ..|                                        log end
                         └ up to here the index entries are on the disk as well: after a crash
                           nothing before it is looked at

Beside its segments a partition has small files (indexes, epochs, snapshots) and directories whose entries
count: whoever changes one notes it here, and the next ticket covers it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.errors import StorageError
from riverlog.log.durability import SyncTicket

if TYPE_CHECKING:
    from riverlog.log.open_files import LogFile
    from riverlog.log.partition_log import PartitionLog


class SyncState:
    """What a partition knows of its way to the disk."""

    __slots__ = (
        "_directories",
        "_generation",
        "_indexed_offset",
        "_paths",
        "flushed_offset",
        "has_lost_data",
        "recovery_point",
    )

    def __init__(self, recovery_point: int) -> None:
        # Below it, the log is on the disk.
        self.flushed_offset = recovery_point
        self.recovery_point = recovery_point
        # A sync failed: what lies above the flushed offset may not be what was written.
        self.has_lost_data = False
        self._indexed_offset = recovery_point
        # Changes with each truncation: what a sync found out before it is worth nothing.
        self._generation = 0
        self._paths: set[str] = set()
        self._directories: set[str] = set()

    @property
    def generation(self) -> int:
        """How often the log was truncated since it was opened."""
        return self._generation

    @property
    def has_beside(self) -> bool:
        """Whether any file or directory beside the log waits for a sync."""
        return bool(self._paths or self._directories)

    def note_paths(self, *paths: str) -> None:
        """Let the next ticket cover small files."""
        self._paths.update(paths)

    def note_directories(self, *paths: str) -> None:
        """Let the next ticket cover what was created, renamed or removed in directories."""
        self._directories.update(paths)

    def note_indexes(self, end_offset: int, *paths: str) -> None:
        """The index entries below `end_offset` are in these files now."""
        self._indexed_offset = end_offset
        self._paths.update(paths)

    def begin_truncation(self) -> None:
        """Make every ticket that is under way worthless."""
        self._generation += 1

    def truncate_to(self, end_offset: int) -> None:
        """Take in the log's new end."""
        self.flushed_offset = min(self.flushed_offset, end_offset)
        self.recovery_point = min(self.recovery_point, end_offset)
        self._indexed_offset = min(self._indexed_offset, end_offset)

    def ticket(self, log: PartitionLog, files: list[LogFile]) -> SyncTicket:
        """Name all that waits for a sync; from now on it is the ticket's."""
        paths, directories = self._paths, self._directories
        self._paths, self._directories = set(), set()
        return SyncTicket(
            log, log.log_end_offset, self._indexed_offset, self._generation, files, paths, directories
        )

    def settle(self, ticket: SyncTicket) -> StorageError | None:
        """Take in that all the ticket names is on the disk; give why that means nothing any more."""
        if ticket.generation != self._generation:
            return StorageError("the log was truncated meanwhile", path=ticket.log.path)
        self.flushed_offset = max(self.flushed_offset, ticket.end_offset)
        self.recovery_point = max(self.recovery_point, min(ticket.indexed_offset, ticket.end_offset))
        return None
