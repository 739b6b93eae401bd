"""How a group stands in a partition, when that is a risk, and what is told of it: with made-up numbers."""

from __future__ import annotations

import pytest

from riverlog.groups.lag import Lag, LagAlarms, Risk, warning
from riverlog.log.retention import STAYS, Outlook

PAIR = ("billing", "orders", 3)
ALARM = 0.2
NOW = 1_700_000_000_000  # 2023-11-14T22:13:20Z


def lag(
    committed: int = 100, *, start: int = 0, end: int = 1000, share: float = 1.0, **left: int | None
) -> Lag:
    outlook = Outlook(left.get("left_ms"), left.get("left_bytes"), share)
    return Lag(committed, start, end, outlook)


def test_a_lag_is_counted_to_the_high_watermark() -> None:
    assert (lag(100).offsets, lag(100).lost_offsets, lag(100).headroom) == (900, 0, 100)
    assert (lag(1000).offsets, lag(1000).lost_offsets, lag(1000).headroom) == (0, 0, 1000)


def test_what_was_deleted_unread_is_lost_and_lags_too() -> None:
    behind = lag(100, start=150)

    assert (behind.offsets, behind.lost_offsets, behind.headroom) == (900, 50, 0)


def test_an_offset_past_the_end_is_no_lag() -> None:
    assert lag(1001).offsets == 0


@pytest.mark.parametrize(
    ("stands", "risk"),
    [
        (lag(), Risk.NONE),
        (lag(share=0.21), Risk.NONE),
        (lag(share=0.2), Risk.AT_RISK),
        (lag(share=0.0), Risk.AT_RISK),
        (lag(1000, share=0.0), Risk.NONE),
        (lag(100, start=101), Risk.LOST),
        (lag(100, start=100, share=0.5), Risk.NONE),
        # All of it: everything was deleted, and nothing has come since.
        (lag(100, start=1000, end=1000), Risk.LOST),
    ],
)
def test_unread_records_are_at_risk_when_little_of_their_time_is_left(stands: Lag, risk: Risk) -> None:
    assert stands.risk(ALARM) is risk


def test_without_an_alarm_only_what_was_lost_is_told() -> None:
    assert lag(share=0.0).risk(0) is Risk.NONE
    assert lag(start=101).risk(0) is Risk.LOST


def told(alarms: LagAlarms, *stands: Lag) -> list[Risk]:
    return [alarms.note(PAIR, each, ALARM) for each in stands]


def test_each_crossing_is_told_once_and_the_loss_again() -> None:
    said = told(
        LagAlarms(),
        lag(share=0.5),
        lag(share=0.1),
        lag(share=0.05),
        lag(start=150, share=0.0),
        lag(start=200, share=0.0),
    )

    assert said == [Risk.NONE, Risk.AT_RISK, Risk.NONE, Risk.LOST, Risk.NONE]


def test_a_loss_that_nobody_saw_coming_is_told() -> None:
    assert told(LagAlarms(), lag(share=0.9), lag(start=150)) == [Risk.NONE, Risk.LOST]


def test_a_group_that_caught_up_is_told_of_anew() -> None:
    said = told(LagAlarms(), lag(share=0.1), lag(1000), lag(share=0.1), lag(start=150), lag(1000))

    assert said == [Risk.AT_RISK, Risk.NONE, Risk.AT_RISK, Risk.LOST, Risk.NONE]


def test_a_group_that_hovers_at_the_edge_is_told_of_once() -> None:
    said = told(LagAlarms(), lag(share=0.2), lag(share=0.25), lag(share=0.2), lag(share=0.29))
    assert said == [Risk.AT_RISK, Risk.NONE, Risk.NONE, Risk.NONE]

    said = told(LagAlarms(), lag(share=0.2), lag(share=0.31), lag(share=0.2))
    assert said == [Risk.AT_RISK, Risk.NONE, Risk.AT_RISK]


def test_pairs_that_are_no_more_are_forgotten() -> None:
    alarms = LagAlarms()
    told(alarms, lag(share=0.1))
    assert list(alarms) == [PAIR]

    alarms.keep_only([PAIR])
    assert list(alarms) == [PAIR]
    alarms.keep_only([])
    assert list(alarms) == []
    assert told(alarms, lag(share=0.1)) == [Risk.AT_RISK]


def text(stands: Lag, risk: Risk = Risk.AT_RISK, rate: float = 0.0) -> str:
    return warning(PAIR, stands, risk, NOW, rate)


def test_a_warning_names_who_where_how_far_and_when() -> None:
    assert text(lag(left_ms=7_300_000)) == (
        "group 'billing' is about to lose records of orders-3: it is 900 offsets behind (committed 100,"
        " end 1000), and what it has to read next is deleted in 2 h, at 2023-11-15T00:15:00Z (retention.ms)"
    )


def test_a_limit_of_bytes_is_told_in_bytes_and_at_the_present_rate_in_time() -> None:
    by_size = lag(left_bytes=3_000_000)

    assert text(by_size).endswith("deleted once 3,000,000 more bytes are written (retention.bytes)")
    assert text(by_size, rate=100_000).endswith(
        "deleted once 3,000,000 more bytes are written, in about 30 s at the present rate,"
        " at 2023-11-14T22:13:50Z (retention.bytes)"
    )


def test_of_two_limits_the_one_that_comes_first_is_told_first() -> None:
    both = lag(left_ms=600_000, left_bytes=3_000_000)

    assert "in about 30 s at the present rate" in text(both, rate=100_000)
    assert text(both, rate=1).endswith(
        "in 10 min, at 2023-11-14T22:23:20Z (retention.ms), or once 3,000,000 more bytes are written"
    )
    assert text(both).endswith(
        "in 10 min, at 2023-11-14T22:23:20Z (retention.ms), or once 3,000,000 more bytes are written"
    )


def test_what_is_overdue_is_deleted_now() -> None:
    assert text(lag(left_ms=-1)).endswith("deleted now (retention.ms)")
    assert text(lag(left_bytes=0)).endswith("deleted now (retention.bytes)")
    assert text(lag(left_bytes=-10), rate=10).endswith("deleted now (retention.bytes)")


def test_a_loss_says_how_much() -> None:
    assert text(lag(start=150), Risk.LOST) == (
        "group 'billing' has lost 50 offsets of orders-3: they were deleted before it read them"
        " (committed 100, start 150, end 1000, lag 900)"
    )


def test_long_times_are_told_in_days() -> None:
    assert " in 7 d, at 2023-11-21T22:13:20Z" in text(lag(left_ms=7 * 86_400_000))
    assert STAYS.left_share == 1
