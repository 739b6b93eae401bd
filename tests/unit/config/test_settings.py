"""Row K1: the table says what Apache Kafka says, wherever Kafka says anything."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pytest

from riverlog.config.setting import Dynamic
from riverlog.config.settings import BrokerSettings
from riverlog.config.table import BROKER_NAMES, ROWS
from tests.unit.config import kafka_facts

NOT_IN_KAFKA_4_3 = {
    # ours
    "durability",
    "lag.alarm.retention.percent",
    "lag.check.interval.ms",
    "metrics.host",
    "metrics.port",
    "metrics.series.max",
    "request.read.timeout.ms",
    "request.without.records.max.bytes",
    "shutdown.timeout.ms",
    # of Kafka before 4.0
    "port",
    "zookeeper.connect",
    "zookeeper.connection.timeout.ms",
    "zookeeper.session.timeout.ms",
    # Kafka takes these through its tools alone
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
}
READ_ONLY_HERE = {"listeners", "listener.security.protocol.map"}
OTHER_DEFAULT = {
    "listeners",
    "log.dir",
    "node.id",
    "broker.id",
    "controller.listener.names",
    "socket.send.buffer.bytes",
    "socket.receive.buffer.bytes",
    "queued.max.request.bytes",
}

SHARED = BROKER_NAMES.keys() & kafka_facts.BROKER.keys()
TOPIC_ROWS = {row.setting.topic_name: row for row in ROWS if row.setting.topic_name}


def test_every_name_that_kafka_lacks_is_accounted_for() -> None:
    assert BROKER_NAMES.keys() - kafka_facts.BROKER.keys() == NOT_IN_KAFKA_4_3


def kafkas(field: str, names: Iterable[str]) -> dict[str, str]:
    return {name: getattr(kafka_facts.BROKER[name], field) for name in names}


def test_broker_settings_have_kafkas_types() -> None:
    types = {name: BROKER_NAMES[name].kind_of(name).type.name for name in SHARED}

    assert types == kafkas("type", SHARED)


def test_broker_settings_have_kafkas_defaults() -> None:
    names = SHARED - OTHER_DEFAULT

    defaults = {name: BROKER_NAMES[name].default_text(name) or "" for name in names}

    assert defaults == {
        name: "" if default == "null" else default for name, default in kafkas("default", names).items()
    }


@pytest.mark.parametrize("name", sorted(OTHER_DEFAULT))
def test_a_default_that_differs_names_that_of_kafka(name: str) -> None:
    assert BROKER_NAMES[name].setting.kafka_default


def test_broker_settings_change_live_where_they_do_in_kafka() -> None:
    names = SHARED - READ_ONLY_HERE

    modes = {name: BROKER_NAMES[name].dynamic_of(name).value for name in names}

    assert modes == kafkas("mode", names)


@pytest.mark.parametrize("name", sorted(READ_ONLY_HERE))
def test_listeners_do_not_change_live(name: str) -> None:
    assert BROKER_NAMES[name].dynamic_of(name) is Dynamic.READ_ONLY


def test_topics_have_every_setting_of_kafka_and_durability_besides() -> None:
    assert TOPIC_ROWS.keys() == kafka_facts.TOPIC.keys() | {"durability"}


def test_attributes_are_names_with_underscores() -> None:
    expected = [(row.setting.topic_name or row.setting.name or "").replace(".", "_") for row in ROWS]

    assert [row.attribute for row in ROWS] == expected


def test_defaults_are_values_that_would_be_accepted() -> None:
    texts = [(row.setting, row.setting.kind.format(row.setting.default)) for row in ROWS]

    changed = [
        setting.name for setting, text in texts if text and setting.kind.parse(text) != setting.default
    ]

    assert changed == []


def test_defaults_are_the_same_under_whatever_name_they_are_shown() -> None:
    shown = [(row, name, row.default_text(name)) for row in ROWS for name in row.names]

    values = [
        (row.setting.default, row.value_from(name, text)) for row, name, text in shown if text is not None
    ]

    assert [pair for pair in values if pair[0] != pair[1]] == []
    assert {row.attribute for row in ROWS if row.names} - {
        row.attribute for row, _, text in shown if text is not None
    } == {
        "broker_rack",
        "advertised_listeners",
        "metrics_port",
        "replica_selector_class",
        "zookeeper_connect",
        "zookeeper_connection_timeout_ms",
    }


def test_texts_are_made_of_sentences() -> None:
    texts = [row.setting.doc for row in ROWS]

    assert [text for text in texts if not text.endswith(".") or "  " in text or text[0].islower()] == []


def test_settings_cannot_be_changed_in_place() -> None:
    settings = BrokerSettings()

    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.network.max_connections = 1  # type: ignore[misc]  # the point of the test
    assert not hasattr(settings.network, "__dict__")
