"""ListOffsets: rows 41 to 45 and 47."""

from __future__ import annotations

import pytest

from riverlog.broker.apis.list_offsets import Listed, list_offset
from riverlog.errors import StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import BATCH_TIME_MS, batch
from tests.unit.broker.apis.asking import AskedBroker

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = (
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
)
READ_COMMITTED = 1
NOTHING = (0, -1, -1, -1)


def asked_for(timestamp: int, index: int = 0, epoch: int = -1) -> messages.ListOffsetsPartition:
    return messages.ListOffsetsPartition(
        partition_index=index, timestamp=timestamp, current_leader_epoch=epoch
    )


def list_all(
    asked: AskedBroker,
    *partitions: messages.ListOffsetsPartition,
    topic: str = "a",
    version: int = 11,
    isolation: int = 0,
) -> list[tuple[int, int, int, int]]:
    request = messages.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[messages.ListOffsetsTopic(name=topic, partitions=list(partitions))],
    )
    [answer] = asked.ask(request, version).topics
    return [(each.error_code, each.timestamp, each.offset, each.leader_epoch) for each in answer.partitions]


@pytest.fixture
def filled(asked: AskedBroker) -> AskedBroker:
    """Offsets 0-2 at the time of batches and one and two milliseconds later, 3-5 ten milliseconds later."""
    asked.topic("a")
    asked.append("a")
    asked.append("a", timestamp=BATCH_TIME_MS + 10)
    return asked


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (LATEST, (0, -1, 6, 0)),
        (EARLIEST, (0, -1, 0, 0)),
        (EARLIEST_LOCAL, (0, -1, 0, 0)),
        (MAX_TIMESTAMP, (0, BATCH_TIME_MS + 12, 5, 0)),
        (LATEST_TIERED, NOTHING),
        (EARLIEST_PENDING_UPLOAD, NOTHING),
        (0, (0, BATCH_TIME_MS, 0, 0)),
        (BATCH_TIME_MS + 2, (0, BATCH_TIME_MS + 2, 2, 0)),
        (BATCH_TIME_MS + 3, (0, BATCH_TIME_MS + 10, 3, 0)),
        (BATCH_TIME_MS + 11, (0, BATCH_TIME_MS + 11, 4, 0)),
        (BATCH_TIME_MS + 13, NOTHING),
        (2**63 - 1, NOTHING),
        (-7, (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)),
        (-(2**63), (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)),
    ],
)
def test_each_kind_of_timestamp_finds_its_offset(
    filled: AskedBroker, timestamp: int, expected: tuple[int, int, int, int]
) -> None:
    assert list_all(filled, asked_for(timestamp)) == [expected]


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [(LATEST, (0, -1, 0, 0)), (EARLIEST, (0, -1, 0, 0)), (MAX_TIMESTAMP, NOTHING), (0, NOTHING)],
)
def test_an_empty_partition_has_its_ends_and_no_records(
    asked: AskedBroker, timestamp: int, expected: tuple[int, int, int, int]
) -> None:
    asked.topic("a")

    assert list_all(asked, asked_for(timestamp)) == [expected]


@pytest.mark.parametrize(
    ("timestamp", "first_version"),
    [
        (LATEST, 1),
        (EARLIEST, 1),
        (MAX_TIMESTAMP, 7),
        (EARLIEST_LOCAL, 8),
        (LATEST_TIERED, 9),
        (EARLIEST_PENDING_UPLOAD, 11),
    ],
)
def test_a_special_timestamp_is_unknown_before_its_version(
    filled: AskedBroker, timestamp: int, first_version: int
) -> None:
    codes = [list_all(filled, asked_for(timestamp), version=version)[0][0] for version in range(1, 12)]

    assert codes == [35] * (first_version - 1) + [0] * (12 - first_version)


def test_after_deleting_records_the_earliest_offset_can_be_fetched(filled: AskedBroker) -> None:
    filled.log("a").delete_records_before(4)

    [(_, _, offset, _)] = list_all(filled, asked_for(EARLIEST))

    assert offset == 4
    assert filled.log("a").read(offset, 1000, must_return_one_batch=True).records is not None
    assert list_all(filled, asked_for(0)) == [(0, BATCH_TIME_MS + 11, 4, 0)]


def test_read_committed_ends_at_the_last_stable_offset(asked: AskedBroker) -> None:
    asked.topic("a")
    asked.append("a", timestamp=BATCH_TIME_MS)
    asked.append(
        "a",
        timestamp=BATCH_TIME_MS + 10,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )

    everything = list_all(asked, asked_for(LATEST), asked_for(LATEST, 1))[:1]
    committed = [
        list_all(asked, asked_for(timestamp), isolation=READ_COMMITTED)[0]
        for timestamp in (LATEST, BATCH_TIME_MS + 2, BATCH_TIME_MS + 10)
    ]

    assert everything == [(0, -1, 6, 0)]
    assert committed == [(0, -1, 3, 0), (0, BATCH_TIME_MS + 2, 2, 0), NOTHING]


def test_an_unknown_isolation_level_is_refused(filled: AskedBroker) -> None:
    assert list_all(filled, asked_for(LATEST), isolation=7)[0][0] == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("topic", "index", "epoch", "code"),
    [
        ("nope", 0, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", 0, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", 1, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", -1, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", -(2**31), -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", 0, 0, ErrorCode.NONE),
        ("a", 0, 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ("a", 0, -2, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_what_cannot_be_listed_is_an_error_and_never_a_crash(
    filled: AskedBroker, topic: str, index: int, epoch: int, code: ErrorCode
) -> None:
    assert list_all(filled, asked_for(LATEST, index, epoch), topic=topic)[0][0] == code


def test_a_partition_asked_for_twice_is_refused_and_the_others_are_not(asked: AskedBroker) -> None:
    asked.topic("a", 2)

    answers = list_all(asked, asked_for(LATEST), asked_for(LATEST, 1), asked_for(EARLIEST))

    assert [answer[0] for answer in answers] == [42, 0, 42]


def test_each_answer_carries_the_epoch_of_the_record_found(filled: AskedBroker) -> None:
    filled.log("a").assign_epoch(3)
    filled.append("a", timestamp=BATCH_TIME_MS + 100)

    answers = [
        list_all(filled, asked_for(timestamp))[0]
        for timestamp in (EARLIEST, BATCH_TIME_MS, BATCH_TIME_MS + 50, LATEST)
    ]

    assert [answer[3] for answer in answers] == [0, 0, 3, 3]


@pytest.mark.parametrize(
    ("version", "code"), [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)]
)
def test_the_end_is_not_known_until_the_high_watermark_reaches_the_new_epoch(
    filled: AskedBroker, version: int, code: ErrorCode
) -> None:
    log = filled.log("a")
    log.follows_log_end = False
    log.append(data := batch(timestamp=BATCH_TIME_MS + 20), 0, len(data), BATCH_TIME_MS)
    log.assign_epoch(1)

    lagging = [
        list_offset(log, asked_for(timestamp), 0, version) for timestamp in (LATEST, 2**60, EARLIEST, 0)
    ]
    log.advance_high_watermark(log.log_end_offset)
    caught_up = list_offset(log, asked_for(LATEST), 0, version)

    assert [listed.error_code for listed in lagging] == [code, code, 0, 0]
    assert caught_up == Listed(0, -1, 9, 1)


def test_a_partition_whose_disk_failed_is_refused(filled: AskedBroker) -> None:
    filled.log("a").fail(StorageError("the disk is gone"))

    assert list_all(filled, asked_for(LATEST)) == [(ErrorCode.KAFKA_STORAGE_ERROR, -1, -1, -1)]
