"""A topic's own values over the broker's."""

from __future__ import annotations

import pytest

from riverlog.config.topic import TopicSettings, topic_settings
from riverlog.errors import ConfigError

BROKER = TopicSettings(retention_ms=5, durability="page-cache")


def test_a_topic_that_says_nothing_shares_the_brokers_settings() -> None:
    assert topic_settings(BROKER, {}) is BROKER


def test_an_override_counts_and_the_rest_is_inherited() -> None:
    settings = topic_settings(BROKER, {"segment.bytes": "1048576", "cleanup.policy": "compact, delete"})

    assert settings.segment_bytes == 1 << 20
    assert settings.cleanup_policy == {"compact", "delete"}
    assert (settings.retention_ms, settings.durability) == (5, "page-cache")


def test_a_topic_may_keep_nothing_where_a_broker_may_not() -> None:
    assert topic_settings(BROKER, {"retention.ms": "0"}).retention_ms == 0


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("retention.ms", "-2", "a whole number from -1 to"),
        ("retention.ms", "week", "a whole number from -1 to"),
        ("segment.bytes", "1048575", "a whole number from 1048576 to 2147483647"),
        ("cleanup.policy", "shred", "a list of compact, delete"),
        ("compression.type", "GZIP", "one of uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("compression.gzip.level", "0", "a whole number from 1 to 9, or -1"),
        ("message.timestamp.type", "createtime", "one of CreateTime, LogAppendTime"),
        ("durability", "memory", "one of fsync, page-cache"),
        ("min.cleanable.dirty.ratio", "1.1", "a number from 0 to 1"),
        ("remote.storage.enable", "true", "only false"),
        ("local.retention.ms", "5", "only -2"),
        ("retention.sm", "5", "the name of a topic setting; did you mean retention.ms"),
        ("log.retention.ms", "5", "the name of a topic setting"),
        ("min.compaction.lag.ms", "10", "at most max.compaction.lag.ms, which is 9"),
    ],
)
def test_a_refusal_names_the_setting_the_value_and_what_is_accepted(
    name: str, value: str, expected: str
) -> None:
    defaults = TopicSettings(max_compaction_lag_ms=9)

    with pytest.raises(ConfigError) as refusal:
        topic_settings(defaults, {name: value})

    assert str(refusal.value).startswith(f"{name}={value!r} is not accepted: expected {expected}")


def test_values_that_agree_only_together_are_accepted_together() -> None:
    settings = topic_settings(BROKER, {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "10"})

    assert (settings.min_compaction_lag_ms, settings.max_compaction_lag_ms) == (10, 10)
