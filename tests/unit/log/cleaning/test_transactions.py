from riverlog.log.cleaning.transactions import CleanedTransactions
from riverlog.log.transaction_index import AbortedTransaction
from riverlog.protocol.batches import BatchHeader, read_header
from riverlog.protocol.control_records import TransactionMarker
from riverlog.protocol.records import Record, build_batch

A, B = 7, 8
ABORT, COMMIT = TransactionMarker(False, 0), TransactionMarker(True, 0)


def data(producer_id: int, offset: int, *, is_transactional: bool = True) -> BatchHeader:
    return read_header(
        build_batch(
            [Record(0, 0, b"k", b"v")],
            base_offset=offset,
            producer_id=producer_id,
            is_transactional=is_transactional,
        )
    )


def aborted(producer_id: int, first: int, last: int) -> AbortedTransaction:
    return AbortedTransaction(producer_id, first, last, last + 1)


def test_batches_between_the_first_offset_and_the_marker_are_aborted() -> None:
    transactions = CleanedTransactions([aborted(A, 2, 5)])

    assert not transactions.is_aborted(data(A, 1))
    assert transactions.is_aborted(data(A, 2))
    assert not transactions.is_aborted(data(B, 3))
    assert transactions.is_aborted(data(A, 4))
    transactions.has_no_trace(data(A, 5), ABORT)
    assert not transactions.is_aborted(data(A, 6))


def test_batches_outside_of_transactions_are_never_aborted() -> None:
    transactions = CleanedTransactions([aborted(A, 2, 5)])

    assert not transactions.is_aborted(data(A, 3, is_transactional=False))


def test_an_abort_stays_named_while_a_batch_of_its_transaction_is_met() -> None:
    transactions = CleanedTransactions([aborted(A, 2, 5), aborted(A, 7, 9)])
    transactions.is_aborted(data(A, 2))

    assert not transactions.has_no_trace(data(A, 5), ABORT)
    assert transactions.has_no_trace(data(A, 9), ABORT)
    assert transactions.take_kept() == [aborted(A, 2, 5)]
    assert transactions.take_kept() == []


def test_a_commit_has_no_trace_once_all_its_batches_are_gone() -> None:
    transactions = CleanedTransactions([])
    transactions.is_aborted(data(A, 1))

    assert not transactions.has_no_trace(data(A, 2), COMMIT)
    assert transactions.has_no_trace(data(A, 3), COMMIT)
    assert transactions.has_no_trace(data(B, 4), COMMIT)


def test_a_marker_that_lost_its_record_has_no_trace() -> None:
    assert CleanedTransactions([]).has_no_trace(data(A, 2), None)


def test_what_ended_before_the_start_is_of_no_interest() -> None:
    transactions = CleanedTransactions([aborted(A, 2, 5), aborted(B, 3, 10)], start_offset=6)

    assert not transactions.is_aborted(data(A, 6))
    assert transactions.is_aborted(data(B, 7))
