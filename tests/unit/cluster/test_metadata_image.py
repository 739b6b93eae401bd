"""An image is found in by name and id, and replaced rather than changed."""

from __future__ import annotations

import pytest

from riverlog.cluster import Resource, ResourceType
from tests.unit.cluster.builders import broker, image, topic, topic_id


def test_a_topic_is_found_by_name_and_by_id() -> None:
    orders = topic("orders", 2, number=5)
    subject = image(orders)

    found = [
        subject.topic("orders"),
        subject.topic(topic_id(5)),
        subject.topic("x"),
        subject.topic(topic_id(6)),
    ]

    assert found == [orders, orders, None, None]


@pytest.mark.parametrize(("index", "is_there"), [(0, True), (1, True), (2, False), (-1, False), (-2, False)])
def test_any_partition_number_may_be_asked_for(index: int, is_there: bool) -> None:
    subject = image(topic("orders", 2, number=5))

    found = [subject.partition("orders", index), subject.partition(topic_id(5), index)]

    assert [partition is not None for partition in found] == [is_there, is_there]
    assert subject.partition("nope", index) is None


def test_adding_and_removing_topics_leaves_the_former_image_as_it_was() -> None:
    settings = {Resource(ResourceType.TOPIC, "a.b"): {"retention.ms": "5"}}
    first = image(topic("a.b", number=1), overrides=settings)

    second = first.with_topics([topic("c", 3, number=2)])
    third = second.without_topics(["a.b"])

    assert list(first.topics) == ["a.b"]
    assert [second.partition_count, third.partition_count] == [4, 3]
    assert list(third.topics_by_id) == [topic_id(2)]
    assert second.topic_overrides("a.b") == {"retention.ms": "5"}
    assert third.overrides == {}
    assert third.names_by_collision_key == {"c": "c"}


def test_a_topic_may_not_change_its_id() -> None:
    subject = image(topic("a", number=1))

    with pytest.raises(AssertionError, match="changes its id"):
        subject.with_topics([topic("a", number=2)])


def test_settings_are_replaced_whole_and_empty_ones_vanish() -> None:
    one, other = Resource(ResourceType.TOPIC, "a"), Resource(ResourceType.BROKER, "")
    subject = image(topic("a"), overrides={one: {"x": "1", "y": "2"}})

    changed = subject.with_overrides({one: {"y": "3"}, other: {"z": "4"}})
    emptied = changed.with_overrides({one: {}})

    assert changed.overrides == {one: {"y": "3"}, other: {"z": "4"}}
    assert emptied.overrides == {other: {"z": "4"}}
    assert subject.overrides_of(one) == {"x": "1", "y": "2"}


def test_a_broker_is_reached_by_the_endpoint_of_the_listener_asked_for() -> None:
    subject = broker(3)

    endpoints = [subject.endpoint("PLAINTEXT"), subject.endpoint("SSL")]

    assert endpoints == [("PLAINTEXT", "127.0.0.1", 9003, "PLAINTEXT"), None]


def test_coordinator_topics_are_internal() -> None:
    internal = [
        topic(name).is_internal for name in ("__consumer_offsets", "__transaction_state", "__other", "a")
    ]

    assert internal == [True, True, False, False]
