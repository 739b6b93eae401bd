"""DescribeLogDirs (key 35), versions 1-5: what lies in each log directory, and how full its disk is.

No list of topics means all partitions; the empty list means none, which still tells the disks. Sizes are
those of the segments; a partition is in one directory and never moves, so no replica is a future one and
none lags behind another.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, NamedTuple

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.log import LogDirectory, PartitionLog


class DiskSpace(NamedTuple):
    """How large a directory's file system is, and how much of it can still be used; -1 for unknown."""

    total: int
    usable: int


async def answer(
    broker: Broker, request: messages.DescribeLogDirsRequest, _context: Context
) -> messages.DescribeLogDirsResponse:
    """Describe each directory. Asking for the space may hang where a disk does, so it is done aside."""
    asked = asked_partitions(request)
    return messages.DescribeLogDirsResponse(
        results=[
            describe_directory(
                directory,
                (log for log in broker.logs if log.directory is directory),
                asked,
                await broker.run_in_thread(disk_space, directory.path),
            )
            for directory in broker.logs.directories
        ]
    )


def describe_directory(
    directory: LogDirectory,
    logs: Iterable[PartitionLog],
    asked: Container[tuple[str, int]] | None,
    space: DiskSpace,
) -> messages.DescribeLogDirsResult:
    """Tell one directory; of a failed one nothing but that."""
    if directory.failure is not None:
        return messages.DescribeLogDirsResult(
            error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=os.path.abspath(directory.path)
        )
    return messages.DescribeLogDirsResult(
        log_dir=os.path.abspath(directory.path),
        topics=describe(log for log in logs if asked is None or log.topic_partition in asked),
        total_bytes=space.total,
        usable_bytes=space.usable,
    )


def asked_partitions(request: messages.DescribeLogDirsRequest) -> Container[tuple[str, int]] | None:
    """List the partitions asked for; None for all."""
    if request.topics is None:
        return None
    return {(topic.topic, index) for topic in request.topics for index in topic.partitions}


def describe(logs: Iterable[PartitionLog]) -> list[messages.DescribeLogDirsTopic]:
    """Tell the partitions of one directory, by topic."""
    by_topic: dict[str, list[messages.DescribeLogDirsPartition]] = defaultdict(list)
    for log in logs:
        name, index = log.topic_partition
        by_topic[name].append(
            messages.DescribeLogDirsPartition(
                partition_index=index, partition_size=log.size, offset_lag=0, is_future_key=False
            )
        )
    return [
        messages.DescribeLogDirsTopic(name=name, partitions=partitions)
        for name, partitions in by_topic.items()
    ]


def disk_space(path: str) -> DiskSpace:
    """Ask the file system."""
    try:
        status = os.statvfs(path)
    except OSError:
        return DiskSpace(-1, -1)
    return DiskSpace(status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize)


HANDLER = Handler(api_key=35, min_version=1, max_version=5, answer=answer)
