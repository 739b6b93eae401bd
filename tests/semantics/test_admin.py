"""Rows 77-80: settings, topics and partitions, and names and numbers that nothing can have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import batch
from tests.process.raw_client import CREATE_TOPICS, METADATA, RawClient

from .asking import (
    APPEND,
    BROKER,
    CREATE_PARTITIONS,
    DELETE,
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    SET,
    SUBTRACT,
    TOPIC,
    Topic,
    alter,
    append,
    create_partitions,
    create_topics,
    eventually,
    list_offset,
    produce,
    settings_of,
    topics_described,
)

NewTopic = Callable[..., Topic]
TopicName = Callable[[], str]

NO_ID = bytes(16)
OF_TOPIC, OF_BROKER, STATIC, DEFAULT, OF_CLIENT = 1, 2, 4, 5, 7
"""Where a value comes from; 3, what was altered for all brokers, has no part here."""
CLIENT_METRICS, LIST_CONFIG_RESOURCES = 16, 74
BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = range(1, 10)
ILLEGAL_NAMES = ["", ".", "..", "a b", "a/b", "a:b", "ä", "a\0b", "a" * 250]
PARTITION_COUNT_DEFAULT = 3
"""What conftest.py starts the broker with."""


def overridden(client: RawClient, topic: Topic) -> dict[str, str]:
    """Give the settings that are a topic's own."""
    return {
        name: each.value
        for name, each in settings_of(client, TOPIC, topic.name).items()
        if each.config_source == OF_TOPIC
    }


def await_override(client: RawClient, topic: Topic, name: str, value: str | None) -> None:
    """Wait until a topic has a setting of its own, or with None has not: Apache Kafka's follow the reply."""
    eventually(lambda: overridden(client, topic).get(name) == value, f"{name} of {topic.name} is {value}")


def creatable(name: str, partitions: int = 1, replicas: int = 1, **settings: str) -> messages.CreatableTopic:
    """Ask for a topic (settings with `_` for `.`)."""
    return messages.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[
            messages.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in settings.items()
        ],
    )


def exists(client: RawClient, name: str) -> bool:
    """Say whether a topic is there."""
    (told,) = topics_described(client, name)
    return not told.error_code


# Settings


@pytest.mark.parametrize("version", [0, 1])
def test_a_setting_is_set_and_deleted(client: RawClient, topic: Topic, version: int) -> None:
    """Row 77."""
    done = alter(client, topic, (SET, "max.message.bytes", "1000"), version=version)
    await_override(client, topic, "max.message.bytes", "1000")
    undone = alter(client, topic, (DELETE, "max.message.bytes", None), version=version)
    await_override(client, topic, "max.message.bytes", None)

    assert (done.error_code, undone.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert (done.resource_type, done.resource_name) == (TOPIC, topic.name)


def test_lists_grow_and_shrink(client: RawClient, topic: Topic) -> None:
    """Row 77."""
    steps = [
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (APPEND, "delete", "compact,delete"),
    ]

    for operation, value, expected in steps:
        reply = alter(client, topic, (operation, "cleanup.policy", value))

        assert reply.error_code == ErrorCode.NONE
        await_override(client, topic, "cleanup.policy", expected)


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
def test_only_lists_grow_and_shrink(client: RawClient, topic: Topic, operation: int) -> None:
    """Row 77."""
    before = overridden(client, topic)

    reply = alter(client, topic, (operation, "retention.ms", "5"))

    assert reply.error_code == ErrorCode.INVALID_CONFIG
    assert reply.error_message
    assert overridden(client, topic) == before


@pytest.mark.parametrize(
    ("edit", "error_code"),
    [
        ((SET, "no.such.setting", "1"), ErrorCode.INVALID_CONFIG),
        ((SET, "max.message.bytes", "many"), ErrorCode.INVALID_CONFIG),
        ((SET, "max.message.bytes", "-1"), ErrorCode.INVALID_CONFIG),
        ((SET, "cleanup.policy", "burn"), ErrorCode.INVALID_CONFIG),
        ((APPEND, "cleanup.policy", "burn"), ErrorCode.INVALID_CONFIG),
        ((SET, "max.message.bytes", None), ErrorCode.INVALID_REQUEST),
        ((APPEND, "cleanup.policy", None), ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
def test_one_bad_edit_spoils_all_of_its_resource(
    client: RawClient, topic: Topic, edit: tuple[int, str, str | None], error_code: int
) -> None:
    """Row 77."""
    before = overridden(client, topic)

    reply = alter(client, topic, (SET, "segment.ms", "77777"), edit)

    assert reply.error_code == error_code
    assert overridden(client, topic) == before


@pytest.mark.parametrize("operation", [4, -1])
def test_an_operation_that_nobody_knows_is_refused(client: RawClient, topic: Topic, operation: int) -> None:
    """Row 77."""
    reply = alter(client, topic, (SET, "segment.ms", "77777"), (operation, "max.message.bytes", "1000"))

    # Apache Kafka stumbles over the number, and says so.
    assert reply.error_code in (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert "segment.ms" not in overridden(client, topic)


def test_a_setting_named_twice_is_refused(client: RawClient, topic: Topic) -> None:
    """Row 77."""
    reply = alter(client, topic, (SET, "segment.ms", "1"), (SET, "segment.ms", "2"))

    assert reply.error_code == ErrorCode.INVALID_REQUEST
    assert "segment.ms" not in overridden(client, topic)


def test_edits_may_be_tried_without_being_made(client: RawClient, topic: Topic) -> None:
    """Row 77."""
    before = overridden(client, topic)

    good = alter(client, topic, (SET, "segment.ms", "77777"), validate_only=True)
    bad = alter(client, topic, (SET, "segment.ms", "soon"), validate_only=True)

    assert (good.error_code, bad.error_code) == (ErrorCode.NONE, ErrorCode.INVALID_CONFIG)
    assert overridden(client, topic) == before


def test_a_topic_that_is_not_there_has_no_settings(client: RawClient, topic_name: TopicName) -> None:
    """Row 77."""
    nowhere = Topic(topic_name(), NO_ID)
    described = messages.DescribeConfigsResource(
        resource_type=TOPIC, resource_name=nowhere.name, configuration_keys=None
    )

    altered = alter(client, nowhere, (SET, "segment.ms", "1"))
    (told,) = client.call(DESCRIBE_CONFIGS, 4, messages.DescribeConfigsRequest(resources=[described])).results

    assert altered.error_code == told.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list(told.configs) == []


def test_each_resource_is_answered_for_itself(client: RawClient, topic: Topic, topic_name: TopicName) -> None:
    """Row 77."""
    nowhere = topic_name()
    request = messages.IncrementalAlterConfigsRequest(
        resources=[
            messages.IncrementalAlterConfigsRequestAlterConfigsResource(
                resource_type=TOPIC,
                resource_name=name,
                configs=[
                    messages.IncrementalAlterConfigsRequestAlterableConfig(
                        name="segment.ms", config_operation=SET, value="77777"
                    )
                ],
            )
            for name in (nowhere, topic.name)
        ]
    )

    replies = client.call(INCREMENTAL_ALTER_CONFIGS, 1, request).responses

    assert {each.resource_name: each.error_code for each in replies} == {
        nowhere: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        topic.name: ErrorCode.NONE,
    }
    await_override(client, topic, "segment.ms", "77777")


@pytest.mark.parametrize("version", [1, 3, 4])
def test_a_topic_s_settings_tell_value_source_type_and_text(
    client: RawClient, new_topic: NewTopic, version: int
) -> None:
    """Row 77."""
    topic = new_topic(max_message_bytes="1000")

    told = settings_of(client, TOPIC, topic.name, documentation=True, version=version)

    own, default = told["max.message.bytes"], told["segment.ms"]
    assert (own.value, own.config_source, default.value) == ("1000", OF_TOPIC, "604800000")
    assert default.config_source == DEFAULT
    assert not any(each.is_sensitive or each.read_only for each in told.values())
    if version >= 3:
        types = {name: told[name].config_type for name in ("max.message.bytes", "segment.ms", "preallocate")}
        assert types == {"max.message.bytes": INT, "segment.ms": LONG, "preallocate": BOOLEAN}
        assert told["cleanup.policy"].config_type == LIST
        assert all(each.documentation for each in told.values())


def test_texts_come_only_if_they_are_asked_for(client: RawClient, topic: Topic) -> None:
    """Row 77."""
    told = settings_of(client, TOPIC, topic.name)

    assert {each.documentation for each in told.values()} == {None}


@pytest.mark.parametrize("version", [1, 4])
def test_synonyms_tell_what_a_value_hides(client: RawClient, new_topic: NewTopic, version: int) -> None:
    """Row 77."""
    topic = new_topic(max_message_bytes="1000")

    told = settings_of(client, TOPIC, topic.name, synonyms=True, version=version)["max.message.bytes"]
    without = settings_of(client, TOPIC, topic.name, version=version)["max.message.bytes"]

    assert [(each.name, each.value, each.source) for each in told.synonyms] == [
        ("max.message.bytes", "1000", OF_TOPIC),
        ("message.max.bytes", "1048588", DEFAULT),
    ]
    assert list(without.synonyms) == []


def test_only_the_settings_named_are_told(client: RawClient, topic: Topic) -> None:
    """Row 77."""
    some = settings_of(client, TOPIC, topic.name, only=["segment.ms", "retention.ms", "no.such.setting"])

    assert sorted(some) == ["retention.ms", "segment.ms"]


def test_an_empty_list_of_names_asks_for_all_settings(client: RawClient, topic: Topic) -> None:
    """Row 77."""
    assert settings_of(client, TOPIC, topic.name, only=[]) == settings_of(client, TOPIC, topic.name)


def test_a_broker_tells_what_it_was_started_with(client: RawClient) -> None:
    """Row 77."""
    (broker,) = client.call(METADATA, 13, messages.MetadataRequest(topics=[])).brokers

    told = settings_of(client, BROKER, str(broker.node_id), documentation=True)

    partitions, size = told["num.partitions"], told["message.max.bytes"]
    assert (partitions.value, partitions.config_source) == (str(PARTITION_COUNT_DEFAULT), STATIC)
    assert (size.value, size.config_source) == ("1048588", DEFAULT)
    assert all(each.value is None for each in told.values() if each.is_sensitive)


# Topics and partitions


@pytest.mark.parametrize("version", [4, 5, 7])
def test_minus_1_creates_what_the_broker_s_defaults_say(
    client: RawClient, topic_name: TopicName, version: int
) -> None:
    """Row 78."""
    name = topic_name()

    (created,) = create_topics(client, creatable(name, -1, -1), version=version)
    eventually(lambda: exists(client, name), f"{name} is there")
    (told,) = topics_described(client, name)

    assert created.error_code == ErrorCode.NONE
    if version >= 5:
        assert (created.num_partitions, created.replication_factor) == (PARTITION_COUNT_DEFAULT, 1)
    if version >= 7:
        assert created.topic_id == told.topic_id != NO_ID
    assert [len(each.replica_nodes) for each in told.partitions] == [1] * PARTITION_COUNT_DEFAULT


@pytest.mark.parametrize("version", [2, 5, 7])
def test_a_topic_may_be_tried_without_being_created(
    client: RawClient, topic_name: TopicName, version: int
) -> None:
    """Row 78."""
    name = topic_name()

    (tried,) = create_topics(client, creatable(name, 2, 1), validate_only=True, version=version)
    (bad,) = create_topics(client, creatable(name, 2, 9), validate_only=True, version=version)

    assert (tried.error_code, bad.error_code) == (ErrorCode.NONE, ErrorCode.INVALID_REPLICATION_FACTOR)
    assert not exists(client, name)


@pytest.mark.parametrize(
    ("partitions", "replicas", "error_code"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS),
        (-2, 1, ErrorCode.INVALID_PARTITIONS),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, -2, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 2, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_impossible_numbers_create_nothing(
    client: RawClient, topic_name: TopicName, partitions: int, replicas: int, error_code: int
) -> None:
    """Rows 78 and 80."""
    name = topic_name()

    (refused,) = create_topics(client, creatable(name, partitions, replicas))

    assert refused.error_code == error_code
    assert refused.error_message
    assert not exists(client, name)


def test_each_topic_is_created_or_refused_for_itself(
    client: RawClient, topic: Topic, topic_name: TopicName
) -> None:
    """Row 78."""
    good, bad, twice = topic_name(), topic_name(), topic_name()

    results = create_topics(
        client,
        creatable(good),
        creatable(topic.name),
        creatable(bad, retention_ms="soon"),
        creatable(twice),
        creatable(twice),
    )

    assert {each.name: each.error_code for each in results} == {
        good: ErrorCode.NONE,
        topic.name: ErrorCode.TOPIC_ALREADY_EXISTS,
        bad: ErrorCode.INVALID_CONFIG,
        twice: ErrorCode.INVALID_REQUEST,
    }
    assert len(results) == 4
    assert not exists(client, twice)


def test_a_creation_tells_the_settings_of_its_topic(client: RawClient, topic_name: TopicName) -> None:
    """Row 78."""
    (created,) = create_topics(client, creatable(topic_name(), max_message_bytes="1000"))

    told = {each.name: (each.value, each.config_source) for each in created.configs}
    assert told["max.message.bytes"] == ("1000", OF_TOPIC)
    assert told["segment.ms"] == ("604800000", DEFAULT)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_partitions_are_added(client: RawClient, topic: Topic, version: int) -> None:
    """Row 78."""
    append(client, topic, batch(2))

    (grown,) = create_partitions(client, (topic.name, 3), version=version)

    def is_led() -> bool:
        return not list_offset(client, topic, -1, partition=2).error_code

    assert (grown.name, grown.error_code, grown.error_message) == (topic.name, ErrorCode.NONE, None)
    eventually(is_led, "partition 2 is led")
    assert produce(client, topic, batch(1), partition=2).base_offset == 0
    assert produce(client, topic, batch(1)).base_offset == 2


@pytest.mark.parametrize("total", [-1, 0, 1, 2])
def test_partitions_never_become_fewer(client: RawClient, new_topic: NewTopic, total: int) -> None:
    """Row 78."""
    topic = new_topic(partitions=2)

    (refused,) = create_partitions(client, (topic.name, total))
    (told,) = topics_described(client, topic.name)

    assert refused.error_code == ErrorCode.INVALID_PARTITIONS
    assert refused.error_message
    assert len(told.partitions) == 2


def test_a_topic_that_is_to_grow_twice_is_answered_once(client: RawClient, topic: Topic) -> None:
    """Row 78."""
    (refused,) = create_partitions(client, (topic.name, 2), (topic.name, 3))
    (told,) = topics_described(client, topic.name)

    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert len(told.partitions) == 1


def test_partitions_may_be_tried_without_being_added(client: RawClient, topic: Topic) -> None:
    """Row 78."""
    request = messages.CreatePartitionsRequest(
        topics=[messages.CreatePartitionsTopic(name=topic.name, count=2, assignments=None)],
        timeout_ms=30_000,
        validate_only=True,
    )

    (tried,) = client.call(CREATE_PARTITIONS, 3, request).results
    (told,) = topics_described(client, topic.name)

    assert tried.error_code == ErrorCode.NONE
    assert len(told.partitions) == 1


def test_a_topic_that_is_not_there_cannot_grow(client: RawClient, topic_name: TopicName) -> None:
    """Row 78."""
    (refused,) = create_partitions(client, (topic_name(), 2))

    assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# Metadata


def test_a_brokers_thread_counts_and_intervals_can_be_altered(client: RawClient) -> None:
    """Row 77."""
    (broker,) = client.call(METADATA, 12, messages.MetadataRequest(topics=[])).brokers
    name, setting = str(broker.node_id), "sasl.kerberos.min.time.before.relogin"

    def alter_broker(operation: int, value: str | None) -> int:
        edit = messages.IncrementalAlterConfigsRequestAlterableConfig(
            name=setting, config_operation=operation, value=value
        )
        resource = messages.IncrementalAlterConfigsRequestAlterConfigsResource(
            resource_type=BROKER, resource_name=name, configs=[edit]
        )
        request = messages.IncrementalAlterConfigsRequest(resources=[resource])
        (reply,) = client.call(INCREMENTAL_ALTER_CONFIGS, 1, request).responses
        return int(reply.error_code)

    def is_told(value: str) -> bool:
        told = settings_of(client, BROKER, name, only=[setting]).get(setting)
        return told is not None and (told.value, told.config_source) == (value, OF_BROKER)

    assert alter_broker(SET, "58000") == ErrorCode.NONE
    eventually(lambda: is_told("58000"), f"{setting} is told")
    assert alter_broker(DELETE, None) == ErrorCode.NONE
    eventually(lambda: not is_told("58000"), f"{setting} is gone")


def test_a_subscription_to_clients_metrics_is_altered_described_and_listed(
    client: RawClient, topic_name: TopicName
) -> None:
    """Row 77."""
    name = topic_name()

    def alter_subscription(*edits: tuple[int, str, str | None], name: str = name) -> int:
        configs = [
            messages.IncrementalAlterConfigsRequestAlterableConfig(
                name=key, config_operation=operation, value=value
            )
            for operation, key, value in edits
        ]
        resource = messages.IncrementalAlterConfigsRequestAlterConfigsResource(
            resource_type=CLIENT_METRICS, resource_name=name, configs=configs
        )
        request = messages.IncrementalAlterConfigsRequest(resources=[resource])
        (reply,) = client.call(INCREMENTAL_ALTER_CONFIGS, 1, request).responses
        return int(reply.error_code)

    def told() -> dict[str, tuple[str, int]]:
        settings = settings_of(client, CLIENT_METRICS, name)
        return {key: (each.value, each.config_source) for key, each in settings.items()}

    def is_listed() -> bool:
        request = messages.ListConfigResourcesRequest(resource_types=[CLIENT_METRICS])
        listed = client.call(LIST_CONFIG_RESOURCES, 1, request).config_resources
        return name in [each.resource_name for each in listed]

    defaults = {"interval.ms": ("300000", DEFAULT), "match": ("", DEFAULT), "metrics": ("", DEFAULT)}
    assert told() == defaults
    assert alter_subscription((SET, "interval.ms", "1000"), (SET, "match", "client_id=a.*")) == ErrorCode.NONE
    altered = defaults | {"interval.ms": ("1000", OF_CLIENT), "match": ("client_id=a.*", OF_CLIENT)}
    eventually(lambda: told() == altered, f"{name} is altered")
    assert is_listed()
    assert alter_subscription((SET, "interval.ms", "99")) == ErrorCode.INVALID_REQUEST
    assert alter_subscription((SET, "nope", "1")) == ErrorCode.INVALID_REQUEST
    assert alter_subscription((SET, "interval.ms", "1000"), name="") == ErrorCode.INVALID_REQUEST
    assert alter_subscription((DELETE, "interval.ms", None), (DELETE, "match", None)) == ErrorCode.NONE
    eventually(lambda: told() == defaults and not is_listed(), f"{name} is gone")


@pytest.mark.parametrize("version", [1, 4, 8, 13])
def test_metadata_creates_a_topic_that_can_soon_be_used(
    client: RawClient, topic_name: TopicName, version: int
) -> None:
    """Row 79."""
    name = topic_name()
    told: Any = None

    def is_there() -> bool:
        nonlocal told
        (told,) = topics_described(client, name, version=version, create=True)
        topic = Topic(name, NO_ID)
        return not told.error_code and not list_offset(client, topic, -1).error_code

    eventually(is_there, f"{name} is there")

    assert len(told.partitions) == PARTITION_COUNT_DEFAULT
    assert produce(client, Topic(name, NO_ID), batch(2), version=9).error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [1, 13])
def test_metadata_that_creates_a_topic_still_tells_that_it_was_unknown(
    client: RawClient, topic_name: TopicName, version: int
) -> None:
    """Row 79: so a client that looks whether a topic is gone is not shown one that its look has made."""
    (told,) = topics_described(client, topic_name(), version=version, create=True)

    assert (told.error_code, told.partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])


@pytest.mark.parametrize("version", [4, 13])
def test_metadata_that_may_not_create_creates_nothing(
    client: RawClient, topic_name: TopicName, version: int
) -> None:
    """Row 79."""
    name = topic_name()

    for _ in range(2):
        (told,) = topics_described(client, name, version=version, create=False)
        assert told.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [1, 4, 9, 13])
def test_no_list_of_topics_means_all_and_an_empty_one_none(
    client: RawClient, topic: Topic, version: int
) -> None:
    """Row 79."""
    everything = client.call(METADATA, version, messages.MetadataRequest(topics=None))
    nothing = client.call(METADATA, version, messages.MetadataRequest(topics=[]))

    assert topic.name in {each.name for each in everything.topics}
    assert list(nothing.topics) == []
    assert len(nothing.brokers) == 1


def test_in_version_0_an_empty_list_of_topics_means_all(client: RawClient, topic: Topic) -> None:
    """Row 79."""
    reply = client.call(METADATA, 0, messages.MetadataRequest(topics=[]))

    assert topic.name in {each.name for each in reply.topics}


@pytest.mark.parametrize("version", [12, 13])
def test_metadata_finds_topics_by_id(client: RawClient, topic: Topic, version: int) -> None:
    """Row 79."""
    request = messages.MetadataRequest(
        topics=[
            messages.MetadataRequestTopic(name=None, topic_id=each) for each in (topic.id, bytes(range(16)))
        ],
        allow_auto_topic_creation=True,
    )

    reply = client.call(METADATA, version, request)

    assert {bytes(each.topic_id): (each.error_code, each.name) for each in reply.topics} == {
        topic.id: (ErrorCode.NONE, topic.name),
        bytes(range(16)): (ErrorCode.UNKNOWN_TOPIC_ID, None),
    }


# What nothing can have


@pytest.mark.parametrize("name", ILLEGAL_NAMES)
def test_no_topic_is_created_under_an_illegal_name(client: RawClient, name: str) -> None:
    """Row 80."""
    (refused,) = create_topics(client, creatable(name))

    assert (refused.name, refused.error_code) == (name, ErrorCode.INVALID_TOPIC_EXCEPTION)


@pytest.mark.parametrize("name", [name for name in ILLEGAL_NAMES if name])
def test_metadata_refuses_an_illegal_name(client: RawClient, name: str) -> None:
    """Row 80."""
    (refused,) = topics_described(client, name, create=True)

    assert (refused.name, refused.error_code) == (name, ErrorCode.INVALID_TOPIC_EXCEPTION)


def test_the_longest_legal_name_is_a_topic_s(client: RawClient, topic_name: TopicName) -> None:
    """Row 80."""
    name = topic_name().ljust(249, "x")

    (created,) = create_topics(client, creatable(name))

    assert created.error_code == ErrorCode.NONE


def test_names_that_differ_in_dot_and_underscore_exclude_each_other(
    client: RawClient, topic_name: TopicName
) -> None:
    """Row 80."""
    name = topic_name()
    (first,) = create_topics(client, creatable(f"{name}.a"))

    (second,) = create_topics(client, creatable(f"{name}_a"))

    assert (first.error_code, second.error_code) == (ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION)


@pytest.mark.parametrize("partition", [-1, -(2**31), 1, 2**31 - 1])
def test_a_partition_number_that_is_not_there_is_unknown(
    client: RawClient, topic: Topic, partition: int
) -> None:
    """Row 80."""
    produced = produce(client, topic, batch(1), partition=partition)
    listed = list_offset(client, topic, -1, partition=partition)

    assert produced.error_code == listed.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list_offset(client, topic, -1).offset == 0


def test_an_assignment_of_negative_partitions_is_refused(client: RawClient, topic_name: TopicName) -> None:
    """Row 80."""
    (broker,) = client.call(METADATA, 13, messages.MetadataRequest(topics=[])).brokers
    name = topic_name()
    assigned = messages.CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[messages.CreatableReplicaAssignment(partition_index=-1, broker_ids=[broker.node_id])],
    )

    (refused,) = client.call(CREATE_TOPICS, 7, messages.CreateTopicsRequest(topics=[assigned])).topics

    assert refused.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert not exists(client, name)
