"""The log: partitions on disk in Kafka's format, and the manager of all of them.

    LogManager ─┬─ LogDirectory ...       one per entry of log.dirs: lock, checkpoints, clean-stop marker
                └─ PartitionLog ...       one per partition
                     ├─ SegmentChain ── Segment ── OffsetIndex, TimeIndex
                     ├─ ProducerState, ProducerSnapshots     idempotence
                     └─ LeaderEpochs                         where replicas' logs part ways
    GroupCommit ── SyncTicket             one fsync for all who wait
    Cleaner ── a helper process           compaction

Promises
- An offset is given out only for bytes that are in the file, and waited-for bytes are on the disk.
- A crash loses nothing that a sync covered, and what it tears is cut off again at the next start.
- The bytes are Kafka's: its tools read our directories, and we open those that it wrote.

What is decided (admission, retention, producer state, who waits for which sync) is pure; bytes move
through the `Disk` that the room was handed.
"""

from riverlog.log.cleaning import Cleaner, CleanerFigures
from riverlog.log.disk import Disk
from riverlog.log.durability import GroupCommit
from riverlog.log.log_directory import DirectoryLocked, LogDirectory
from riverlog.log.manager import LoadProgress, LogManager
from riverlog.log.open_files import FileSlice
from riverlog.log.partition_log import PartitionLog
from riverlog.log.results import AppendResult, FoundOffset, ReadResult

__all__ = [
    "PartitionLog",
    "LogManager",
    "GroupCommit",
    "Cleaner",
    "CleanerFigures",
    "AppendResult",
    "ReadResult",
    "FoundOffset",
    "FileSlice",
    "LogDirectory",
    "LoadProgress",
    "DirectoryLocked",
    "Disk",
]
