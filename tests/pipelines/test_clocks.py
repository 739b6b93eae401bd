"""Clock correction beside a few lines of Python that say the same."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from riverlog.pipelines import ColumnRefused, correct_clock
from riverlog.testing.pipelines import at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "event timestamp, sent timestamp, received timestamp"
CORRECT = correct_clock(event_time="event", sent_time="sent", received_time="received", offset="offset")


def by_hand(
    event: datetime | None, sent: datetime | None, received: datetime
) -> tuple[datetime | None, int | None]:
    offset = None if sent is None else received - sent
    shown = None if offset is None else offset // timedelta(microseconds=1)
    if event is None:
        return None, shown
    return min(event + (offset or timedelta(0)), received), shown


def test_an_event_of_a_clock_an_hour_behind_is_moved_by_that_hour(riverlog_spark: SparkSession) -> None:
    times = (at("09:00:00"), at("09:05:00"), at("10:05:00"))

    row = riverlog_spark.createDataFrame([times], SCHEMA).transform(CORRECT).collect()[0]

    assert row.corrected_time.astimezone(UTC) == at("10:00:00")
    assert row.offset == 3600 * 10**6


def test_any_clocks_give_what_the_rule_gives_by_hand(riverlog_spark: SparkSession) -> None:
    seed = 20260101
    print(f"seed {seed}")
    chance = random.Random(seed)
    rows = []
    for _ in range(300):
        received = at("12:00:00") + timedelta(microseconds=chance.randrange(10**10))
        sent = received + timedelta(microseconds=chance.randrange(-(10**11), 10**11))
        event = sent - timedelta(microseconds=chance.randrange(-(10**8), 10**10))
        rows.append((chance.choice([event] * 9 + [None]), chance.choice([sent] * 9 + [None]), received))

    corrected = riverlog_spark.createDataFrame(rows, SCHEMA).transform(CORRECT).collect()

    found = [(row.corrected_time and row.corrected_time.astimezone(UTC), row.offset) for row in corrected]
    assert found == [by_hand(*row) for row in rows]


def test_a_column_that_is_missing_or_no_time_is_named(riverlog_spark: SparkSession) -> None:
    frame = riverlog_spark.createDataFrame([], "event timestamp, sent string, received timestamp")

    with pytest.raises(ColumnRefused, match=r"sent_time='sent' is of type string"):
        frame.transform(CORRECT)
    with pytest.raises(
        ColumnRefused, match=r"received_time='arrived' names no column.*event, sent, received"
    ):
        frame.withColumn("sent", frame.event).transform(
            correct_clock(event_time="event", sent_time="sent", received_time="arrived")
        )
    with pytest.raises(ColumnRefused, match=r"into='event' is a column of the frame already"):
        frame.withColumn("sent", frame.event).transform(
            correct_clock(event_time="event", sent_time="sent", received_time="received", into="event")
        )
