"""Decode the files of a log directory into plain findings, and say where a file is damaged.

    .log        batches, on request each record; every CRC is checked
    .index      offset -> position; each entry is compared with the .log beside it
    .timeindex  time -> offset
    .txnindex   aborted transactions
    .snapshot   producer state
    leader-epoch-checkpoint, *-offset-checkpoint, meta.properties, partition.metadata

A finding is a kind and some fields. Nothing here prints, repairs or writes, and memory stays bounded however
large a segment is.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from riverlog.errors import ProtocolError, StorageError
from riverlog.log import names
from riverlog.log.disk import READ, Disk
from riverlog.log.header_walk import scan_batches, walk_headers
from riverlog.log.open_files import LogFile
from riverlog.protocol.batches import WalkStop
from riverlog.protocol.control_records import read_marker
from riverlog.protocol.records import Record, read_records
from riverlog.types import NO_PRODUCER_ID

if TYPE_CHECKING:
    from riverlog.protocol.batches import BatchHeader

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")
_ABORTED_ENTRY = Struct(">hqqqq")
_SNAPSHOT_HEAD_BYTES = 10
_PRODUCER_ENTRY = Struct(">qhiqiqiq")


class Finding(NamedTuple):
    """One thing found in a file. `is_damage`: the file is not what it should be."""

    kind: str
    fields: dict[str, Any]
    is_damage: bool = False


def files_of(path: str) -> Iterator[str]:
    """List the files to decode: the file itself, or those of a directory and of its partitions, in order."""
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if not os.path.isdir(path):
        yield path
        return
    entries = sorted(os.listdir(path))
    for entry in entries:
        whole = os.path.join(path, entry)
        if os.path.isfile(whole) and _decoder(entry) is not None:
            yield whole
    for entry in entries:
        whole = os.path.join(path, entry)
        if os.path.isdir(whole) and names.partition_in(entry) is not None:
            yield from files_of(whole)


def decode(path: str, *, is_deep: bool) -> Iterator[Finding]:
    """Decode one file; `is_deep` looks at single records.

    Raises `StorageError` for a file of an unknown kind, `OSError` where it cannot be read.
    """
    decoder = _decoder(os.path.basename(path))
    if decoder is None:
        raise StorageError(
            "not a file of a log: expected .log, .index, .timeindex, .txnindex, .snapshot, a checkpoint, "
            f"{names.META_PROPERTIES} or {names.PARTITION_METADATA}",
            path=path,
        )
    return _segment(path, is_deep) if decoder is _batches else decoder(path)


# Segments


def _segment(path: str, is_deep: bool) -> Iterator[Finding]:
    disk = Disk()
    file = LogFile(disk.open(path, READ), path, disk.close)
    size = disk.size(path)
    batch_count = record_count = end = 0
    first_offset = next_offset = names.offset_in(os.path.basename(path)) or 0
    stop: WalkStop | None = WalkStop.END
    for run in scan_batches(disk, file, 0, size):
        for position, header in run.batches:
            in_file = run.buffer_position + position
            if header.base_offset < next_offset:
                yield _damage(in_file, f"offset {header.base_offset} where at least {next_offset} is due")
            if not batch_count:
                first_offset = header.base_offset
            batch_count += 1
            record_count += header.record_count
            next_offset = header.next_offset
            yield Finding("batch", _batch(header, in_file))
            if is_deep:
                yield from _records(run.buffer, position, header, in_file)
        end, stop = run.end, run.stop
    is_whole = stop is WalkStop.END and end == size
    yield Finding(
        "segment",
        {
            "batches": batch_count,
            "records": record_count,
            "first_offset": first_offset,
            "next_offset": next_offset,
            "valid_bytes": end,
            "bytes": size,
            "problem": None if is_whole else str(stop).replace("the range", "the file"),
        },
        is_damage=not is_whole,
    )


def _batches(path: str) -> Iterator[Finding]:
    return _segment(path, is_deep=False)


def _batch(header: BatchHeader, position: int) -> dict[str, Any]:
    return {
        "position": position,
        "bytes": header.size,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.record_count,
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "timestamp_type": "LogAppendTime" if header.uses_log_append_time else "CreateTime",
        "compression": _compression(header),
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id if header.producer_id != NO_PRODUCER_ID else None,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "last_sequence": header.last_sequence,
        "is_transactional": header.is_transactional,
        "is_control": header.is_control,
        "delete_horizon": header.base_timestamp if header.has_delete_horizon else None,
        "crc": header.crc,
    }


def _compression(header: BatchHeader) -> str:
    try:
        return header.compression.name.lower()
    except ProtocolError:
        return "unknown"


def _records(buffer: memoryview, position: int, header: BatchHeader, in_file: int) -> Iterator[Finding]:
    try:
        for record in read_records(buffer, position):
            yield Finding("control" if header.is_control else "record", _record(record, header))
    except ProtocolError as error:
        yield _damage(in_file, f"the CRC is right and the records are not: {error}")


def _record(record: Record, header: BatchHeader) -> dict[str, Any]:
    fields: dict[str, Any] = {"offset": record.offset, "timestamp": record.timestamp}
    marker = read_marker(record) if header.is_control else None
    if marker is not None:
        fields["marker"] = "commit" if marker.is_commit else "abort"
        fields["coordinator_epoch"] = marker.coordinator_epoch
        return fields
    fields["key"] = record.key
    fields["value"] = record.value
    fields["headers"] = record.headers
    return fields


# Indexes


def _offset_index(path: str) -> Iterator[Finding]:
    base_offset = names.offset_in(os.path.basename(path)) or 0
    entries, excess = _entries(path, _OFFSET_ENTRY)
    places = _places(path.removesuffix(names.OFFSET_INDEX) + names.LOG, {position for _, position in entries})
    for relative, position in entries:
        offset = base_offset + relative
        yield Finding("index entry", {"last_offset": offset, "position": position})
        if places is not None and places.get(position) != offset:
            yield _damage(position, f"no batch with last offset {offset} begins at {position} of the segment")
    yield from _end_of_index(len(entries), _OFFSET_ENTRY.size, excess, is_compared=places is not None)


def _places(path: str, wanted: set[int]) -> dict[int, int] | None:
    """Find the batches that begin at the wanted positions of a segment, with their last offsets.

    None if there is no segment to compare with.
    """
    disk = Disk()
    try:
        file = LogFile(disk.open(path, READ), path, disk.close)
    except FileNotFoundError:
        return None
    places: dict[int, int] = {}
    try:
        for position, header in walk_headers(disk, file, 0, disk.size(path)):
            if position in wanted:
                places[position] = header.last_offset
    except StorageError:
        pass  # the segment's own damage is reported with the segment
    return places


def _time_index(path: str) -> Iterator[Finding]:
    base_offset = names.offset_in(os.path.basename(path)) or 0
    entries, excess = _entries(path, _TIME_ENTRY)
    last_timestamp = last_offset = -1
    for number, (timestamp, relative) in enumerate(entries):
        offset = base_offset + relative
        yield Finding("time entry", {"timestamp": timestamp, "offset": offset})
        if timestamp < last_timestamp or offset < last_offset:
            yield _damage(number * _TIME_ENTRY.size, "the entry goes back in time or offset")
        last_timestamp, last_offset = timestamp, offset
    yield from _end_of_index(len(entries), _TIME_ENTRY.size, excess)


def _transaction_index(path: str) -> Iterator[Finding]:
    entries, excess = _entries(path, _ABORTED_ENTRY, is_padded=False)
    for version, producer_id, first, last, stable in entries:
        yield Finding(
            "aborted transaction",
            {
                "version": version,
                "producer_id": producer_id,
                "first_offset": first,
                "last_offset": last,
                "last_stable_offset": stable,
            },
        )
    yield from _end_of_index(len(entries), _ABORTED_ENTRY.size, excess)


def _entries(path: str, entry: Struct, *, is_padded: bool = True) -> tuple[list[tuple[int, ...]], int]:
    """Read entries of fixed size, and how many bytes stand behind the last whole one.

    Zeros at the end of a padded file are room that Kafka sets aside while a segment is active.
    """
    content = _content(path)
    if is_padded:
        content = content[: -(-len(content.rstrip(b"\0")) // entry.size) * entry.size]
    excess = len(content) % entry.size
    return list(entry.iter_unpack(content[: len(content) - excess])), excess


def _end_of_index(count: int, size: int, excess: int, *, is_compared: bool = False) -> Iterator[Finding]:
    if excess:
        yield _damage(count * size, f"{excess} bytes stand behind the last whole entry")
    yield Finding("index", {"entries": count, "is_compared": is_compared})


def _damage(position: int, problem: str) -> Finding:
    return Finding("damage", {"position": position, "problem": problem}, is_damage=True)


# Small files


def _snapshot(path: str) -> Iterator[Finding]:
    from riverlog.log.producer_state import ProducerState

    content = _content(path)
    count = len(ProducerState.decode(content, path))  # checks the CRC
    entries = _PRODUCER_ENTRY.iter_unpack(content[_SNAPSHOT_HEAD_BYTES:])
    for producer_id, epoch, sequence, offset, _delta, timestamp, coordinator_epoch, open_offset in entries:
        yield Finding(
            "producer",
            {
                "producer_id": producer_id,
                "epoch": epoch,
                "last_sequence": sequence,
                "last_offset": offset,
                "timestamp": timestamp,
                "coordinator_epoch": coordinator_epoch,
                "open_transaction_offset": None if open_offset < 0 else open_offset,
            },
        )
    yield Finding("snapshot", {"producers": count, "offset": names.offset_in(os.path.basename(path))})


def _leader_epochs(path: str) -> Iterator[Finding]:
    from riverlog.log.leader_epochs import LeaderEpochs

    epochs = LeaderEpochs.decode(_content(path), path)
    for epoch, start_offset in epochs:
        yield Finding("epoch", {"epoch": epoch, "start_offset": start_offset})


def _offset_checkpoint(path: str) -> Iterator[Finding]:
    from riverlog.log.checkpoints import decode_offsets

    for (topic, partition), offset in decode_offsets(_content(path), path).items():
        yield Finding("checkpoint", {"topic": topic, "partition": partition, "offset": offset})


def _meta_properties(path: str) -> Iterator[Finding]:
    from riverlog.log.identity import decode_meta_properties, encode_id

    meta = decode_meta_properties(_content(path), path)
    yield Finding(
        "identity",
        {
            "cluster_id": meta.cluster_id,
            "node_id": meta.node_id,
            "directory_id": encode_id(meta.directory_id),
        },
    )


def _partition_metadata(path: str) -> Iterator[Finding]:
    from riverlog.log.identity import decode_partition_metadata, encode_id

    yield Finding("topic", {"topic_id": encode_id(decode_partition_metadata(_content(path), path))})


def _content(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


Decoder = Callable[[str], Iterator[Finding]]

_BY_SUFFIX: dict[str, Decoder] = {
    names.LOG: _batches,
    names.OFFSET_INDEX: _offset_index,
    names.TIME_INDEX: _time_index,
    names.TRANSACTION_INDEX: _transaction_index,
    names.SNAPSHOT: _snapshot,
}
_BY_NAME: dict[str, Decoder] = {
    names.LEADER_EPOCHS: _leader_epochs,
    names.RECOVERY_POINTS: _offset_checkpoint,
    names.LOG_START_OFFSETS: _offset_checkpoint,
    names.HIGH_WATERMARKS: _offset_checkpoint,
    names.CLEANED_OFFSETS: _offset_checkpoint,
    names.META_PROPERTIES: _meta_properties,
    names.PARTITION_METADATA: _partition_metadata,
}


def _decoder(name: str) -> Decoder | None:
    if name in _BY_NAME:
        return _BY_NAME[name]
    for suffix in (names.DELETED, names.CLEANED, names.SWAP):
        name = name.removesuffix(suffix)
    return _BY_SUFFIX.get(os.path.splitext(name)[1])
