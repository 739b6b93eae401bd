"""Clicks with what is known of who clicked, from a table of users that a change capture writes into the log.

    users (a table in a database) ──change capture──▶ topic of changes ──▶┐ kept beside the pipeline
    clicks ──────────────────────────────────────────────────────────────▶┘ ──▶ enriched-clicks

A change record carries the row before and after, what was done (`r` read in a snapshot, `c` created, `u`
updated, `d` deleted) and the position in the database's log, in the form that Debezium writes; a tombstone
follows a deletion. Of two changes the one with the larger position is newer, whichever came first.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from riverlog.examples.arrivals import disordered, milliseconds
from riverlog.examples.example import Arrival, Example, Input, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_USER = "struct<id: long, name: string, plan: string>"
USERS = Input(
    "user-changes",
    f"before {_USER}, after {_USER}, op string, source struct<lsn: long, table: string>, ts_ms long",
    "id",
)
PAGE_CLICKS = Input("page-clicks", "click string, user long, page string, at timestamp", "user")
DELAY = timedelta(minutes=2)

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
TURNS = 3
TURN = timedelta(minutes=20)
NAMES = ("Ada", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ida", "Jon", "Kim", "Lea")
PLANS = ("free", "free", "plus", "business")
PAGES = ("/", "/prices", "/docs", "/login", "/cancel")
LSN_STEP = 56


def pipeline(clicks: DataFrame, changes: DataFrame) -> DataFrame:
    """Give each click with its user's name and plan, as they are known when it arrives."""
    from pyspark.sql import functions as F

    from riverlog.pipelines import stream_table_join

    users = changes.where("op is not null").select(
        F.coalesce("after.id", "before.id").alias("user"),
        F.col("source")["lsn"].alias("lsn"),
        (F.col("op") == "d").alias("is_deleted"),
        "after.name",
        "after.plan",
    )
    once = clicks.withWatermark("at", f"{DELAY.seconds} seconds").dropDuplicatesWithinWatermark(["click"])
    return once.transform(stream_table_join(users, on=["user"], order="lsn", deleted="is_deleted")).drop(
        "lsn"
    )


def events(seed: int, count: int) -> list[Arrival]:
    """Make turns of changes, the first a snapshot, each followed by clicks; some clicks are of nobody known.

    The capture repeats some of its records, old ones too, as it does after a restart.
    """
    chance = random.Random(seed)
    table: dict[int, Row] = {}
    written: list[Arrival] = []
    arrivals: list[Arrival] = []
    for turn in range(TURNS):
        begins = START + turn * TURN
        changes: list[tuple[datetime, Arrival]] = []
        for _ in range(len(NAMES) if turn == 0 else count // 10):
            at = begins + milliseconds(chance.random() * 60)
            records = _change(chance, table, at, turn, len(written))
            changes += [(at, record) for record in records]
            written += records
        repeated = [(begins, record) for record in chance.sample(written, 3)]
        arrivals += disordered(chance, [*changes, *repeated], DELAY)
        clicks = []
        for number in range(count // TURNS):
            at = begins + milliseconds(90 + chance.random() * (TURN.total_seconds() - 90))
            click = {"click": f"c{seed}-{turn}-{number}", "user": chance.randrange(len(NAMES) + 4)}
            clicks.append((at, Arrival(PAGE_CLICKS.topic, {**click, "page": chance.choice(PAGES), "at": at})))
        arrivals += disordered(chance, clicks, DELAY)
    return arrivals


def _change(
    chance: random.Random, table: dict[int, Row], at: datetime, turn: int, number: int
) -> list[Arrival]:
    """Change a row of the table, and give the record of it."""
    user = len(table) if turn == 0 else chance.randrange(len(NAMES) + 2)
    before = table.get(user)
    after: Row | None = {"id": user, "name": NAMES[user % len(NAMES)], "plan": chance.choice(PLANS)}
    if before is not None and chance.random() < 0.2:
        after = None
        del table[user]
    else:
        assert after is not None
        table[user] = after
    kind = "r" if turn == 0 else "d" if after is None else "c" if before is None else "u"
    record: dict[str, Any] = {
        "before": before,
        "after": after,
        "op": kind,
        "source": {"lsn": 24_000_000 + number * LSN_STEP, "table": "users"},
        "ts_ms": int(at.timestamp() * 1000),
    }
    changes = [Arrival(USERS.topic, record, key=user)]
    return [*changes, Arrival(USERS.topic, None, key=user)] if after is None else changes


def expected(arrivals: Sequence[Arrival]) -> list[Row]:
    """Go through the records as they arrive, keeping the newest row of each user."""
    newest: dict[int, Row] = {}
    seen: set[str] = set()
    result = []
    for topic, row, _ in arrivals:
        if row is None:
            continue
        if topic == USERS.topic:
            user = (row["after"] or row["before"])["id"]
            if user not in newest or row["source"]["lsn"] >= newest[user]["source"]["lsn"]:
                newest[user] = row
        elif row["click"] not in seen:
            seen.add(row["click"])
            change = newest.get(row["user"])
            known = (change["after"] if change else None) or {}
            result.append({**row, "name": known.get("name"), "plan": known.get("plan")})
    return result


def line(row: Row) -> str:
    """Say a click in words."""
    who = f"{row['name']} ({row['plan']})" if "name" in row else f"user {row['user']}, not known"
    return f"{row['at'][11:19]}  {row['page']:<8} {who}"


EXAMPLE = Example(
    name="enriched-clicks",
    title="clicks joined with a table of users that change capture keeps in the log",
    inputs=(PAGE_CLICKS, USERS),
    output="enriched-clicks",
    pipeline=pipeline,
    events=events,
    expected=expected,
    line=line,
    goes_by_arrival=True,
)
