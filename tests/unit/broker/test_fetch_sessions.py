"""Fetch sessions (KIP-227): what a request reads, and which partitions its reply carries."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from riverlog.broker.fetch_sessions import FetchPlan, FetchSessions
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.fetch import FetchedPartition, FetchPartition, FetchRequest

FULL, SESSIONLESS = 0, -1
Topics = list[tuple["str | bytes", list[int]]]


def sessions(slots: int = 10) -> FetchSessions:
    ids = itertools.count(100)
    return FetchSessions(slots, new_id=lambda: next(ids), eviction_ms=1000)


def request(
    topics: dict[str, list[int]] | None = None,
    *,
    session_id: int = 0,
    epoch: int = FULL,
    forgotten: dict[str, list[int]] | None = None,
    offset: int = 0,
) -> FetchRequest:
    made = FetchRequest.__new__(FetchRequest)
    made.session_id = session_id
    made.session_epoch = epoch
    made.topics = [
        (topic, [FetchPartition(index, -1, offset, -1, -1, 1000) for index in indexes])
        for topic, indexes in (topics or {}).items()
    ]
    made.forgotten = [(topic, indexes) for topic, indexes in (forgotten or {}).items()]
    return made


def plan(cache: FetchSessions, asked: FetchRequest, now_ms: int = 0) -> FetchPlan:
    return cache.plan(asked, by_topic_id=False, now_ms=now_ms)


def fetched(
    index: int, *, high_watermark: int = 10, log_start: int = 0, size: int = 0, error: int = 0
) -> FetchedPartition:
    return FetchedPartition(
        index,
        error_code=error,
        high_watermark=high_watermark,
        log_start_offset=log_start,
        records=SimpleNamespace(length=size) if size else None,
    )


def told(one: FetchPlan, answers: list[FetchedPartition]) -> Topics:
    return [(topic, [part.index for part in parts]) for topic, parts in one.record_reply(answers)]


def open_session(cache: FetchSessions, indexes: list[int]) -> int:
    first = plan(cache, request({"t": indexes}))
    first.record_reply([fetched(index) for index in indexes])
    return first.session_id


def test_a_request_with_the_final_epoch_gets_no_session_and_everything() -> None:
    cache = sessions()

    one = plan(cache, request({"t": [0, 1]}, epoch=SESSIONLESS))

    assert one.session_id == 0
    assert told(one, [fetched(0), fetched(1)]) == [("t", [0, 1])]
    assert len(cache) == 0


def test_a_full_request_opens_a_session_and_is_answered_in_full() -> None:
    cache = sessions()

    one = plan(cache, request({"t": [0, 1]}))

    assert one.session_id == 100
    assert told(one, [fetched(0), fetched(1)]) == [("t", [0, 1])]


def test_an_empty_incremental_request_reads_all_partitions_of_the_session() -> None:
    cache = sessions()
    session_id = open_session(cache, [0, 1, 2])

    one = plan(cache, request(session_id=session_id, epoch=1))

    assert [wanted.index for wanted in one.wanted] == [0, 1, 2]


@pytest.mark.parametrize(
    "news",
    [
        {"size": 100},
        {"high_watermark": 11},
        {"log_start": 1},
        {"error": ErrorCode.KAFKA_STORAGE_ERROR},
    ],
)
def test_an_incremental_reply_carries_just_the_partitions_with_news(news: dict[str, int]) -> None:
    cache = sessions()
    session_id = open_session(cache, [0, 1])

    one = plan(cache, request(session_id=session_id, epoch=1))

    assert told(one, [fetched(0), fetched(1, **news)]) == [("t", [1])]


def test_reading_twice_before_the_reply_loses_no_news() -> None:
    cache = sessions()
    session_id = open_session(cache, [0])
    one = plan(cache, request(session_id=session_id, epoch=1))

    seen_while_parked = one.wanted[0].has_news(fetched(0, high_watermark=11))
    reply = told(one, [fetched(0, high_watermark=11)])

    assert seen_while_parked
    assert reply == [("t", [0])]


def test_a_cleared_error_is_told() -> None:
    cache = sessions()
    session_id = open_session(cache, [0])
    failing = plan(cache, request(session_id=session_id, epoch=1))
    failing.record_reply([fetched(0, error=ErrorCode.KAFKA_STORAGE_ERROR)])

    cleared = plan(cache, request(session_id=session_id, epoch=2))

    assert told(cleared, [fetched(0)]) == [("t", [0])]


def test_forgotten_partitions_are_read_no_more() -> None:
    cache = sessions()
    session_id = open_session(cache, [0, 1])

    one = plan(cache, request(session_id=session_id, epoch=1, forgotten={"t": [0]}))

    assert [wanted.index for wanted in one.wanted] == [1]


def test_a_request_may_move_a_partition_and_add_another() -> None:
    cache = sessions()
    session_id = open_session(cache, [0])

    one = plan(cache, request({"t": [0, 5]}, session_id=session_id, epoch=1, offset=42))

    assert [(wanted.index, wanted.asked.fetch_offset) for wanted in one.wanted] == [(0, 42), (5, 42)]


def test_an_added_partition_is_told_although_it_is_empty() -> None:
    cache = sessions()
    session_id = open_session(cache, [0])
    one = plan(cache, request({"t": [5]}, session_id=session_id, epoch=1))

    assert told(one, [fetched(0), fetched(5, high_watermark=0)]) == [("t", [5])]


def test_an_unknown_session_is_refused() -> None:
    assert plan(sessions(), request(session_id=7, epoch=1)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [2, 77])
def test_a_wrong_epoch_is_refused_and_the_session_lives_on(epoch: int) -> None:
    cache = sessions()
    session_id = open_session(cache, [0])

    refused = plan(cache, request(session_id=session_id, epoch=epoch))
    accepted = plan(cache, request(session_id=session_id, epoch=1))

    assert refused.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert accepted.error_code == ErrorCode.NONE


def test_the_epoch_wraps_to_one_since_zero_means_new() -> None:
    cache = sessions()
    session_id = open_session(cache, [0])
    session = cache._sessions[session_id]
    session.epoch = 2**31 - 1

    plan(cache, request(session_id=session_id, epoch=2**31 - 1))

    assert session.epoch == 1


def test_a_session_opened_by_name_refuses_requests_by_id() -> None:
    cache = sessions()
    session_id = open_session(cache, [0])

    refused = cache.plan(request(session_id=session_id, epoch=1), by_topic_id=True, now_ms=0)

    assert refused.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_full_request_closes_the_session_it_names() -> None:
    cache = sessions()
    session_id = open_session(cache, [0])

    plan(cache, request({"t": [0]}, session_id=session_id, epoch=FULL))

    assert session_id not in cache._sessions
    assert len(cache) == 1


def test_a_session_without_partitions_ends() -> None:
    cache = sessions()
    session_id = open_session(cache, [0])

    one = plan(cache, request(session_id=session_id, epoch=1, forgotten={"t": [0]}))

    assert one.session_id == 0
    assert len(cache) == 0


def test_a_full_cache_of_fresh_sessions_gives_no_new_one() -> None:
    cache = sessions(slots=2)
    open_session(cache, [0])
    open_session(cache, [0])

    one = plan(cache, request({"t": [0, 1, 2]}), now_ms=10)

    assert one.session_id == 0
    assert told(one, [fetched(0), fetched(1), fetched(2)]) == [("t", [0, 1, 2])]


def test_a_stale_session_makes_room() -> None:
    cache = sessions(slots=1)
    stale = open_session(cache, [0])

    one = plan(cache, request({"t": [0]}), now_ms=1001)

    assert one.session_id not in (0, stale)
    assert cache.evictions == 1


def test_a_smaller_settled_session_makes_room_for_a_larger_one() -> None:
    cache = sessions(slots=1)
    settled = open_session(cache, [0])
    plan(cache, request(session_id=settled, epoch=1), now_ms=900)

    smaller = plan(cache, request({"t": [0]}), now_ms=1500)
    larger = plan(cache, request({"t": [0, 1]}), now_ms=1500)

    assert smaller.session_id == 0
    assert larger.session_id != 0


def test_partitions_that_gave_data_go_to_the_end_of_the_order() -> None:
    cache = sessions()
    session_id = open_session(cache, [0, 1, 2])
    one = plan(cache, request(session_id=session_id, epoch=1))
    one.record_reply([fetched(0, size=10), fetched(1), fetched(2)])

    two = plan(cache, request(session_id=session_id, epoch=2))

    assert [wanted.index for wanted in two.wanted] == [1, 2, 0]
