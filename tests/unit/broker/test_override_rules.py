"""The rules of settings, and the topics of coordinators, from the broker's configuration."""

from __future__ import annotations

import pytest

from riverlog.broker.coordinator_topics import new_topic
from riverlog.broker.override_rules import ConfigOverrideRules
from riverlog.cluster import (
    ALL_BROKERS,
    COORDINATOR_OVERRIDES,
    Edit,
    EditKind,
    NewTopic,
    Resource,
    ResourceType,
)
from riverlog.config import TopicSettings, effective_config, topic_settings, with_dynamic
from riverlog.errors import ConfigError, RequestRefused
from riverlog.protocol.error_codes import ErrorCode

DEFAULTS = effective_config([])
BROKER = Resource(ResourceType.BROKER, "1")


def set_(name: str, value: str) -> Edit:
    return Edit(name, EditKind.SET, value)


def test_a_topic_is_altered_by_the_rules_of_topics() -> None:
    rules = ConfigOverrideRules(lambda: DEFAULTS)

    altered = rules.alter(Resource(ResourceType.TOPIC, "a"), {"flush.ms": "1"}, [set_("retention.ms", "5")])

    assert altered == {"flush.ms": "1", "retention.ms": "5"}
    with pytest.raises(ConfigError):
        rules.alter(Resource(ResourceType.TOPIC, "a"), {}, [set_("log.retention.ms", "5")])


def test_brokers_are_altered_together_and_each_without_mixing_the_two() -> None:
    config = with_dynamic(DEFAULTS, {"log.retention.ms": "6"}, {"log.retention.bytes": "7"})
    rules = ConfigOverrideRules(lambda: config)

    of_all = rules.alter(ALL_BROKERS, {"log.retention.ms": "6"}, [set_("log.cleaner.threads", "2")])
    of_one = rules.alter(BROKER, {"log.retention.bytes": "7"}, [set_("log.cleaner.threads", "2")])

    assert of_all == {"log.retention.ms": "6", "log.cleaner.threads": "2"}
    assert of_one == {"log.retention.bytes": "7", "log.cleaner.threads": "2"}


def test_the_rules_follow_the_configuration_of_the_moment() -> None:
    configs = [DEFAULTS]
    rules = ConfigOverrideRules(lambda: configs[-1])
    configs.append(with_dynamic(DEFAULTS, {"log.cleanup.policy": "compact"}, {}))

    altered = rules.alter(
        Resource(ResourceType.TOPIC, "a"), {}, [Edit("cleanup.policy", EditKind.APPEND, "delete")]
    )

    assert set(altered["cleanup.policy"].split(",")) == {"compact", "delete"}


def test_loggers_have_no_settings() -> None:
    with pytest.raises(RequestRefused) as refused:
        ConfigOverrideRules(lambda: DEFAULTS).alter(Resource(ResourceType.BROKER_LOGGER, "1"), {}, [])
    assert refused.value.error_code is ErrorCode.INVALID_REQUEST


def test_an_ordinary_topic_has_the_default_size() -> None:
    assert new_topic("orders", DEFAULTS.settings, broker_count=3) == NewTopic("orders")


@pytest.mark.parametrize("name", COORDINATOR_OVERRIDES)
@pytest.mark.parametrize(("broker_count", "replicas"), [(0, 1), (1, 1), (2, 2), (3, 3), (9, 3)])
def test_a_coordinators_topic_has_its_own_size_on_as_many_brokers_as_there_are(
    name: str, broker_count: int, replicas: int
) -> None:
    asked = new_topic(name, DEFAULTS.settings, broker_count=broker_count)

    assert (asked.partition_count, asked.replication_factor) == (50, replicas)
    settings = topic_settings(TopicSettings(), {key: value or "" for key, value in asked.overrides})
    assert settings.segment_bytes == 100 << 20
    assert settings.min_insync_replicas <= replicas
    assert settings.cleanup_policy == ({"delete"} if name == "__share_group_state" else {"compact"})
