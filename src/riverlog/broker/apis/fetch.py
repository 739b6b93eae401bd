"""Fetch (key 1), versions 4-18: read from partitions, waiting for data if there is too little.

The records of a reply are runs of segment files, handed to the connection untouched: the bytes on
disk are the bytes on the wire. A reply is built by reading all wanted partitions afresh, both when the
request comes in and when it is woken, so nothing read earlier can be stale. What a batch is compressed
with does not matter here, even for versions older than zstd: Kafka 4.3.1 serves those as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from riverlog.broker.handler import Parked, RawHandler
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.fetch import FetchedPartition, read_fetch, write_fetch_response

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.fetch_sessions import FetchPlan, TopicKey, WantedPartition
    from riverlog.broker.handler import Context, Reply
    from riverlog.log import PartitionLog
    from riverlog.protocol.fetch import FetchRequest

FETCH = 1
FIRST_VERSION_WITH_TOPIC_IDS = 13


def answer(
    broker: Broker, context: Context, buffer: bytearray | memoryview, start: int, end: int
) -> Reply | Parked | None:
    """Reply at once if there is enough, an error, or no time to wait; park the request otherwise."""
    version = context.api_version
    request = read_fetch(version, buffer, start, end)
    plan = broker.sessions.plan(
        request, by_topic_id=version >= FIRST_VERSION_WITH_TOPIC_IDS, now_ms=broker.now_ms()
    )
    if plan.error_code:
        broker.counters.of(FETCH).note_error(plan.error_code)
    if plan.error_code or not plan.wanted:
        return _frame(context, plan.error_code, plan.session_id, [])

    # Kafka bounds a reply by its own setting too, however much a client asks for.
    bytes_max = min(request.max_bytes, broker.settings.network.fetch_max_bytes)

    def attempt(is_last: bool) -> Reply | None:
        fetched, size, must_reply = _read_all(broker, plan, request, bytes_max)
        if not is_last and not must_reply and size < request.min_bytes:
            return None
        if must_reply:
            _count_errors(broker, fetched)
        return _frame(context, ErrorCode.NONE, plan.session_id, plan.record_reply(fetched))

    reply = attempt(request.max_wait_ms <= 0)
    if reply is not None:
        return reply
    logs = [
        log
        for wanted in plan.wanted
        if (log := broker.partitions.find(wanted.topic, wanted.index)) is not None
    ]
    return broker.waiters.park(attempt, logs, request.max_wait_ms)


def _frame(
    context: Context, error_code: int, session_id: int, topics: list[tuple[TopicKey, list[FetchedPartition]]]
) -> Reply:
    chunks = write_fetch_response(
        context.api_version, context.correlation_id, 0, error_code, session_id, topics
    )
    # The codec asks of records only that they have a length; all that we give it are runs of segment files.
    return cast("Reply", chunks)


def _read_all(
    broker: Broker, plan: FetchPlan, request: FetchRequest, bytes_max: int
) -> tuple[list[FetchedPartition], int, bool]:
    """Read each wanted partition; say how many bytes there are and whether something must be told now."""
    find = broker.partitions.find
    read_committed = request.isolation_level == 1
    size = 0
    must_reply = False
    fetched = []
    for wanted in plan.wanted:
        log = find(wanted.topic, wanted.index)
        if log is None:
            one = _error(wanted, broker.partitions.why_absent(wanted.topic, wanted.index))
        else:
            one = _read_one(log, wanted, bytes_max - size, read_committed=read_committed, is_first=not size)
        if one.records is not None:
            size += one.records.length
        if one.error_code or one.diverging_epoch is not None:
            must_reply = True
        fetched.append(one)
    return fetched, size, must_reply


def _read_one(
    log: PartitionLog,
    wanted: WantedPartition,
    bytes_left: int,
    *,
    read_committed: bool,
    is_first: bool,
) -> FetchedPartition:
    asked = wanted.asked
    epoch = asked.current_leader_epoch
    if epoch >= 0 and epoch != log.leader_epoch:
        code = ErrorCode.FENCED_LEADER_EPOCH if epoch < log.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        return _error(wanted, code)
    if asked.last_fetched_epoch >= 0:
        known_epoch, end_offset = log.end_offset_for_epoch(asked.last_fetched_epoch)
        if known_epoch < 0 or asked.fetch_offset < log.log_start_offset:
            # Nothing tells where to go on: the reader starts anew, by its own policy.
            return _error(wanted, ErrorCode.OFFSET_OUT_OF_RANGE)
        if known_epoch < asked.last_fetched_epoch or end_offset < asked.fetch_offset:
            # What the reader has and what the log has part ways at an earlier point (KIP-595).
            one = _error(wanted, ErrorCode.NONE)
            one.high_watermark = log.high_watermark
            one.last_stable_offset = log.last_stable_offset
            one.log_start_offset = log.log_start_offset
            one.diverging_epoch = (known_epoch, end_offset)
            return one
    result = log.read(
        asked.fetch_offset,
        min(asked.max_bytes, max(bytes_left, 0)),
        read_committed=read_committed,
        must_return_one_batch=is_first,
    )
    return FetchedPartition(
        index=wanted.index,
        error_code=result.error_code,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        aborted=result.aborted,
        records=result.records,
    )


def _count_errors(broker: Broker, fetched: list[FetchedPartition]) -> None:
    for one in fetched:
        if one.error_code:
            broker.counters.of(FETCH).note_error(one.error_code)


def _error(wanted: WantedPartition, error_code: ErrorCode) -> FetchedPartition:
    return FetchedPartition(index=wanted.index, error_code=error_code, high_watermark=-1)


HANDLER = RawHandler(api_key=FETCH, min_version=4, max_version=18, answer=answer)
