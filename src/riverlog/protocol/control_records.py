"""Control records: how a transaction's end is written into each partition that it touched.

A control batch holds one record, is transactional, carries the producer's id and epoch and no sequence.

    key     version int16 = 0, type int16: 0 abort, 1 commit (2 and above belong to the metadata log)
    value   version int16 = 0, coordinator epoch int32

Format: KIP-98
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.records import Record, build_batch

_ABORT = 0
_COMMIT = 1
_VERSION = 0

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


class TransactionMarker(NamedTuple):
    """The end of a producer's transaction in one partition."""

    is_commit: bool
    coordinator_epoch: int


def build_marker_batch(
    marker: TransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    """Build the control batch that ends a transaction."""
    key = _KEY.pack(_VERSION, _COMMIT if marker.is_commit else _ABORT)
    value = _VALUE.pack(_VERSION, marker.coordinator_epoch)
    return build_batch(
        [Record(base_offset, timestamp, key, value)],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )


def read_marker(record: Record) -> TransactionMarker | None:
    """Read a control batch's record; None for the kinds of control record that end no transaction.

    Later versions of key and value only add fields behind the known ones.
    """
    try:
        key_version, kind = _KEY.unpack_from(record.key or b"")
        if key_version < _VERSION:
            raise RemoteProtocolError(f"a control record's key cannot have version {key_version}")
        if kind not in (_ABORT, _COMMIT):
            return None
        value_version, coordinator_epoch = _VALUE.unpack_from(record.value or b"")
    except struct.error:
        raise RemoteProtocolError("a control record's key or value is too short") from None
    if value_version < _VERSION:
        raise RemoteProtocolError(f"a transaction marker cannot have version {value_version}")
    return TransactionMarker(kind == _COMMIT, coordinator_epoch)
