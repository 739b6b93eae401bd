"""Elections, and new leader epochs."""

from __future__ import annotations

import pytest

from riverlog.cluster import NO_LEADER, Partition, Refusal
from riverlog.cluster.changes import Change, apply, pack
from riverlog.cluster.leadership import PARTITIONS_PER_CHANGE, decide_elections, decide_new_epochs
from riverlog.coordination import Create, Set
from riverlog.protocol.error_codes import ErrorCode
from riverlog.types import TopicPartition
from tests.unit.cluster.builders import image, topic

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def test_every_partition_that_the_broker_leads_enters_its_next_epoch() -> None:
    led = Partition((1, 2), (1,), 1, leader_epoch=4, partition_epoch=9)
    followed = Partition((2, 1), (2, 1), 2, leader_epoch=7, partition_epoch=7)
    before = image(topic("a", [led, followed]), brokers=2)

    after = apply(before, list(decide_new_epochs(before, 1))).after

    assert after.topics["a"].partitions == (Partition((1, 2), (1,), 1, 5, 10), followed)


def test_a_partition_as_created_gets_a_node_and_others_keep_theirs() -> None:
    before = image(topic("a", [topic("x").partitions[0], Partition((1,), (1,), 1, 1, 1)]))

    operations = [operation for change in decide_new_epochs(before, 1) for operation in change.operations]

    assert [(type(operation), operation.path) for operation in operations] == [
        (Create, "/topics/a/0"),
        (Set, "/topics/a/1"),
    ]


def test_a_topic_of_many_partitions_is_changed_in_steps_that_fit_into_commits() -> None:
    count = 2 * PARTITIONS_PER_CHANGE + 1
    before = image(topic("a", count))

    changes = list(decide_new_epochs(before, 1))
    image_ = before
    for group in pack(changes):
        image_ = apply(image_, group).after

    assert len(changes) == 3
    assert {partition.leader_epoch for partition in image_.topics["a"].partitions} == {1}
    assert len(image_.topics["a"].partitions) == count


def test_a_broker_that_leads_nothing_changes_nothing() -> None:
    before = image(topic("a", [Partition((2,), (2,), 2, 0, 0)]), brokers=2)

    assert list(decide_new_epochs(before, 1)) == []


@pytest.mark.parametrize(
    ("partition", "is_unclean", "expected"),
    [
        (Partition((1, 2), (1, 2), 2, 5, 9), False, Partition((1, 2), (1, 2), 1, 6, 10)),
        (Partition((1, 2), (1, 2), NO_LEADER, 5, 9), False, Partition((1, 2), (1, 2), 1, 6, 10)),
        (Partition((3, 2), (3, 2), NO_LEADER, 5, 9), True, Partition((3, 2), (3, 2), 2, 6, 10)),
        (Partition((2, 1), (3,), NO_LEADER, 5, 9), True, Partition((2, 1), (2,), 2, 6, 10)),
        (Partition((1, 2), (1, 2), 1, 5, 9), False, ErrorCode.ELECTION_NOT_NEEDED),
        (Partition((1, 2), (1, 2), 2, 5, 9), True, ErrorCode.ELECTION_NOT_NEEDED),
        (Partition((1, 2), (2,), 2, 5, 9), False, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
        (Partition((3, 2), (3, 2), 2, 5, 9), False, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
        (Partition((3, 4), (3, 4), NO_LEADER, 5, 9), True, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    ],
)
def test_an_election_gives_the_leader_that_may_lead_or_none(
    partition: Partition, is_unclean: bool, expected: Partition | ErrorCode
) -> None:
    before = image(topic("a", [partition]), brokers=2)

    outcome = decide_elections(before, [A0], is_unclean=is_unclean)[A0]

    if isinstance(expected, ErrorCode):
        assert isinstance(outcome, Refusal)
        assert outcome.error_code == expected
    else:
        assert isinstance(outcome, Change)
        assert apply(before, [outcome]).after.topics["a"].partitions == (expected,)


def test_elections_in_one_topic_build_on_each_other() -> None:
    moved = Partition((1, 2), (1, 2), 2, 0, 0)
    before = image(topic("a", [moved, moved]), brokers=2)

    outcomes = decide_elections(before, [A0, A1], is_unclean=False)
    changes = [outcome for outcome in outcomes.values() if isinstance(outcome, Change)]

    partitions = apply(before, changes).after.topics["a"].partitions
    assert [(partition.leader, partition.leader_epoch) for partition in partitions] == [(1, 1), (1, 1)]


def test_there_is_no_election_for_a_partition_that_is_not_there() -> None:
    asked = TopicPartition("a", -1)

    outcome = decide_elections(image(topic("a")), [asked], is_unclean=False)[asked]

    assert isinstance(outcome, Refusal)
    assert outcome.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
