"""Reading a partition of a coordinator's topic into a machine: every record there is, in order.

The partition is compacted, so offsets have holes. Records of kinds that the machine has no use for, which
Apache Kafka may have left, are passed over. A record that cannot be read is reported and passed over: it
costs one group its last generation, or one transactional id its producer, while giving up would cost all.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from riverlog.errors import RemoteProtocolError, StorageError
from riverlog.protocol.batches import BatchHeader, split_batches
from riverlog.protocol.control_records import read_marker
from riverlog.protocol.records import read_records
from riverlog.shards.kinds import OtherKind

if TYPE_CHECKING:
    from riverlog.log import PartitionLog
    from riverlog.shards.machine import Machine

logger = logging.getLogger("riverlog.shards.loading")


def load(log: PartitionLog, machine: Machine, read_bytes_max: int) -> Iterator[None]:
    """Replay all of `log`, in short steps. Raises StorageError if it cannot be read to its end."""
    offset = log.log_start_offset
    others: set[int] = set()
    while offset < log.log_end_offset:
        result = log.read(offset, read_bytes_max, must_return_one_batch=True)
        data = b"" if result.records is None else result.records.read()
        walk = split_batches(data, 0, len(data))
        if result.error_code or not walk.batches:
            raise StorageError(
                f"{log.topic_partition} cannot be read at offset {offset}:"
                f" error {result.error_code}, {len(data)} bytes, then {walk.stop}",
                path=log.path,
            )
        for position, header in walk.batches:
            _replay(log, machine, data, position, header, offset, others)
            offset = header.next_offset
            yield
    if others:
        logger.warning(
            "%s holds records of kinds %s: they are not served", log.topic_partition, sorted(others)
        )


def _replay(
    log: PartitionLog,
    machine: Machine,
    data: bytes,
    position: int,
    header: BatchHeader,
    from_offset: int,
    others: set[int],
) -> None:
    """Replay one batch from `from_offset` on; the numbers of other kinds of records go to `others`."""
    try:
        records = list(read_records(data, position))
    except RemoteProtocolError as error:
        logger.error("%s: the batch at %d is lost: %s", log.topic_partition, header.base_offset, error)
        return
    producer_id = header.producer_id if header.is_transactional else -1
    for record in records:
        if record.offset < from_offset or record.key is None:
            continue
        if header.is_control:
            marker = read_marker(record)
            if marker is not None:
                machine.replay_marker(header.producer_id, is_commit=marker.is_commit)
            continue
        try:
            decoded = machine.decode(record.key, record.value)
        except RemoteProtocolError as error:
            logger.error("%s: the record at %d is lost: %s", log.topic_partition, record.offset, error)
            continue
        if isinstance(decoded, OtherKind):
            others.add(decoded.kind)
        else:
            machine.replay(decoded, record.offset, producer_id)
