"""End a producer's transaction in one partition: the marker, and all who wait for it.

    append ─▶ readers of committed data look again ─▶ on the disk: the answer
         └─▶ in the offsets topic: the group's offsets are decided

The coordinator calls this for its own transactions, the WriteTxnMarkers request for those of an operator
who ends a transaction that no coordinator knows of any more.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from riverlog.groups import OFFSETS_TOPIC
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.errors import StorageError
    from riverlog.transactions import Ending
    from riverlog.types import TopicPartition


def write_marker(
    broker: Broker,
    partition: TopicPartition,
    producer_id: int,
    producer_epoch: int,
    *,
    is_commit: bool,
    coordinator_epoch: int,
    transaction_version: int = 0,
) -> asyncio.Future[int]:
    """Append the marker; give the error code, or NONE once a crash cannot take the marker back."""
    future: asyncio.Future[int] = broker.loop.create_future()
    log = broker.partitions.find(partition.topic, partition.partition)
    if log is None:
        future.set_result(broker.partitions.why_absent(partition.topic, partition.partition))
        return future
    result = log.append_marker(
        producer_id,
        producer_epoch,
        is_commit=is_commit,
        coordinator_epoch=coordinator_epoch,
        now_ms=broker.now_ms(),
        transaction_version=transaction_version,
    )
    if result.error_code:
        future.set_result(result.error_code)
        return future
    if partition.topic == OFFSETS_TOPIC:
        broker.groups.transaction_ended(log, producer_id, is_commit=is_commit)
    broker.waiters.appended(log)
    if log.settings.durability != "fsync":
        future.set_result(ErrorCode.NONE)
        return future

    def on_synced(error: StorageError | None) -> None:
        if not future.done():  # else whoever asked has gone
            future.set_result(ErrorCode.NONE if error is None else ErrorCode.KAFKA_STORAGE_ERROR)

    broker.commit.wait_for(log, result.base_offset + 1, on_synced)
    return future


def write_marker_of(
    broker: Broker, ending: Ending, partition: TopicPartition, coordinator_epoch: int
) -> asyncio.Future[int]:
    """Append the marker of a transaction that its coordinator ends."""
    return write_marker(
        broker,
        partition,
        ending.producer_id,
        ending.epoch,
        is_commit=ending.is_commit,
        coordinator_epoch=coordinator_epoch,
        transaction_version=ending.version,
    )
