"""Reading from brokers that come, go, change leaders and send what they should not."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from riverlog.columnar import BadBatch, ClusterUnavailable, RecordsLost, Source, Split
from riverlog.columnar.fetching import cluster, connection
from riverlog.errors import RemoteProtocolError, RequestRefused
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import batch
from tests.columns import as_records
from tests.scripted_broker import (
    API_VERSIONS,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    ScriptedBroker,
    fetch_answer,
    log_of,
    offset_answer,
    two_brokers,
)

LOG: dict[int, bytes | bytearray] = {base: batch(3, base_offset=base) for base in (0, 3, 6)}
NINE = Split("orders", 0, 0, 9)


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    """A broker with nine records."""
    with ScriptedBroker() as scripted:
        scripted.answers[FETCH] = log_of(LOG)
        yield scripted


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pauses, so that trying again costs a test little."""
    monkeypatch.setattr(cluster, "PAUSE_SECONDS_MIN", 0.001)
    monkeypatch.setattr(cluster, "PAUSE_SECONDS_MAX", 0.01)
    monkeypatch.setattr(cluster, "ABSENCE_SECONDS_MAX", 0.05)


def offsets(broker: ScriptedBroker | str, split: Split = NINE, **options: Any) -> list[int]:
    bootstrap = broker if isinstance(broker, str) else broker.bootstrap
    source = Source(bootstrap=bootstrap, **{"timeout_seconds": 10.0} | options)
    return [record.offset for each in source.batches(split) for record in as_records(each)]


def first(*answers: Any, then: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Answer with these in turn, and from then on with `then`."""
    waiting = list(answers)
    return lambda request: waiting.pop(0) if waiting else then(request)


def asked_offsets(broker: ScriptedBroker) -> list[int]:
    requests = broker.asked(messages.FetchRequest)
    return [request.topics[0].partitions[0].fetch_offset for request in requests]


def test_a_partition_is_read_to_its_end_and_not_beyond(broker: ScriptedBroker) -> None:
    assert offsets(broker) == list(range(9))
    assert asked_offsets(broker) == [0, 3, 6]


def test_a_range_is_cut_out_of_the_batches(broker: ScriptedBroker) -> None:
    assert offsets(broker, Split("orders", 0, 4, 7)) == [4, 5, 6]


def test_the_next_fetch_is_on_its_way_while_a_reply_is_decoded(broker: ScriptedBroker) -> None:
    was_asked = threading.Event()

    def answer(request: messages.FetchRequest) -> messages.FetchResponse:
        if request.topics[0].partitions[0].fetch_offset == 3:
            was_asked.set()
        return log_of(LOG)(request)

    broker.answers[FETCH] = answer
    batches = Source(bootstrap=broker.bootstrap).batches(NINE)
    next(batches)  # and nobody has asked for the second

    assert was_asked.wait(10)
    batches.close()


def test_who_stops_reading_leaves_nothing_open(broker: ScriptedBroker) -> None:
    batches = Source(bootstrap=broker.bootstrap).batches(NINE)
    next(batches)
    batches.close()

    assert offsets(broker) == list(range(9))


def test_a_partition_is_followed_to_its_new_leader() -> None:
    with two_brokers() as (old, new):
        old.leaders = new.leaders = {0: 1}

        def move(_: messages.FetchRequest) -> messages.FetchResponse:
            old.leaders[0] = 2  # which the other broker knows by the same dictionary
            return fetch_answer(error=ErrorCode.NOT_LEADER_OR_FOLLOWER)

        old.answers[FETCH] = first(fetch_answer(LOG[0]), then=move)
        new.answers[FETCH] = log_of(LOG)

        assert offsets(old) == list(range(9))
        assert asked_offsets(new) == [3, 6]


def test_a_connection_that_ends_is_made_again(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = first(fetch_answer(LOG[0]), None, None, then=log_of(LOG))

    assert offsets(broker) == list(range(9))
    assert broker.connections == 3


def test_a_broker_that_is_gone_is_told_from_one_that_is_there(broker: ScriptedBroker) -> None:
    with ScriptedBroker() as gone:
        pass

    assert offsets(f"{gone.bootstrap},{broker.bootstrap}") == list(range(9))


def test_when_nothing_helps_the_last_trouble_is_named_in_time(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = lambda _: fetch_answer(error=ErrorCode.LEADER_NOT_AVAILABLE)

    with pytest.raises(ClusterUnavailable, match=r"orders-0 from offset 0: .*LEADER_NOT_AVAILABLE"):
        offsets(broker, timeout_seconds=0.2)


def test_without_a_broker_the_address_is_named() -> None:
    with ScriptedBroker() as gone:
        pass

    with pytest.raises(ClusterUnavailable, match=f"127.0.0.1:{gone.port}: connection refused"):
        offsets(gone.bootstrap, timeout_seconds=0.1)


def test_a_silent_broker_is_given_up(broker: ScriptedBroker) -> None:
    broker.answers[METADATA] = lambda _: b""  # as if it were thinking

    with pytest.raises(ClusterUnavailable, match="timed out"):
        offsets(broker, timeout_seconds=0.1)


@pytest.mark.parametrize("hangs_at", [API_VERSIONS, METADATA])
def test_a_broker_that_hangs_does_not_keep_from_asking_another(hangs_at: int) -> None:
    with two_brokers() as (hanging, sound):
        hanging.answers[hangs_at] = lambda _: b""
        sound.leaders = {0: 2}
        sound.answers[FETCH] = log_of(LOG)

        assert offsets(f"{hanging.bootstrap},{sound.bootstrap}", timeout_seconds=3.0) == list(range(9))


def test_a_topic_that_stays_unknown_is_refused(broker: ScriptedBroker) -> None:
    unknown = messages.MetadataResponseTopic(name="orders", error_code=3)
    broker.answers[METADATA] = lambda _: messages.MetadataResponse(topics=[unknown])

    with pytest.raises(RequestRefused, match="UNKNOWN_TOPIC_OR_PARTITION") as raised:
        Source(bootstrap=broker.bootstrap).splits("orders")
    assert raised.value.error_code == 3


def test_a_topic_that_appears_late_is_read(broker: ScriptedBroker) -> None:
    unknown = messages.MetadataResponseTopic(name="orders", error_code=3)
    known = broker.answers[METADATA]
    broker.answers[METADATA] = first(messages.MetadataResponse(topics=[unknown]), then=known)

    assert offsets(broker) == list(range(9))


def test_what_does_not_pass_is_raised_at_once(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = lambda _: fetch_answer(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    with pytest.raises(RequestRefused, match="TOPIC_AUTHORIZATION_FAILED"):
        offsets(broker)
    assert asked_offsets(broker) == [0]


# records that are gone, or not there


def test_records_that_were_deleted_meanwhile_are_an_error(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = first(fetch_answer(LOG[0]), then=lambda _: fetch_answer(error=1))
    broker.answers[LIST_OFFSETS] = lambda _: offset_answer(6)

    with pytest.raises(RecordsLost, match="orders-0: the records from offset 3 up to 6 were deleted"):
        offsets(broker)


def test_records_that_were_deleted_are_passed_over_where_that_is_asked_for(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = first(fetch_answer(LOG[0]), fetch_answer(error=1), then=log_of(LOG))
    broker.answers[LIST_OFFSETS] = lambda _: offset_answer(6)

    assert offsets(broker, skip_lost=True) == [0, 1, 2, 6, 7, 8]


def test_all_of_a_split_may_be_gone(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = lambda _: fetch_answer(error=1)
    broker.answers[LIST_OFFSETS] = lambda _: offset_answer(60)

    assert offsets(broker, skip_lost=True) == []


def test_an_offset_behind_the_end_is_refused(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = lambda _: fetch_answer(error=1)
    broker.answers[LIST_OFFSETS] = lambda _: offset_answer(0)

    with pytest.raises(RequestRefused, match="offset 5 lies behind the end"):
        offsets(broker, Split("orders", 0, 5, 9))


def test_records_that_do_not_come_are_waited_for_until_the_time_is_over(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = first(fetch_answer(), fetch_answer(), then=log_of(LOG))
    assert offsets(broker) == list(range(9))

    broker.answers[FETCH] = lambda _: fetch_answer()
    with pytest.raises(ClusterUnavailable, match="there is nothing at offset 0 yet"):
        offsets(broker, timeout_seconds=0.1)


def test_holes_are_stepped_over(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = lambda request: fetch_answer(
        LOG[0] if request.topics[0].partitions[0].fetch_offset < 3 else LOG[6]
    )

    assert offsets(broker) == [0, 1, 2, 6, 7, 8]


def test_what_a_reply_names_as_aborted_is_left_out(broker: ScriptedBroker) -> None:
    data = batch(3, base_offset=0, producer_id=7, producer_epoch=0, is_transactional=True) + LOG[3] + LOG[6]
    broker.answers[FETCH] = lambda _: fetch_answer(data, aborted=[(0, 7)])

    assert offsets(broker) == [3, 4, 5, 6, 7, 8]
    assert broker.asked(messages.FetchRequest)[0].isolation_level == 1


# bytes that should not be


@pytest.mark.parametrize(
    "answer",
    [
        struct.pack(">i", -1),
        struct.pack(">i", connection.FRAME_BYTES_MAX + 1),
        struct.pack(">ii", 4, 99),
        struct.pack(">i", 2) + b"\0\0",
        struct.pack(">ii", 8, 3) + b"\xff" * 4,
    ],
)
def test_bytes_that_are_no_answer_end_the_reading(broker: ScriptedBroker, answer: bytes) -> None:
    broker.answers[FETCH] = lambda _: answer

    with pytest.raises(RemoteProtocolError):
        offsets(broker)


def test_a_damaged_batch_is_named(broker: ScriptedBroker) -> None:
    damaged = batch(3, base_offset=3)
    damaged[-1] ^= 1
    broker.answers[FETCH] = log_of(LOG | {3: damaged})

    with pytest.raises(BadBatch, match=r"orders-0: the batch at offset 3 .*CRC"):
        offsets(broker)


def test_a_batch_that_does_not_come_whole_is_an_error_and_no_endless_loop(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = lambda _: fetch_answer(LOG[0][:-1])

    with pytest.raises(BadBatch, match=r"the broker sent .* bytes of it"):
        offsets(broker)


def test_batches_that_were_not_asked_for_are_no_endless_loop(broker: ScriptedBroker) -> None:
    broker.answers[FETCH] = lambda _: fetch_answer(LOG[0])

    with pytest.raises(ClusterUnavailable, match="sent what lies before offset 3"):
        offsets(broker, timeout_seconds=0.1)
