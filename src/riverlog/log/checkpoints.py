"""Small text files that say how far each partition of a log directory had come.

    recovery-point-offset-checkpoint   below it all is on the disk: a crash leaves nothing to check there
    log-start-offset-checkpoint        what DeleteRecords moved beyond the first segment's beginning
    replication-offset-checkpoint      high watermarks
    cleaner-offset-checkpoint          below it compaction has been

    0                    version
    2                    number of lines that follow
    orders 0 1523        topic, partition, offset
    orders 1 900

A file that cannot be read counts as empty, with a warning: the price is a longer recovery, not lost data.
The content functions are pure.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from riverlog.errors import StorageError
from riverlog.log.disk import as_storage_error
from riverlog.types import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from riverlog.log.disk import Disk

logger = logging.getLogger("riverlog.log.checkpoints")

_VERSION = "0"

Offsets = dict[TopicPartition, int]


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """Write a checkpoint file's content."""
    lines = [_VERSION, str(len(offsets))]
    lines += [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    lines.append("")
    return "\n".join(lines).encode()


def decode_offsets(content: bytes, path: str) -> Offsets:
    """Read a checkpoint file's content; an empty file is one without lines. Raises StorageError."""
    if not content:
        return {}
    lines = content.decode("utf-8", "replace").split("\n")
    if lines[0] != _VERSION:
        raise StorageError(f"version {lines[0]!r} of an offset checkpoint is unknown", path=path)
    offsets: Offsets = {}
    try:
        expected = int(lines[1])
        for line in lines[2 : 2 + expected]:
            topic, partition, offset = line.split(" ")
            offsets[TopicPartition(topic, int(partition))] = int(offset)
    except (ValueError, IndexError) as error:
        raise StorageError(f"not an offset checkpoint: {error}", path=path) from error
    if len(offsets) != expected:
        raise StorageError(f"{expected} offsets are announced, {len(offsets)} are there", path=path)
    return offsets


def read_offsets(disk: Disk, path: str) -> Offsets:
    """Read a checkpoint file; one that is missing or damaged is empty.

    Raises StorageError if the disk fails.
    """
    try:
        return decode_offsets(disk.read_file(path), path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise as_storage_error(error, "cannot read a checkpoint", path) from error
    except StorageError as error:
        logger.warning("ignoring a damaged checkpoint: %s", error)
        return {}


def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace a checkpoint file. Raises StorageError."""
    try:
        disk.replace_file(path, encode_offsets(offsets), durable=True)
    except OSError as error:
        raise as_storage_error(error, "cannot write a checkpoint", path) from error
