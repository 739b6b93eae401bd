"""Topics, their settings, their records and the cluster, as each client's admin calls see and change them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .drivers import Driver, Message, Refused, await_that
from .drivers.aio import Aiokafka
from .drivers.librdkafka import Librdkafka

TOPIC_EXISTS = 36
UNKNOWN_TOPIC = 3
INVALID_TOPIC = 17
INVALID_PARTITIONS = 37
INVALID_REPLICATION = 38
INVALID_CONFIG = 40
OFFSET_OUT_OF_RANGE = 1
POLICY_VIOLATION = 44


def test_a_created_topic_is_there_with_its_partitions_and_settings(
    client: Driver, topic_name: Callable[[], str]
) -> None:
    topic = topic_name()

    client.create_topic(
        topic, partitions=4, settings={"retention.ms": "86400000", "cleanup.policy": "compact"}
    )

    await_that(lambda: client.topics().get(topic) == 4, "the topic has its 4 partitions")
    settings = client.topic_settings(topic)
    assert settings["retention.ms"] == "86400000"
    assert settings["cleanup.policy"] == "compact"


def test_validating_creates_nothing(client: Driver, topic_name: Callable[[], str]) -> None:
    topic = topic_name()

    client.create_topic(topic, validate_only=True)

    assert topic not in client.topics()


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"partitions": 0}, INVALID_PARTITIONS),
        ({"replicas": 3}, INVALID_REPLICATION),
        ({"settings": {"retention.ms": "soon"}}, INVALID_CONFIG),
        ({"settings": {"no.such.setting": "1"}}, INVALID_CONFIG),
        ({"settings": {"cleanup.policy": "burn"}}, INVALID_CONFIG),
    ],
    ids=lambda value: None if isinstance(value, int) else str(next(iter(value.items()))),
)
def test_an_impossible_topic_is_refused(
    client: Driver, wanted: dict[str, object], code: int, topic_name: Callable[[], str]
) -> None:
    topic = topic_name()

    with pytest.raises(Refused) as refusal:
        client.create_topic(topic, **wanted)

    assert refusal.value.code == code
    assert not refusal.value.retriable
    assert topic not in client.topics()


@pytest.mark.parametrize("name", ["with space", "a" * 250, "..", "slash/y"])
def test_an_impossible_name_is_refused(client: Driver, name: str) -> None:
    with pytest.raises(Refused) as refusal:
        client.create_topic(name)

    assert refusal.value.code == INVALID_TOPIC


def test_a_topic_is_created_once(client: Driver, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    with pytest.raises(Refused) as refusal:
        client.create_topic(topic)

    assert refusal.value.code == TOPIC_EXISTS


def test_a_deleted_topic_is_gone_and_may_come_back_empty(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, [Message(value=b"old")], partition=0)

    client.delete_topic(topic)

    await_that(lambda: topic not in client.topics(), "the topic is gone")
    client.create_topic(topic)
    await_that(lambda: topic in witness.topics(), "the topic is back")
    assert witness.offset_range(topic, 0) == (0, 0)


def test_deleting_what_is_not_there_is_refused(client: Driver, topic_name: Callable[[], str]) -> None:
    with pytest.raises(Refused) as refusal:
        client.delete_topic(topic_name())

    assert refusal.value.code == UNKNOWN_TOPIC


def test_new_partitions_take_records_at_once(client: Driver, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=1)

    client.grow_topic(topic, 3)

    await_that(lambda: client.topics().get(topic) == 3, "the topic has 3 partitions")
    (place,) = client.produce(topic, [Message(value=b"x")], partition=2)
    assert place == (2, 0)


def test_a_topic_never_shrinks(client: Driver, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=3)

    for count in (1, 3):
        with pytest.raises(Refused) as refusal:
            client.grow_topic(topic, count)
        assert refusal.value.code == INVALID_PARTITIONS

    assert client.topics()[topic] == 3


def test_growing_what_is_not_there_is_refused(client: Driver, topic_name: Callable[[], str]) -> None:
    with pytest.raises(Refused) as refusal:
        client.grow_topic(topic_name(), 2)

    assert refusal.value.code == UNKNOWN_TOPIC


def test_a_setting_changes_while_the_topic_lives(client: Driver, new_topic: Callable[..., str]) -> None:
    topic = new_topic(retention_ms="1000000")

    client.set_topic_settings(topic, {"retention.ms": "2000000", "max.message.bytes": "5000"})

    def changed() -> bool:
        seen = client.topic_settings(topic)
        return (seen["retention.ms"], seen["max.message.bytes"]) == ("2000000", "5000")

    await_that(changed, "both settings have their new values")


@pytest.mark.parametrize("settings", [{"retention.ms": "soon"}, {"no.such.setting": "1"}], ids=str)
def test_a_wrong_setting_is_refused_and_changes_nothing(
    client: Driver, settings: dict[str, str], new_topic: Callable[..., str]
) -> None:
    topic = new_topic(retention_ms="1000000")

    with pytest.raises(Refused) as refusal:
        client.set_topic_settings(topic, settings)

    assert refusal.value.code == INVALID_CONFIG
    assert client.topic_settings(topic)["retention.ms"] == "1000000"


@pytest.mark.parametrize("kind", [Librdkafka, Aiokafka])  # the others pass such an answer off as an empty one
def test_settings_of_a_topic_that_is_not_there_are_refused(
    kind: type[Driver], open_driver: Callable[..., Driver], topic_name: Callable[[], str]
) -> None:
    with pytest.raises(Refused) as refusal:
        open_driver(kind).topic_settings(topic_name())

    assert refusal.value.code == UNKNOWN_TOPIC


def test_all_clients_see_the_same_cluster(client: Driver, witness: Librdkafka) -> None:
    seen = client.cluster()

    assert seen == witness.cluster()
    assert seen.cluster_id
    assert seen.controller_id in seen.broker_ids


def test_deleted_records_are_gone_and_the_rest_keeps_its_offsets(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, [Message(value=str(n).encode()) for n in range(10)], partition=0)

    client.delete_records(topic, 0, 4)
    read = witness.consume(topic, 0, 6, start=0, reset="earliest")

    assert witness.offset_range(topic, 0) == (4, 10)
    assert [(record.offset, record.value) for record in read] == [(n, str(n).encode()) for n in range(4, 10)]


def test_deleting_all_records_leaves_the_next_offset(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, [Message(value=b"x")] * 5, partition=0)

    client.delete_records(topic, 0, -1)
    (place,) = witness.produce(topic, [Message(value=b"next")], partition=0)

    assert place.offset == 5
    assert witness.offset_range(topic, 0) == (5, 6)


def test_deleting_records_twice_is_no_error(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, [Message(value=b"x")] * 5, partition=0)

    for before in (3, 3, 2):
        client.delete_records(topic, 0, before)

    assert witness.offset_range(topic, 0) == (3, 5)


def test_records_that_are_not_there_yet_cannot_be_deleted(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, [Message(value=b"x")] * 5, partition=0)

    with pytest.raises(Refused) as refusal:
        client.delete_records(topic, 0, 6)

    assert refusal.value.code == OFFSET_OUT_OF_RANGE
    assert witness.offset_range(topic, 0) == (0, 5)


def test_a_compacted_topic_s_records_cannot_be_deleted(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic(cleanup_policy="compact")
    witness.produce(topic, [Message(key=b"k", value=b"x")], partition=0)

    with pytest.raises(Refused) as refusal:
        client.delete_records(topic, 0, 1)

    assert refusal.value.code == POLICY_VIOLATION
