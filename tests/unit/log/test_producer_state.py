from collections.abc import Callable

import pytest

from riverlog.errors import StorageError
from riverlog.log.producer_state import BATCHES_REMEMBERED, SEQUENCE_MAX, ProducerState
from riverlog.protocol.batches import BatchHeader, read_header
from riverlog.protocol.control_records import TransactionMarker
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import batch

PID = 7


def header(
    sequence: int, *, count: int = 5, epoch: int = 0, producer_id: int = PID, is_transactional: bool = False
) -> BatchHeader:
    return read_header(
        batch(
            count,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
    )


def state(*headers: BatchHeader, start: int = 0) -> ProducerState:
    """The state after these batches were appended, from offset `start` on."""
    made = ProducerState()
    offset = start
    for each in headers:
        assert made.check(each) is None
        made.record(each, offset, 1000)
        offset += each.record_count
    return made


def error(made: ProducerState, each: BatchHeader) -> int:
    verdict = made.check(each)
    assert verdict is not None
    assert verdict.duplicate_of is None
    assert str(PID) in verdict.message
    return verdict.error_code


def test_batches_in_sequence_are_accepted() -> None:
    made = state(header(0), header(5), header(10))

    assert made.check(header(15)) is None


def test_each_of_the_last_five_batches_is_known_again_with_its_first_offset() -> None:
    made = state(*(header(5 * number) for number in range(7)), start=100)

    for number in (2, 3, 4, 5, 6):
        verdict = made.check(header(5 * number))
        assert verdict is not None
        assert verdict.error_code == ErrorCode.NONE
        assert verdict.duplicate_of is not None
        assert verdict.duplicate_of.base_offset == 100 + 5 * number


def test_a_sixth_batch_back_is_out_of_order() -> None:
    made = state(*(header(5 * number) for number in range(BATCHES_REMEMBERED + 1)))

    assert error(made, header(0)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_that_shares_only_its_first_sequence_is_no_duplicate() -> None:
    made = state(header(0, count=5))

    assert error(made, header(0, count=3)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("sequence", [4, 6, 1000])
def test_a_gap_or_an_overlap_is_out_of_order(sequence: int) -> None:
    assert error(state(header(0)), header(sequence)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_from_the_largest_number_to_zero() -> None:
    made = state(header(SEQUENCE_MAX - 4, count=5))

    assert made.check(header(0)) is None
    assert error(made, header(1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_may_span_the_wrap_and_is_known_again() -> None:
    spanning = header(SEQUENCE_MAX - 1, count=5)
    made = state(spanning)

    assert made.check(header(3)) is None
    verdict = made.check(spanning)
    assert verdict is not None
    assert verdict.duplicate_of is not None
    assert verdict.duplicate_of.last_sequence == 2


def test_an_unknown_producer_may_start_anywhere() -> None:
    assert ProducerState().check(header(4711)) is None


def test_a_new_epoch_starts_at_zero_and_forgets_the_old_ones_batches() -> None:
    made = state(header(0), header(5))

    assert error(made, header(10, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert made.check(header(0, epoch=1)) is None
    made.record(header(0, epoch=1), 10, 1000)

    producer = made.get(PID)
    assert producer is not None
    assert [each.base_offset for each in producer.batches] == [10]


def test_an_older_epoch_is_a_zombie() -> None:
    made = state(header(0, epoch=3))

    assert error(made, header(5, epoch=2)) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_producers_do_not_know_of_each_other() -> None:
    made = state(header(0), header(0, producer_id=8))

    assert made.check(header(5)) is None
    assert made.check(header(5, producer_id=8)) is None


def test_a_silent_producer_is_forgotten_and_may_start_anywhere() -> None:
    made = state(header(0))

    assert made.expire(1000 + 99, 100) == 0
    assert made.expire(1000 + 100, 100) == 1
    assert made.check(header(4711)) is None


def test_a_producer_with_an_open_transaction_is_not_forgotten() -> None:
    made = state(header(0, is_transactional=True))

    assert made.expire(10**12, 100) == 0


def test_the_limit_forgets_those_that_were_silent_for_longest() -> None:
    made = ProducerState(producers_max=10)
    for number in range(11):
        made.record(header(0, producer_id=number), number, 1000 + number)

    assert len(made) == 10
    assert made.get(0) is None
    assert made.get(10) is not None


def test_the_oldest_open_transaction_counts_until_its_end_is_written() -> None:
    made = state(header(0, is_transactional=True), start=40)
    made.record(header(0, producer_id=8, is_transactional=True), 50, 1000)
    assert made.transactions.first_undecided == 40

    made.record_marker(header(-1, count=1), TransactionMarker(is_commit=True, coordinator_epoch=3), 55, 2000)

    assert made.transactions.first_undecided == 50
    producer = made.get(PID)
    assert producer is not None
    assert producer.coordinator_epoch == 3


def test_data_outside_of_an_open_transaction_is_refused() -> None:
    made = state(header(0, is_transactional=True))

    assert error(made, header(5)) == ErrorCode.INVALID_TXN_STATE


def test_a_marker_of_a_newer_epoch_lets_the_next_batch_start_at_zero() -> None:
    made = state(header(0, is_transactional=True))

    made.record_marker(header(-1, epoch=1), TransactionMarker(is_commit=False, coordinator_epoch=0), 5, 2000)

    assert made.check(header(0, epoch=1)) is None
    assert error(made, header(5, epoch=0)) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_snapshot_brings_back_epoch_sequence_and_last_batch() -> None:
    made = state(header(0, epoch=2), header(5, epoch=2), start=10)

    again = ProducerState.decode(made.encode(), "path")

    assert again.check(header(10, epoch=2)) is None
    verdict = again.check(header(5, epoch=2))
    assert verdict is not None
    assert verdict.duplicate_of is not None
    assert verdict.duplicate_of.base_offset == 15
    assert again.encode() == made.encode()


def test_a_snapshot_brings_back_open_transactions() -> None:
    made = state(header(0, is_transactional=True), start=40)

    assert ProducerState.decode(made.encode(), "path").transactions.first_undecided == 40


KAFKA_SNAPSHOT = bytes.fromhex(
    "0001a7343bdc00000001000000000000000000000000" + "4e1f0000000000004e1f00000cae0000018bcfe5b61f"
    "ffffffffffffffffffffffff"
)
"""Written by Apache Kafka 4.3.1: one producer whose last batch was 16753-19999."""


def test_a_snapshot_that_kafka_wrote_is_read_and_written_to_the_byte() -> None:
    read = ProducerState.decode(KAFKA_SNAPSHOT, "path")

    producer = read.get(0)
    assert producer is not None
    assert producer.last_sequence == 19_999
    assert producer.batches[0].base_offset == 19_999 - 0xCAE
    assert read.encode() == KAFKA_SNAPSHOT


def test_an_empty_snapshot_is_kafkas_too() -> None:
    assert ProducerState().encode() == bytes.fromhex("000148674bc700000000")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: b"\0\2" + content[2:],
        lambda content: content[:20] + b"\xff" + content[21:],
        lambda content: bytes(len(content)),
    ],
)
def test_a_damaged_snapshot_is_refused_with_its_path(spoil: Callable[[bytes], bytes]) -> None:
    with pytest.raises(StorageError, match="the-path"):
        ProducerState.decode(spoil(KAFKA_SNAPSHOT), "the-path")


def test_batches_before_a_snapshot_are_remembered_only_of_producers_silent_since() -> None:
    snapshot = ProducerState.decode(state(*(header(5 * number) for number in range(3))).encode(), "path")
    same = state(*(header(5 * number) for number in range(3)))
    other = state(*(header(5 * number) for number in range(2)))

    snapshot.remember_from(other)
    assert error(snapshot, header(5)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    snapshot.remember_from(same)

    verdict = snapshot.check(header(0))
    assert verdict is not None
    assert verdict.duplicate_of is not None
