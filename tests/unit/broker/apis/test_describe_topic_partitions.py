"""DescribeTopicPartitions: page by page, nothing lost between pages."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from riverlog.broker.apis.describe_topic_partitions import Cursor, page
from riverlog.errors import StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker
from tests.unit.cluster.builders import image, topic

THREE = image(topic("b", 2, number=2), topic("a", 3, number=1), topic("c", 1, number=3))


def pages(asked: list[str], limit: int) -> list[list[tuple[str, int, int]]]:
    """Read all pages; a slice is told by its name, start and end."""
    found = []
    cursor = None
    for _ in range(20):
        slices, cursor = page(THREE, asked, cursor=cursor, limit=limit)
        found.append([(each.name, each.start, each.end) for each in slices])
        if cursor is None:
            return found
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (10, [[("a", 0, 3), ("b", 0, 2), ("c", 0, 1)]]),
        (6, [[("a", 0, 3), ("b", 0, 2), ("c", 0, 1)]]),
        (5, [[("a", 0, 3), ("b", 0, 2)], [("c", 0, 1)]]),
        (4, [[("a", 0, 3), ("b", 0, 1)], [("b", 1, 2), ("c", 0, 1)]]),
        (3, [[("a", 0, 3)], [("b", 0, 2), ("c", 0, 1)]]),
        (2, [[("a", 0, 2)], [("a", 2, 3), ("b", 0, 1)], [("b", 1, 2), ("c", 0, 1)]]),
    ],
)
def test_pages_cut_the_sorted_topics_wherever_the_limit_is_reached(
    limit: int, expected: list[list[tuple[str, int, int]]]
) -> None:
    assert pages([], limit) == expected
    assert pages(["c", "b", "a", "b"], limit) == expected


def test_a_cursor_past_a_topics_end_goes_on_with_the_next() -> None:
    slices, following = page(THREE, [], cursor=Cursor("b", 7), limit=10)

    assert [(each.name, each.end - each.start) for each in slices] == [("b", -5), ("c", 1)]
    assert following is None


def test_a_cursor_of_a_topic_that_is_gone_goes_on_behind_it() -> None:
    slices, _ = page(THREE, [], cursor=Cursor("aa", 1), limit=10)

    assert [(each.name, each.start) for each in slices] == [("b", 0), ("c", 0)]


def ask(asked: AskedBroker, *names: str, **fields: object) -> messages.DescribeTopicPartitionsResponse:
    topics = [messages.DescribeTopicPartitionsRequestTopicRequest(name=name) for name in names]
    answer: messages.DescribeTopicPartitionsResponse = asked.ask(
        messages.DescribeTopicPartitionsRequest(topics=topics, **fields)  # type: ignore[arg-type]
    )
    return answer


def test_a_topic_is_told_with_its_partitions(asked: AskedBroker) -> None:
    made = asked.topic("orders", 2)

    answer = ask(asked, "orders")

    [told] = answer.topics
    assert (told.error_code, told.name, told.topic_id) == (0, "orders", made.topic_id)
    assert [(each.partition_index, each.leader_id, each.isr_nodes) for each in told.partitions] == [
        (0, 1, [1]),
        (1, 1, [1]),
    ]
    assert answer.next_cursor is None


def test_names_that_no_topic_has_are_told_as_errors(asked: AskedBroker) -> None:
    answer = ask(asked, "nope", "a b")

    assert {topic.name: topic.error_code for topic in answer.topics} == {
        "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }


@pytest.mark.parametrize("limit", [0, -5, 1])
def test_a_limit_below_one_is_taken_for_one(asked: AskedBroker, limit: int) -> None:
    asked.topic("a", 3)

    answer = ask(asked, "a", response_partition_limit=limit)

    assert len(answer.topics[0].partitions) == 1
    assert answer.next_cursor == messages.DescribeTopicPartitionsResponseCursor(
        topic_name="a", partition_index=1
    )


def test_the_brokers_own_limit_counts_too(tmp_path: Path) -> None:
    with closing(AskedBroker(tmp_path, "max.request.partition.size.limit=2")) as asked:
        asked.topic("a", 3)

        assert len(ask(asked, "a").topics[0].partitions) == 2


def test_a_partition_past_the_end_gives_an_empty_topic_and_a_negative_one_is_refused(
    asked: AskedBroker,
) -> None:
    asked.topic("a", 2)

    past = ask(
        asked, "a", cursor=messages.DescribeTopicPartitionsRequestCursor(topic_name="a", partition_index=9)
    )
    negative = ask(
        asked, "a", cursor=messages.DescribeTopicPartitionsRequestCursor(topic_name="a", partition_index=-1)
    )

    assert (past.topics[0].error_code, past.topics[0].partitions) == (0, [])
    assert negative.topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_a_partition_whose_disk_failed_has_no_leader(asked: AskedBroker) -> None:
    asked.topic("a", 2)
    asked.log("a", 1).fail(StorageError("the disk is gone"))

    [told] = ask(asked, "a").topics

    assert [(each.error_code, each.leader_id, each.offline_replicas) for each in told.partitions] == [
        (0, 1, []),
        (ErrorCode.LEADER_NOT_AVAILABLE, -1, [1]),
    ]
