"""Names of files and directories, as Kafka gives them.

LOG_DIR/
  .lock  .kafka_cleanshutdown  meta.properties
  recovery-point-offset-checkpoint  log-start-offset-checkpoint  replication-offset-checkpoint
  cleaner-offset-checkpoint
  orders-3/                                    topic and partition
    00000000000000000000.log                   20 digits: the first offset the segment may hold
    00000000000000000000.index  .timeindex  .txnindex
    00000000000000000042.snapshot              producer state before offset 42
    leader-epoch-checkpoint  partition.metadata
  orders-3.0123456789abcdef0123456789abcdef-delete/    deleted, its files go later
"""

from __future__ import annotations

import re

from riverlog.types import TopicPartition

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TRANSACTION_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
SEGMENT_SUFFIXES = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
INDEX_SUFFIXES = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANED_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
META_PROPERTIES = "meta.properties"

DELETED_DIRECTORY = "-delete"
FUTURE_DIRECTORY = "-future"
STRAY_DIRECTORY = "-stray"
RAFT_METADATA_TOPIC = "__cluster_metadata"
"""A Kafka controller's own log. It lies among the partitions and is none."""

NAME_BYTES_MAX = 255
"""What file systems allow; a topic whose directory would be longer loses letters when it is deleted."""

_PARTITION_DIRECTORY = re.compile(r"(.+)-(\d+)\Z")
_SET_ASIDE_DIRECTORY = re.compile(r".+-\d+\.[0-9a-f]{32}-(delete|future|stray)\Z")


def offset_name(offset: int) -> str:
    """Write an offset the way files are named by it."""
    return f"{offset:020d}"


def offset_in(name: str) -> int | None:
    """Read the offset a file is named by; None for files that are not named by an offset."""
    digits, dot, _suffix = name.partition(".")
    return int(digits) if dot and len(digits) == 20 and digits.isascii() and digits.isdigit() else None


def partition_in(directory: str) -> TopicPartition | None:
    """Read topic and partition from a directory's name; None if it is not a partition's."""
    found = _PARTITION_DIRECTORY.match(directory)
    if found is None or _SET_ASIDE_DIRECTORY.match(directory) or found[1] == RAFT_METADATA_TOPIC:
        return None
    return TopicPartition(found[1], int(found[2]))


def is_deleted_directory(directory: str) -> bool:
    """Say whether a directory belonged to a partition that was deleted."""
    return directory.endswith(DELETED_DIRECTORY) and _SET_ASIDE_DIRECTORY.match(directory) is not None


def deleted_directory(partition: TopicPartition, unique: str) -> str:
    """Name the directory of a deleted partition; `unique` is 32 hexadecimal digits."""
    suffix = f"-{partition.partition}.{unique}{DELETED_DIRECTORY}"
    topic = partition.topic[: NAME_BYTES_MAX - len(suffix)]
    return topic + suffix
