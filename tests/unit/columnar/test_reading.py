"""What is to be read: splits of a topic's partitions, by offsets and times."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from riverlog.columnar import Source, Split, read
from riverlog.errors import ConfigError
from riverlog.protocol import messages
from tests.scripted_broker import LIST_OFFSETS, ScriptedBroker, offset_answer

NOON = datetime(2025, 1, 31, 12, tzinfo=UTC)
EARLIEST, LATEST = -2, -1


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    """Leads orders-0 with [100, 200), where noon came at 120, and orders-1 with [0, 50), all older."""

    def offset(request: messages.ListOffsetsRequest) -> messages.ListOffsetsResponse:
        asked = request.topics[0].partitions[0]
        oldest, newest, noon = (100, 200, 120) if asked.partition_index == 0 else (0, 50, -1)
        found = {EARLIEST: oldest, LATEST: newest}.get(asked.timestamp, noon)
        return offset_answer(found, partition=asked.partition_index)

    with ScriptedBroker() as scripted:
        scripted.leaders = {0: 1, 1: 1}
        scripted.answers[LIST_OFFSETS] = offset
        yield scripted


def ranges(broker: ScriptedBroker, **options: Any) -> list[tuple[int, int, int]]:
    splits = Source(bootstrap=broker.bootstrap).splits("orders", **options)
    assert {split.topic for split in splits} <= {"orders"}
    return [(split.partition, split.start, split.end) for split in splits]


def test_without_a_range_it_is_from_the_oldest_to_the_newest_record(broker: ScriptedBroker) -> None:
    assert ranges(broker) == [(0, 100, 200), (1, 0, 50)]


def test_offsets_are_moved_to_what_there_is(broker: ScriptedBroker) -> None:
    assert ranges(broker, start=10, end=120) == [(0, 100, 120), (1, 10, 50)]


def test_partitions_without_anything_in_the_range_have_no_split(broker: ScriptedBroker) -> None:
    assert ranges(broker, start=60, end=100) == []
    assert ranges(broker, start=49, end=101) == [(0, 100, 101), (1, 49, 50)]


def test_positions_may_differ_by_partition(broker: ScriptedBroker) -> None:
    assert ranges(broker, start={1: 7}, end={0: 130}) == [(0, 100, 130), (1, 7, 50)]


def test_a_time_is_the_first_record_not_older_and_the_end_without_one(broker: ScriptedBroker) -> None:
    assert ranges(broker, start=NOON) == [(0, 120, 200)]
    assert ranges(broker, end=NOON) == [(0, 100, 120), (1, 0, 50)]
    asked = [
        request.topics[0].partitions[0].timestamp for request in broker.asked(messages.ListOffsetsRequest)
    ]
    assert int(NOON.timestamp() * 1000) in asked


def test_only_the_partitions_asked_for_are_planned(broker: ScriptedBroker) -> None:
    assert ranges(broker, partitions=[1, 1]) == [(1, 0, 50)]
    with pytest.raises(ConfigError, match="those of topic 'orders': 0, 1"):
        ranges(broker, partitions=[2])


def test_the_isolation_decides_which_end_is_asked_for(broker: ScriptedBroker) -> None:
    for isolation in ("read_uncommitted", "read_committed"):
        Source(bootstrap=broker.bootstrap, isolation=isolation).splits("orders", partitions=[1])

    levels = [request.isolation_level for request in broker.asked(messages.ListOffsetsRequest)]
    assert levels == [0, 0, 1, 1]


def test_a_plan_can_be_sent_elsewhere() -> None:
    plan = (Source(columns=("key",), skip_lost=True), Split("orders", 3, 7, 9))

    assert pickle.loads(pickle.dumps(plan)) == plan


@pytest.mark.parametrize(
    "wrong",
    [
        {"bootstrap": "nowhere:"},
        {"isolation": "serializable"},
        {"columns": ["velue"]},
        {"timeout_seconds": 0},
        {"fetch_bytes": 0},
        {"fetch_bytes": 2**31},
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_asked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        read("orders", **wrong)
