"""Produce for transactions: what must be settled with the coordinator before batches are appended.

Only a transaction's first batch in a partition has something to settle; see `transactional_writes`. While
that takes its time, the connection's later requests wait: a producer's batches must stay in their order.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, TypeAlias

from riverlog.broker.handler import Parked
from riverlog.broker.transactional_writes import admit
from riverlog.errors import RemoteProtocolError
from riverlog.protocol.batches import HEADER_BYTES, TRANSACTIONAL_BIT
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.produce import ProduceRequest
from riverlog.shards import ProducerIdentity

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context, Reply
    from riverlog.broker.transactional_writes import Refusals
    from riverlog.protocol.batches import WritableBuffer
    from riverlog.types import TopicPartition

    Append: TypeAlias = Callable[[ProduceRequest, WritableBuffer, Refusals], "Reply | Parked | None"]
    """Appends all batches but those of the partitions that are refused."""

FIRST_VERSION_THAT_KNOWS_ABORTABLE = 11
FIRST_VERSION_THAT_ADDS = 12

_ATTRIBUTES_AT = 22
"""The low byte of a batch's attributes."""
_PRODUCER_AT = 43
_PRODUCER = Struct(">qh")

_NOT_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)

logger = logging.getLogger("riverlog.broker.produce")


def has_transactional_batch(request: ProduceRequest, buffer: WritableBuffer) -> bool:
    """Say whether any batch claims to be part of a transaction."""
    for _topic, _index, start, end in request.partitions:
        if end - start >= HEADER_BYTES and buffer[start + _ATTRIBUTES_AT] & TRANSACTIONAL_BIT:
            return True
    return False


def append_once_admitted(
    broker: Broker, context: Context, request: ProduceRequest, buffer: WritableBuffer, append: Append
) -> Reply | Parked | None:
    """Settle what must be settled and append, at once if nothing has to be waited for."""
    version = context.api_version
    refused: Refusals = {}
    by_producer = _producers(broker, request, buffer)
    producer = next(iter(by_producer), None)
    if producer is None:
        return append(request, buffer, refused)
    for other, partitions in by_producer.items():
        if other != producer:
            refused.update(dict.fromkeys(partitions, ErrorCode.INVALID_PRODUCER_ID_MAPPING))
    verdicts = admit(
        broker,
        request.transactional_id,
        producer,
        by_producer[producer],
        adds=version >= FIRST_VERSION_THAT_ADDS,
        knows_abortable=version >= FIRST_VERSION_THAT_KNOWS_ABORTABLE,
    )
    if isinstance(verdicts, dict):
        return append(request, buffer, {**refused, **_for_version(verdicts, version)})

    # The buffer is the connection's: by then it holds something else.
    start = context.request_start
    end = max(batch_end for _, _, _, batch_end in request.partitions)
    kept = bytearray(buffer[start:end])
    moved = ProduceRequest(
        request.transactional_id,
        request.acks,
        request.timeout_ms,
        [
            (topic, index, batch_start - start, batch_end - start)
            if batch_start >= 0
            else (topic, index, batch_start, batch_end)
            for topic, index, batch_start, batch_end in request.partitions
        ],
    )
    parked = Parked(blocking=True)
    waited = verdicts

    async def finish() -> None:
        try:
            settled = _for_version(await waited, version)
            reply = append(moved, kept, {**refused, **settled})
        except RemoteProtocolError as error:
            context.connection.close(str(error))
            return
        except Exception:
            # The edge of a request: a bug in it must not end the others.
            logger.exception("a transactional produce request failed")
            context.connection.close("internal error")
            return
        _pass_on(reply, parked)

    task = broker.start_task(finish())

    def abandon() -> None:
        task.cancel()

    parked.on_abandoned = abandon
    return parked


def _producers(
    broker: Broker, request: ProduceRequest, buffer: WritableBuffer
) -> dict[ProducerIdentity, list[TopicPartition]]:
    """Give the partitions that get transactional batches, by the producer whose they are."""
    by_producer: dict[ProducerIdentity, list[TopicPartition]] = {}
    for topic, index, start, end in request.partitions:
        log = broker.partitions.find(topic, index)
        if log is None or end - start < HEADER_BYTES:
            continue
        if buffer[start + _ATTRIBUTES_AT] & TRANSACTIONAL_BIT:
            producer = ProducerIdentity(*_PRODUCER.unpack_from(buffer, start + _PRODUCER_AT))
            by_producer.setdefault(producer, []).append(log.topic_partition)
    return by_producer


def _for_version(verdicts: Refusals, version: int) -> Refusals:
    """Turn errors that a producer does not expect of a partition into one that makes it try again."""
    adds = version >= FIRST_VERSION_THAT_ADDS
    return {
        partition: ErrorCode.NOT_ENOUGH_REPLICAS
        if error_code in _NOT_YET or (error_code == ErrorCode.CONCURRENT_TRANSACTIONS and not adds)
        else error_code
        for partition, error_code in verdicts.items()
    }


def _pass_on(reply: Reply | Parked | None, parked: Parked) -> None:
    """Resolve the outer parked reply by what came of the request, now or when that is ready."""
    if not isinstance(reply, Parked):
        parked.resolve(reply)
        return
    inner = reply
    if inner.is_resolved:
        parked.resolve(inner.reply)
    else:
        inner.attach(lambda: parked.resolve(inner.reply))
