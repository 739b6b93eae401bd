import random
import time

import pytest

from riverlog.log.open_transactions import OpenTransactions

END = 10**9


def opened(*begun: tuple[int, int]) -> OpenTransactions:
    made = OpenTransactions()
    for producer_id, first_offset in begun:
        made.begin(producer_id, first_offset)
    return made


def test_without_transactions_nothing_is_unstable() -> None:
    made = OpenTransactions()

    assert (made.first_undecided, made.first_unstable(0), len(made)) == (-1, -1, 0)


def test_the_first_to_begin_is_the_first_undecided() -> None:
    made = opened((7, 10), (8, 20), (9, 30))

    made.decide(20, 40)
    assert made.first_undecided == 10
    made.decide(10, 41)
    assert made.first_undecided == 30
    made.decide(30, 42)
    assert made.first_undecided == -1


@pytest.mark.parametrize(("high_watermark", "unstable"), [(40, 10), (41, 20), (50, 20), (51, -1)])
def test_a_decided_transaction_is_unstable_until_its_marker_is_replicated(
    high_watermark: int, unstable: int
) -> None:
    made = opened((7, 10), (8, 20))
    made.decide(10, 40)
    made.decide(20, 50)

    assert made.first_unstable(high_watermark) == unstable


def test_one_that_was_decided_first_does_not_hide_an_older_one_that_is_not_replicated() -> None:
    made = opened((7, 10), (8, 20), (9, 30))
    made.decide(30, 40)
    made.decide(10, 50)

    assert made.first_unstable(45) == 10
    made.decide(20, 60)
    assert made.first_unstable(55) == 20
    assert made.first_unstable(61) == -1
    assert len(made) == 0


def test_an_end_of_nothing_changes_nothing() -> None:
    made = opened((7, 10))

    made.decide(5, 40)

    assert made.first_unstable(0) == 10


def test_the_answer_is_that_of_a_list() -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    choose = random.Random(seed)
    made, undecided, decided = OpenTransactions(), [], []
    high_watermark = 0
    for offset in range(2_000):
        if undecided and choose.random() < 0.5:
            first = undecided.pop(choose.randrange(len(undecided)))
            made.decide(first, offset)
            decided.append((first, offset))
        else:
            undecided.append(offset)
            made.begin(offset, offset)
        high_watermark = max(high_watermark, offset - choose.randrange(50))
        unstable = undecided + [first for first, marker in decided if marker >= high_watermark]
        assert made.first_unstable(high_watermark) == min(unstable, default=-1)
        assert made.first_undecided == min(undecided, default=-1)


def test_many_open_transactions_cost_no_more_than_few() -> None:
    def seconds(count: int) -> float:
        made = opened(*((number, number) for number in range(count)))
        began = time.perf_counter()
        for number in range(count):
            made.first_unstable(END)
            made.decide(number, count + number)
        return (time.perf_counter() - began) / count

    # a search among all would take a thousand times as long for each
    assert min(seconds(100_000) for _ in range(3)) < 20 * min(seconds(100) for _ in range(3))
