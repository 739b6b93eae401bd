"""Row 77: DescribeConfigs returns every setting with its source, default, type and text."""

from __future__ import annotations

from riverlog.config.describe import (
    ConfigEntry,
    describe_broker,
    describe_cluster,
    describe_group,
    describe_topic,
)
from riverlog.config.dynamic import with_dynamic
from riverlog.config.effective import BrokerConfig, Source, effective_config
from riverlog.config.kinds import ConfigType
from riverlog.config.loading import load_config
from riverlog.config.table import BROKER_NAMES
from tests.unit.config import kafka_facts

DEFAULTS = effective_config([])


def broker(config: BrokerConfig) -> dict[str, ConfigEntry]:
    return {entry.name: entry for entry in describe_broker(config)}


def topic(config: BrokerConfig, **overrides: str) -> dict[str, ConfigEntry]:
    named = {name.replace("__", "."): text for name, text in overrides.items()}
    return {entry.name: entry for entry in describe_topic(config, named)}


def story(entry: ConfigEntry) -> list[tuple[str, str | None, Source]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


def test_a_topic_answers_what_kafka_answers_for_each_of_its_settings() -> None:
    entries = topic(DEFAULTS)

    told = {name: (entry.type.name, entry.value) for name, entry in entries.items() if name != "durability"}

    assert told == {fact.name: (fact.type, fact.default) for fact in kafka_facts.TOPIC.values()}


def test_an_untouched_topic_has_defaults_that_may_change() -> None:
    entries = topic(DEFAULTS).values()

    assert {entry.source for entry in entries} == {Source.DEFAULT}
    assert all(entry.is_default and not entry.is_read_only and not entry.is_sensitive for entry in entries)
    assert all(entry.documentation for entry in entries)


def test_a_topics_own_value_comes_before_its_whole_ancestry() -> None:
    started = load_config(flags=["log.retention.hours=24"])
    config = with_dynamic(started, {"log.retention.ms": "70000"}, {"log.retention.ms": "60000"})

    entry = topic(config, retention__ms=" 050 ")["retention.ms"]

    assert (entry.value, entry.source, entry.where) == ("50", Source.TOPIC, "the topic")
    assert story(entry) == [
        ("retention.ms", "50", Source.TOPIC),
        ("log.retention.ms", "60000", Source.DYNAMIC_BROKER),
        ("log.retention.ms", "70000", Source.DYNAMIC_CLUSTER),
        ("log.retention.hours", "24", Source.STATIC),
        ("log.retention.hours", "168", Source.DEFAULT),
    ]


def test_a_topic_shows_what_it_inherits_in_its_own_unit() -> None:
    entry = topic(load_config(flags=["log.retention.hours=24"]))["retention.ms"]

    assert (entry.value, entry.source) == ("86400000", Source.STATIC)


def test_a_setting_that_only_topics_have_can_be_overridden() -> None:
    entry = topic(DEFAULTS, leader__replication__throttled__replicas="0:1 , 1:2")[
        "leader.replication.throttled.replicas"
    ]

    assert (entry.value, entry.source, entry.type) == ("0:1,1:2", Source.TOPIC, ConfigType.LIST)
    assert len(entry.synonyms) == 1


def test_a_broker_lists_every_name_once() -> None:
    names = [entry.name for entry in describe_broker(DEFAULTS)]

    assert sorted(names) == sorted(BROKER_NAMES)


def test_a_broker_shows_defaults_as_kafka_does() -> None:
    entries = broker(DEFAULTS)

    assert (entries["log.retention.hours"].value, entries["log.retention.hours"].synonyms[0].value) == (
        "168",
        "168",
    )
    assert (entries["log.retention.ms"].value, entries["log.retention.ms"].synonyms) == (None, ())
    assert (entries["advertised.listeners"].value, entries["advertised.listeners"].type) == (
        None,
        ConfigType.LIST,
    )
    assert entries["log.cleaner.io.max.bytes.per.second"].value == "1.7976931348623157E308"


def test_a_broker_tells_what_may_change_live() -> None:
    entries = broker(DEFAULTS)

    assert not entries["log.retention.ms"].is_read_only
    assert entries["log.retention.hours"].is_read_only
    assert entries["num.partitions"].is_read_only


def test_a_brokers_value_tells_where_it_came_from() -> None:
    config = load_config(
        environment={"RIVERLOG_LOG_SEGMENT_BYTES": " 2097152"}, flags=["log.segment.bytes=1048576"]
    )

    entry = broker(config)["log.segment.bytes"]

    assert (entry.value, entry.source, entry.where, entry.is_default) == (
        "1048576",
        Source.STATIC,
        "--set",
        False,
    )
    assert [(synonym.value, synonym.where) for synonym in entry.synonyms] == [
        ("1048576", "--set"),
        ("2097152", "environment variable RIVERLOG_LOG_SEGMENT_BYTES"),
        ("1073741824", "default"),
    ]


def test_both_names_of_the_broker_id_show_the_same_value() -> None:
    entries = broker(load_config(flags=["broker.id=5"]))

    assert {entries[name].value for name in ("node.id", "broker.id")} == {"5"}


def test_a_value_that_a_coarser_name_overruled_is_not_shown() -> None:
    config = load_config(environment={"RIVERLOG_LOG_RETENTION_MS": "5"}, flags=["log.retention.hours=1"])

    entries = broker(config)

    assert entries["log.retention.ms"].value is None
    assert entries["log.retention.hours"].value == "1"


def test_the_cluster_shows_only_what_was_altered_for_it() -> None:
    (entry,) = describe_cluster({"max.connections": "5"})

    assert (entry.name, entry.value, entry.source) == ("max.connections", "5", Source.DYNAMIC_CLUSTER)
    assert not entry.is_read_only
    assert story(entry) == [("max.connections", "5", Source.DYNAMIC_CLUSTER)]


def test_a_group_shows_what_the_broker_has_for_all_groups() -> None:
    entries = {entry.name: entry for entry in describe_group(DEFAULTS, {})}

    session = entries["consumer.session.timeout.ms"]
    assert (session.value, session.is_read_only) == ("45000", False)
    assert story(session) == [("group.consumer.session.timeout.ms", "45000", Source.DEFAULT)]
    assert entries["consumer.heartbeat.interval.ms"].value == "5000"


def test_a_group_shows_its_own_settings_first() -> None:
    overrides = {"consumer.session.timeout.ms": "50000"}
    entries = {entry.name: entry for entry in describe_group(DEFAULTS, overrides)}

    assert story(entries["consumer.session.timeout.ms"]) == [
        ("consumer.session.timeout.ms", "50000", Source.GROUP),
        ("group.consumer.session.timeout.ms", "45000", Source.DEFAULT),
    ]
