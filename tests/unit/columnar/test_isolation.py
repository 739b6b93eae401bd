"""Which batches readers see, judged in the order of the log."""

from __future__ import annotations

from riverlog.columnar.isolation import AbortedList, Outcomes, Verdict
from riverlog.protocol.batches import BatchHeader, read_header
from riverlog.protocol.control_records import TransactionMarker, build_marker_batch
from tests.batch_builders import batch

TAKE, SKIP, WAIT = Verdict.TAKE, Verdict.SKIP, Verdict.WAIT


def data(producer: int, offset: int, count: int = 2) -> bytearray:
    return batch(count, base_offset=offset, producer_id=producer, producer_epoch=0, is_transactional=True)


def marker(producer: int, offset: int, *, commits: bool) -> bytearray:
    end = TransactionMarker(commits, 0)
    return build_marker_batch(end, producer_id=producer, producer_epoch=0, timestamp=0, base_offset=offset)


def judged(rule: AbortedList, *batches: bytearray) -> list[Verdict]:
    return [rule.judge(read_header(each), each, 0) for each in batches]


def header(each: bytearray) -> BatchHeader:
    return read_header(each)


def test_control_batches_are_for_nobody() -> None:
    assert judged(AbortedList(), marker(1, 0, commits=True), marker(1, 1, commits=False)) == [SKIP, SKIP]


def test_without_a_list_what_was_aborted_is_taken() -> None:
    assert judged(AbortedList(), data(1, 0), marker(1, 2, commits=False)) == [TAKE, SKIP]


def test_an_aborted_transaction_is_left_out_up_to_its_marker() -> None:
    rule = AbortedList()
    rule.begin_reply([(2, 7)])

    verdicts = judged(
        rule,
        data(7, 0),  # an earlier transaction of the same producer
        data(7, 2),
        data(8, 4),
        data(7, 6),
        marker(7, 8, commits=False),
        data(7, 9),  # a later one
    )

    assert verdicts == [TAKE, SKIP, TAKE, SKIP, SKIP, TAKE]


def test_records_outside_of_transactions_are_taken_whoever_aborts() -> None:
    rule = AbortedList()
    rule.begin_reply([(0, 7)])
    plain = batch(2, producer_id=7, producer_epoch=0)

    assert judged(rule, plain) == [TAKE]


def test_a_transaction_that_began_before_the_reply_counts_from_its_first_batch() -> None:
    rule = AbortedList()
    rule.begin_reply([(0, 7)])

    assert judged(rule, data(7, 50)) == [SKIP]


def test_a_reply_tells_all_that_concerns_it() -> None:
    rule = AbortedList()
    rule.begin_reply([(0, 7)])
    judged(rule, data(7, 0))

    rule.begin_reply([])

    assert judged(rule, data(7, 10)) == [TAKE]


def test_what_nobody_has_decided_waits() -> None:
    outcomes = Outcomes()

    assert outcomes.judge(header(data(7, 0))) is WAIT
    assert outcomes.judge(header(batch(2))) is TAKE
    assert outcomes.judge(header(marker(7, 2, commits=True))) is SKIP


def test_each_transaction_ends_with_the_next_marker_of_its_producer() -> None:
    outcomes = Outcomes()
    for each in (
        marker(7, 4, commits=False),
        marker(8, 5, commits=True),
        marker(7, 8, commits=True),
    ):
        outcomes.note(header(each), each, 0)

    assert outcomes.judge(header(data(7, 0))) is SKIP
    assert outcomes.judge(header(data(8, 2))) is TAKE
    assert outcomes.judge(header(data(7, 6))) is TAKE
    assert outcomes.judge(header(data(7, 9))) is WAIT
