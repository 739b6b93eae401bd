import pytest

from bench.row import Budget, Figure, Sample, System, at_least, at_most, judge, no_more_than

PEER, SUBJECT = System.PEER, System.SUBJECT


def turns(peer: list[float], subject: list[float]) -> dict[System, list[Sample]]:
    return {PEER: [{"rate": value} for value in peer], SUBJECT: [{"rate": value} for value in subject]}


def figure(budget: Budget | None = None) -> Figure:
    return Figure("rate", "a rate", "k/s", budget)


def test_the_ratio_is_the_median_of_the_turns_ratios_not_of_the_medians() -> None:
    # the machine halves its speed after the first turn
    verdict = judge(figure(), turns(peer=[100, 50, 50], subject=[200, 101, 99]))

    assert verdict.medians == {PEER: 50, SUBJECT: 101}
    assert verdict.ratio == pytest.approx(2.0)
    assert verdict.ratio_min == pytest.approx(1.98)
    assert verdict.ratio_max == pytest.approx(2.02)


@pytest.mark.parametrize(
    ("budget", "is_met"),
    [
        (at_least(2.0), True),
        (at_least(2.1), False),
        (at_most(2.0), True),
        (at_most(1.9), False),
        (no_more_than(200), True),
        (no_more_than(199), False),
        (None, None),
    ],
)
def test_a_budget_bounds_the_ratio_or_the_subjects_own_value(
    budget: Budget | None, is_met: bool | None
) -> None:
    assert judge(figure(budget), turns(peer=[100], subject=[200])).is_met is is_met


def test_nothing_is_judged_of_one_broker_alone_but_absolute_budgets() -> None:
    alone: dict[System, list[Sample]] = {SUBJECT: [{"rate": 200.0}]}

    assert judge(figure(at_least(2.0)), alone).is_met is None
    assert judge(figure(no_more_than(200)), alone).is_met is True


def test_a_peer_that_used_no_measurable_cpu_gives_no_ratio() -> None:
    assert judge(figure(at_most(1.0)), turns(peer=[0.0], subject=[1.0])).ratio is None
