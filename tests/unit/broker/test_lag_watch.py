"""The look at lag on a broker without sockets: its groups, its partitions, a clock of the test's."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from riverlog.broker.lag_watch import WARNINGS_MAX, LagWatch
from riverlog.groups import Commit, OffsetToCommit
from riverlog.groups.surroundings import NoTopics
from tests.batch_builders import BATCH_TIME_MS
from tests.unit.broker.apis.asking import AskedBroker

RETENTION_MS = 1_000_000
INTERVAL_MS = 10_000


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedBroker]:
    with closing(AskedBroker(tmp_path, "offsets.topic.num.partitions=1", "durability=page-cache")) as asked:
        yield asked


class Watched:
    """A look-out whose clock stands where the test puts it."""

    def __init__(self, asked: AskedBroker, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        self._asked = asked
        self.now_ms = BATCH_TIME_MS
        broker = asked.broker
        self.watch = broker.lag = LagWatch(
            broker.groups,
            broker.partitions,
            settings=lambda: broker.settings.monitoring,
            now_ms=lambda: self.now_ms,
        )

    def commit(self, group: str, offset: int, topic: str = "orders") -> None:
        place = OffsetToCommit(topic, bytes(16), 0, offset, -1, None)
        commit = Commit(9, group, -1, "", None, [place])

        async def until_done() -> None:
            reply = await self._asked.broker.groups.commit_offsets(commit)
            assert reply.error_codes == [0]

        self._asked.loop.run_until_complete(until_done())

    def look(self, after_ms: int = INTERVAL_MS) -> list[str]:
        """Let time pass, look, and give the warnings."""
        self.now_ms += after_ms
        for _ in self.watch.housekeeping():
            pass
        return self.warnings()

    def warnings(self) -> list[str]:
        said = [
            record.getMessage() for record in self._caplog.records if record.name == "riverlog.broker.lag"
        ]
        self._caplog.clear()
        return said


def topic(asked: AskedBroker, name: str, **overrides: str) -> None:
    """Make a topic in which each batch has a segment of its own: smaller than anybody may set."""
    asked.topic(name, **overrides)
    log = asked.log(name)
    log.settings = dataclasses.replace(log.settings, segment_bytes=200)


@pytest.fixture
def watched(asked: AskedBroker, caplog: pytest.LogCaptureFixture) -> Watched:
    caplog.set_level(logging.WARNING)
    topic(asked, "orders", retention_ms=str(RETENTION_MS))
    return Watched(asked, caplog)


def test_a_group_is_warned_of_before_its_records_are_too_old(asked: AskedBroker, watched: Watched) -> None:
    asked.append("orders", 3)
    watched.commit("slow", 1)
    watched.commit("quick", 3)

    assert watched.look() == []
    assert watched.look(RETENTION_MS * 7 // 10) == []
    (warning,) = watched.look(RETENTION_MS // 10)
    assert warning.startswith("group 'slow' is about to lose records of orders-0: it is 2 offsets behind")
    assert "(retention.ms)" in warning
    assert list(watched.watch.alarms) == [("slow", "orders", 0)]
    assert watched.look() == []


def test_a_group_that_reads_on_is_forgotten(asked: AskedBroker, watched: Watched) -> None:
    asked.append("orders", 3)
    watched.commit("slow", 1)
    assert len(watched.look(RETENTION_MS)) == 1

    watched.commit("slow", 3)

    assert watched.look() == []
    assert list(watched.watch.alarms) == []


def test_deletion_waits_for_the_warning_not_for_the_next_look(asked: AskedBroker, watched: Watched) -> None:
    asked.append("orders", 3)
    asked.append("orders", 3)
    watched.commit("slow", 1)
    watched.commit("quick", 6)
    watched.commit("middling", 3)
    assert watched.look() == []
    log = asked.log("orders")
    watched.now_ms = now_ms = BATCH_TIME_MS + RETENTION_MS + 60_000

    assert log.apply_retention(now_ms) == 2

    first, second = watched.warnings()
    assert first.startswith("group 'slow' is about to lose records of orders-0")
    assert first.endswith("is deleted now (retention.ms)")
    assert second.startswith("group 'middling' is about to lose records of orders-0")
    first, second = watched.look()
    assert first.startswith("group 'slow' has lost 5 offsets of orders-0")
    assert second.startswith("group 'middling' has lost 3 offsets of orders-0")
    assert watched.look() == []


def test_retention_tells_the_watch_what_it_is_about_to_delete(
    asked: AskedBroker, monkeypatch: pytest.MonkeyPatch, watched: Watched
) -> None:
    told: list[tuple[object, int, int]] = []

    def note(log: object, offset: int) -> None:
        told.append((log, offset, asked.log("orders").log_start_offset))

    monkeypatch.setattr(asked.broker.lag, "before_deletion", note)
    asked.append("orders", 3)
    asked.append("orders", 3)
    log = asked.log("orders")

    assert log.apply_retention(BATCH_TIME_MS) == 0
    assert told == []
    assert log.apply_retention(BATCH_TIME_MS + 10 * RETENTION_MS) == 2
    assert told == [(log, 6, 0)]


def test_the_rate_of_writing_tells_when_the_room_is_used_up(asked: AskedBroker, watched: Watched) -> None:
    topic(asked, "sized", retention_ms="-1", retention_bytes="1000")
    asked.append("sized", 3)
    watched.commit("slow", 1, "sized")
    assert watched.look() == []

    log = asked.log("sized")
    while log.outlook(1, watched.now_ms).left_share > 0.2:
        asked.append("sized", 3)
    (warning,) = watched.look()

    assert "more bytes are written, in about " in warning
    assert warning.endswith("(retention.bytes)")


def test_nothing_is_looked_at_before_it_is_time(asked: AskedBroker, watched: Watched) -> None:
    asked.append("orders", 3)
    watched.commit("slow", 1)
    assert watched.look() == []
    watched.now_ms += RETENTION_MS - INTERVAL_MS

    assert len(watched.look(0)) == 1
    asked.append("orders", 3)
    asked.broker.groups.follow_topics(NoTopics(), created=(), changed=(), deleted=["orders"])
    assert watched.look(INTERVAL_MS - 1) == []
    assert list(watched.watch.alarms) == [("slow", "orders", 0)]
    assert watched.look(1) == []
    assert list(watched.watch.alarms) == []


def test_a_clock_that_is_set_back_does_not_put_the_look_off(asked: AskedBroker, watched: Watched) -> None:
    asked.append(
        "orders",
        3,
    )
    watched.commit("slow", 1)
    watched.look(RETENTION_MS * 100)
    watched.commit("slow", 3)

    watched.look(-RETENTION_MS * 99)

    assert list(watched.watch.alarms) == []


def test_a_disk_that_does_not_answer_is_no_risk(
    asked: AskedBroker, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "the disk is gone")

    asked.append("orders", 3)
    watched.commit("slow", 1)
    monkeypatch.setattr(type(asked.log("orders")), "outlook", fail)

    assert watched.look(RETENTION_MS * 2) == []


def test_commits_for_partitions_that_are_not_here_are_passed_over(
    asked: AskedBroker, watched: Watched
) -> None:
    watched.commit("slow", 1, "elsewhere")

    assert watched.look() == []


def test_every_group_of_a_large_number_is_looked_at_in_short_steps(
    asked: AskedBroker, watched: Watched
) -> None:
    asked.append("orders", 3)
    for number in range(200):
        watched.commit(f"group-{number}", number % 2)
    watched.now_ms += RETENTION_MS

    steps = sum(1 for _ in watched.watch.housekeeping())

    assert steps >= 200
    *warnings, last = watched.warnings()
    assert len(warnings) == WARNINGS_MAX
    assert last == f"{200 - WARNINGS_MAX} more warnings of lag are left out"
    assert len(list(watched.watch.alarms)) == 200
    assert watched.look() == []
