"""Which of several given values counts."""

from __future__ import annotations

import pytest

from riverlog.config.effective import BrokerConfig, Given, Layer, Source, effective_config
from riverlog.config.listeners import Listener
from riverlog.config.problems import CombinedConfigError, each_problem
from riverlog.config.settings import BrokerSettings
from riverlog.config.table import BROKER_NAMES
from riverlog.errors import ConfigError


def layer(where: str = "file", /, **settings: str) -> Layer:
    """What one source gave; `__` stands for a dot."""
    names = {name.replace("__", "."): text for name, text in settings.items()}
    return {name: Given(name, text, Source.STATIC, where) for name, text in names.items()}


def story(config: BrokerConfig, name: str) -> list[tuple[str, str]]:
    return [(given.name, given.text) for given in config.chain(BROKER_NAMES[name])]


def test_without_any_layer_the_defaults_count() -> None:
    assert effective_config([]).settings == BrokerSettings()


def test_a_stronger_layer_wins() -> None:
    config = effective_config([layer(num__partitions="2"), layer(num__partitions="3")])

    assert config.settings.admin.num_partitions == 3
    assert story(config, "num.partitions") == [("num.partitions", "3"), ("num.partitions", "2")]


@pytest.mark.parametrize(
    ("given", "retention_ms"),
    [
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "1"}, 60_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "1", "log.retention.ms": "1"}, 1),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.ms": "-1", "log.retention.hours": "1"}, -1),
    ],
)
def test_the_finer_unit_counts_as_in_kafka(given: dict[str, str], retention_ms: int) -> None:
    config = effective_config([layer(**given)])

    assert config.settings.topic_defaults.retention_ms == retention_ms


def test_other_families_follow_kafkas_precedence_too() -> None:
    given = {
        "log.roll.hours": "2",
        "log.roll.jitter.hours": "1",
        "log.roll.jitter.ms": "7",
        "log.flush.scheduler.interval.ms": "8",
        "log.dir": "a",
        "log.dirs": "b,c",
    }

    settings = effective_config([layer(**given)]).settings

    assert settings.topic_defaults.segment_ms == 7_200_000
    assert settings.topic_defaults.segment_jitter_ms == 7
    assert settings.topic_defaults.flush_ms == 8
    assert settings.log.log_dirs == ("b", "c")


def test_a_stronger_layer_wins_under_a_coarser_name() -> None:
    config = effective_config([layer(log__retention__ms="5"), layer(log__retention__hours="1")])

    assert config.settings.topic_defaults.retention_ms == 3_600_000
    assert story(config, "log.retention.ms") == [("log.retention.hours", "1")]


def test_a_weaker_value_under_a_coarser_name_stays_in_the_story() -> None:
    config = effective_config([layer(log__retention__hours="1"), layer(log__retention__ms="5")])

    assert config.settings.topic_defaults.retention_ms == 5
    assert story(config, "log.retention.ms") == [("log.retention.ms", "5"), ("log.retention.hours", "1")]


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_both_names_of_the_broker_id_are_the_same_setting(name: str) -> None:
    assert effective_config([layer(**{name: "7"})]).settings.node.node_id == 7


def test_two_names_for_the_same_thing_may_agree() -> None:
    assert effective_config([layer(node__id="7", broker__id="7 ")]).settings.node.node_id == 7


def test_two_names_for_the_same_thing_may_not_differ_in_one_place() -> None:
    with pytest.raises(ConfigError, match=r"broker.id='8' \(from file\).*the same as node.id, which is 7"):
        effective_config([layer(node__id="7", broker__id="8")])


def test_a_stronger_layer_may_name_another_broker_id() -> None:
    config = effective_config([layer(broker__id="8"), layer(node__id="7")])

    assert config.settings.node.node_id == 7


def test_an_overruled_value_must_be_right_too() -> None:
    with pytest.raises(ConfigError, match=r"num.partitions='none' \(from file\)"):
        effective_config([layer(num__partitions="none"), layer(num__partitions="3")])


def test_every_problem_is_reported() -> None:
    with pytest.raises(CombinedConfigError) as raised:
        effective_config([layer(num__partitions="0", log__dirs=""), layer("flag", max__connections="-1")])

    assert [problem.setting for problem in each_problem(raised.value)] == [
        "num.partitions",
        "log.dirs",
        "max.connections",
    ]
    assert raised.value.problems[2].source == "flag"


def test_listeners_of_a_controller_quorum_stay_closed() -> None:
    given = {
        "listeners": "PLAINTEXT://h:1,CONTROLLER://h:2",
        "advertised.listeners": "PLAINTEXT://public:1,CONTROLLER://h:2",
        "controller.listener.names": "CONTROLLER",
    }

    network = effective_config([layer(**given)]).settings.network

    assert network.listeners == (Listener("PLAINTEXT", "h", 1),)
    assert network.advertised_listeners == (Listener("PLAINTEXT", "public", 1),)


def test_dynamic_layers_are_stronger_than_static_ones() -> None:
    config = effective_config([layer(message__max__bytes="1")], [layer(message__max__bytes="2")])

    assert config.settings.topic_defaults.max_message_bytes == 2
    assert len(config.static_layers) == len(config.dynamic_layers) == 1
