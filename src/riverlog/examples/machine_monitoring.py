"""Machines report their temperature, and their clocks are wrong: by hours, by a time zone, since 1970.

    measured 03:00:10 ─ sent 03:01:00 ─(network)─▶ received 10:01:00     so measured at 10:00:10, by our clock
    └──── the machine's clock ──────┘               └─ ours ─┘

Windows go by the corrected time, and its watermark is set after the correction. What each clock was wrong by
comes out too, for those who mend it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from riverlog.examples.arrivals import disordered, milliseconds
from riverlog.examples.example import FAR, Arrival, Example, Input, Row, rows_on

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

READINGS = Input(
    "machine-readings",
    "machine string, reading long, measured timestamp, sent timestamp, received timestamp, decidegrees long",
    "machine",
)
WINDOW = timedelta(minutes=5)
HOT_DECIDEGREES = 900
DELAY = timedelta(minutes=6)

START = datetime(2026, 3, 2, 10, tzinfo=UTC)
EVERY = timedelta(seconds=20)
READINGS_PER_REPORT = 3
CLOCKS = {
    "press-1": timedelta(0),
    "press-2": timedelta(hours=-7),
    "mill-1": timedelta(seconds=95),
    "mill-2": datetime(1970, 1, 1, tzinfo=UTC) - START,
    "kiln-1": timedelta(hours=1),
    "kiln-2": timedelta(days=-1, minutes=-12),
}
"""How far each machine's clock is ahead at the start."""
DRIFT_MAX = 2e-4


def pipeline(readings: DataFrame) -> DataFrame:
    """Give for each machine and five minutes how hot it became, and how far its clock is behind."""
    from pyspark.sql import functions as F

    from riverlog.pipelines import correct_clock

    corrected = readings.transform(
        correct_clock(
            event_time="measured", sent_time="sent", received_time="received", into="at", offset="behind_us"
        )
    )
    timed = corrected.withWatermark("at", f"{DELAY.seconds} seconds")
    once = timed.dropDuplicatesWithinWatermark(["machine", "reading"])
    windows = once.groupBy(F.window("at", f"{WINDOW.seconds} seconds"), "machine").agg(
        F.count("reading").alias("readings"),
        F.max("decidegrees").alias("hottest"),
        F.max("behind_us").alias("behind_us"),
    )
    return windows.select(
        F.col("window")["start"].alias("since"),
        "machine",
        "readings",
        (F.col("hottest") / 10).alias("celsius"),
        (F.col("hottest") >= HOT_DECIDEGREES).alias("is_hot"),
        F.expr("behind_us div 1000").alias("clock_behind_ms"),
    )


def events(seed: int, count: int) -> list[Arrival]:
    """Make the reports of six machines, three readings each; one of them runs hot for a while."""
    chance = random.Random(seed)
    drifts = {machine: chance.uniform(-DRIFT_MAX, DRIFT_MAX) for machine in CLOCKS}
    hot = chance.choice(list(CLOCKS))
    each = count // len(CLOCKS)
    sent: list[tuple[datetime, Arrival]] = []
    for machine, ahead in CLOCKS.items():
        report: list[tuple[datetime, Row]] = []
        for number in range(each):
            true = START + number * EVERY + milliseconds(chance.random())
            is_hot = machine == hot and each // 3 < number < each // 2
            decidegrees = round(chance.gauss(940 if is_hot else 620, 25))
            report.append((true, {"machine": machine, "reading": number, "decidegrees": decidegrees}))
            if len(report) == READINGS_PER_REPORT or number == each - 1:
                true_sent = true + milliseconds(chance.uniform(0.2, 2))
                received = true_sent + milliseconds(chance.lognormvariate(-2, 1))

                def shown(
                    time: datetime, ahead: timedelta = ahead, drift: float = drifts[machine]
                ) -> datetime:
                    return time + ahead + milliseconds((time - START).total_seconds() * drift)

                for measured, row in report:
                    times = {"measured": shown(measured), "sent": shown(true_sent), "received": received}
                    sent.append((received, Arrival(READINGS.topic, {**row, **times})))
                report = []
    return disordered(chance, sent, DELAY)


def expected(arrivals: Sequence[Arrival]) -> list[Row]:
    """Correct each reading by its own three times, then group."""
    readings = {(row["machine"], row["reading"]): row for row in rows_on(READINGS.topic, arrivals)}
    windows: dict[tuple[datetime, str], list[tuple[int, timedelta]]] = defaultdict(list)
    for (machine, _), row in readings.items():
        behind = row["received"] - row["sent"]
        at = min(row["measured"] + behind, row["received"])
        since = at - (at - START) % WINDOW
        windows[since, machine].append((row["decidegrees"], behind))
    return [
        {
            "since": since,
            "machine": machine,
            "readings": len(found),
            "celsius": max(found)[0] / 10,
            "is_hot": max(found)[0] >= HOT_DECIDEGREES,
            "clock_behind_ms": max(behind for _, behind in found) // timedelta(milliseconds=1),
        }
        for (since, machine), found in windows.items()
    ]


def line(row: Row) -> str:
    """Say a window in words."""
    behind = timedelta(milliseconds=abs(row["clock_behind_ms"]))
    clock = f"{behind - timedelta(microseconds=behind.microseconds)}"
    way = "behind" if row["clock_behind_ms"] >= 0 else "ahead"
    hot = "  HOT" if row["is_hot"] else ""
    return f"{row['since'][11:16]}  {row['machine']} up to {row['celsius']:.1f} C, clock {clock} {way}{hot}"


EXAMPLE = Example(
    name="machine-monitoring",
    title="temperatures of machines whose clocks are wrong: corrected by three timestamps",
    inputs=(READINGS,),
    output="machine-temperatures",
    pipeline=pipeline,
    events=events,
    expected=expected,
    line=line,
    closing=(
        Arrival(
            READINGS.topic,
            {
                "machine": "-",
                "reading": -1,
                "measured": FAR,
                "sent": FAR,
                "received": FAR,
                "decidegrees": 0,
            },
        ),
    ),
)
