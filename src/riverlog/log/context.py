"""What all partitions of one manager share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from riverlog.errors import StorageError
    from riverlog.log.disk import Disk
    from riverlog.log.open_files import OpenFiles
    from riverlog.log.partition_log import PartitionLog
    from riverlog.log.trash import Trash


@dataclass(frozen=True, slots=True)
class LogContext:
    """The disk, the open files, and whom a partition tells what it cannot do itself."""

    disk: Disk
    open_files: OpenFiles
    trash: Trash
    request_sync: Callable[[PartitionLog], None]
    """Bring a partition to the disk soon."""
    report_failure: Callable[[PartitionLog, StorageError], None]
    """A partition went offline."""
    before_deletion: Callable[[PartitionLog, int], None]
    """Retention is about to delete what a partition holds below an offset."""
