"""Produce (key 0), versions 3-13: append one record batch per partition.

- acks=0: no reply; what cannot be appended closes the connection, the only sign there is (as in Kafka).
- acks=1: answered once the batch is in the leader's page cache.
- acks=all: answered once every in-sync replica has it; with one replica and `durability=fsync`, once
  it is on the disk. Until then the connection's next requests go on, so that one fsync serves many.
  `min.insync.replicas` counts at the most as many as there are replicas, as in Kafka 4.
- Versions 0-2 carry older formats and are refused; see dispatch for why 0 is advertised.

A transaction's batches are appended once its coordinator knows of them: `transactional_produce`.

Every partition has its own answer: one that is refused does not touch the others.

A connection that sends one partition's batch after the other, as most producers do, is answered by
`answer_alike`: the same, at less than half the cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from riverlog.broker.apis.transactional_produce import append_once_admitted, has_transactional_batch
from riverlog.broker.handler import Parked, RawHandler
from riverlog.errors import RemoteProtocolError
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.produce import PartitionReply, read_produce, write_produce_response
from riverlog.protocol.produce_shape import shape_of
from riverlog.types import TopicPartition

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context, Reply
    from riverlog.errors import StorageError
    from riverlog.log import PartitionLog
    from riverlog.protocol.batches import WritableBuffer
    from riverlog.protocol.produce import ProduceRequest
    from riverlog.protocol.produce_shape import Likeness, ProduceShape

PRODUCE = 0
ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1

Replies = list[tuple["str | bytes", list[tuple[int, PartitionReply]]]]
Answer: TypeAlias = "Reply | Parked | None"

NOBODY: Mapping[TopicPartition, int] = {}


def answer(broker: Broker, context: Context, buffer: WritableBuffer, start: int, end: int) -> Answer:
    """Append each partition's batch; reply now, or when the disk has it."""
    version = context.api_version
    request = read_produce(version, buffer, start, end)
    acks = request.acks
    if not ACKS_ALL <= acks <= ACKS_LEADER:
        replies = _refuse_all(request.partitions, ErrorCode.INVALID_REQUIRED_ACKS)
        broker.counters.of(PRODUCE).note_error(ErrorCode.INVALID_REQUIRED_ACKS)
        return write_produce_response(version, context.correlation_id, replies)
    context.connection.produce_shape = shape_of(version, buffer, context.request_start, request)
    if request.transactional_id is not None or has_transactional_batch(request, buffer):

        def append(
            request: ProduceRequest, buffer: WritableBuffer, refused: dict[TopicPartition, int]
        ) -> Answer:
            return _append(broker, context, request, buffer, refused)

        return append_once_admitted(broker, context, request, buffer, append)
    return _append(broker, context, request, buffer)


def _append(
    broker: Broker,
    context: Context,
    request: ProduceRequest,
    buffer: WritableBuffer,
    refused: Mapping[TopicPartition, int] = NOBODY,
) -> Answer:
    """Append each partition's batch, but those of refused partitions."""
    version, acks = context.api_version, request.acks
    now_ms = broker.now_ms()
    find = broker.partitions.find
    replies: Replies = []
    to_sync: list[PartitionLog] = []
    current_topic: str | bytes | None = None
    for topic, index, batch_start, batch_end in request.partitions:
        log = find(topic, index)
        if log is None:
            reply = PartitionReply(broker.partitions.why_absent(topic, index), -1, -1, -1)
        elif batch_start < 0:
            reply = PartitionReply(ErrorCode.INVALID_RECORD, -1, -1, -1, (), "the request holds no records")
        elif refused and log.topic_partition in refused:
            reply = PartitionReply(refused[log.topic_partition], -1, -1, log.log_start_offset)
        else:
            result = log.append(buffer, batch_start, batch_end, now_ms, version)
            error_code, base_offset, log_append_time_ms, log_start_offset, message, record_errors, again = (
                result
            )
            reply = PartitionReply(
                error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, message
            )
            if not error_code:
                # A retry of something appended before is acknowledged under the same conditions.
                if not again:
                    broker.waiters.appended(log)
                if acks == ACKS_ALL and log.settings.durability == "fsync":
                    to_sync.append(log)
        if reply.error_code:
            broker.counters.of(PRODUCE).note_error(reply.error_code)
        if topic == current_topic:
            replies[-1][1].append((index, reply))
        else:
            current_topic = topic
            replies.append((topic, [(index, reply)]))

    return _conclude(broker, version, context.correlation_id, acks, replies, to_sync)


def answer_alike(broker: Broker, shape: ProduceShape, alike: Likeness, buffer: WritableBuffer) -> Answer:
    """Append the one batch of a request that was recognised by its shape."""
    correlation_id, index, start, end = alike
    log = broker.partitions.find(shape.topic, index)
    if log is None:
        absent = PartitionReply(broker.partitions.why_absent(shape.topic, index))
        return _refuse_alike(broker, shape, alike, absent)
    error_code, base_offset, log_append_time_ms, log_start_offset, message, record_errors, again = log.append(
        buffer, start, end, broker.now_ms(), shape.version
    )
    if error_code:
        return _refuse_alike(
            broker,
            shape,
            alike,
            PartitionReply(
                error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, message
            ),
        )
    if not again:
        broker.waiters.appended(log)
    acks = shape.acks
    if acks == ACKS_NONE:
        return None
    frame = shape.reply(correlation_id, index, base_offset, log_append_time_ms, log_start_offset)
    if acks == ACKS_LEADER or log.settings.durability != "fsync":
        return frame
    parked = Parked(blocking=False)

    def on_synced(error: StorageError | None) -> None:
        if error is None:
            parked.resolve(frame)
        else:
            broker.counters.of(PRODUCE).note_error(ErrorCode.KAFKA_STORAGE_ERROR)
            failed = [(shape.topic, [(index, PartitionReply(ErrorCode.KAFKA_STORAGE_ERROR))])]
            parked.resolve(write_produce_response(shape.version, correlation_id, failed))

    broker.commit.wait_for(log, log.log_end_offset, on_synced)
    return parked


def _refuse_alike(broker: Broker, shape: ProduceShape, alike: Likeness, reply: PartitionReply) -> Answer:
    correlation_id, index, _start, _end = alike
    broker.counters.of(PRODUCE).note_error(reply.error_code)
    return _conclude(broker, shape.version, correlation_id, shape.acks, [(shape.topic, [(index, reply)])], [])


def _conclude(
    broker: Broker,
    version: int,
    correlation_id: int,
    acks: int,
    replies: Replies,
    to_sync: list[PartitionLog],
) -> Answer:
    """Reply as `acks` asks for."""
    if acks == ACKS_NONE:
        refused = [
            (topic, index, reply)
            for topic, partitions in replies
            for index, reply in partitions
            if reply.error_code
        ]
        if refused:
            topic, index, reply = refused[0]
            raise RemoteProtocolError(
                f"produce with acks=0 to {topic!r}-{index} was refused with error {reply.error_code}"
            )
        return None
    if to_sync:
        return _reply_when_synced(broker, version, correlation_id, replies, to_sync)
    return write_produce_response(version, correlation_id, replies)


def _reply_when_synced(
    broker: Broker, version: int, correlation_id: int, replies: Replies, to_sync: list[PartitionLog]
) -> Parked:
    """Hold the reply back until all that was appended is on the disk."""
    parked = Parked(blocking=False)
    waiting_for = len(to_sync)
    failed: set[PartitionLog] = set()

    def reply_once_all_are_synced() -> None:
        nonlocal waiting_for
        waiting_for -= 1
        if waiting_for:
            return
        final = _with_failures(broker, replies, failed) if failed else replies
        parked.resolve(write_produce_response(version, correlation_id, final))

    for log in to_sync:

        def on_synced(error: StorageError | None, log: PartitionLog = log) -> None:
            if error is not None:
                broker.counters.of(PRODUCE).note_error(ErrorCode.KAFKA_STORAGE_ERROR)
                failed.add(log)
            reply_once_all_are_synced()

        broker.commit.wait_for(log, log.log_end_offset, on_synced)
    return parked


def _with_failures(broker: Broker, replies: Replies, failed: set[PartitionLog]) -> Replies:
    """Take back the answers of partitions whose disk failed: what is not on the disk is not acknowledged."""
    return [
        (
            topic,
            [
                (index, PartitionReply(ErrorCode.KAFKA_STORAGE_ERROR, -1, -1, -1))
                if broker.partitions.find(topic, index) in failed
                else (index, reply)
                for index, reply in partitions
            ],
        )
        for topic, partitions in replies
    ]


def _refuse_all(partitions: list[tuple[str | bytes, int, int, int]], error_code: ErrorCode) -> Replies:
    return [
        (topic, [(index, PartitionReply(error_code, -1, -1, -1))])
        for topic, index, _start, _end in partitions
    ]


HANDLER = RawHandler(api_key=PRODUCE, min_version=3, max_version=13, answer=answer)
