"""AlterReplicaLogDirs (key 34), versions 1-2: move replicas between log directories.

A partition stays in the directory where it was created. So asking for the directory where it is already
is granted, a directory that is none of ours is not found, and a move to another one is refused.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.types import TopicPartition

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer(
    broker: Broker, request: messages.AlterReplicaLogDirsRequest, _context: Context
) -> messages.AlterReplicaLogDirsResponse:
    """Answer for each partition."""
    known = {os.path.abspath(directory.path) for directory in broker.logs.directories}
    results: dict[TopicPartition, int] = {}
    for asked in request.dirs:
        for topic in asked.topics:
            for index in topic.partitions:
                log = broker.partitions.find(topic.name, index)
                current = None if log is None else os.path.abspath(log.directory.path)
                code = verdict(os.path.abspath(asked.path), current=current, known=known)
                results[TopicPartition(topic.name, index)] = code
    return messages.AlterReplicaLogDirsResponse(results=by_topic(results))


def verdict(path: str, *, current: str | None, known: set[str]) -> ErrorCode:
    """Judge one partition's move; `current` is None where the partition is not here."""
    if path not in known:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if current is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if path == current else ErrorCode.INVALID_REQUEST


def by_topic(results: Mapping[TopicPartition, int]) -> list[messages.AlterReplicaLogDirTopicResult]:
    """Tell the results as the protocol groups them."""
    grouped: dict[str, list[messages.AlterReplicaLogDirPartitionResult]] = defaultdict(list)
    for (topic, index), error_code in results.items():
        grouped[topic].append(
            messages.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error_code)
        )
    return [
        messages.AlterReplicaLogDirTopicResult(topic_name=topic, partitions=partitions)
        for topic, partitions in grouped.items()
    ]


HANDLER = Handler(api_key=34, min_version=1, max_version=2, answer=answer)
