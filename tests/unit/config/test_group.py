"""A group's own settings over the broker's."""

import pytest

from riverlog.config import Change, ConsumerGroupSettings, Operation, alter_group, group_config
from riverlog.errors import ConfigError

SETTINGS = ConsumerGroupSettings(
    group_consumer_session_timeout_ms=45_000,
    group_consumer_min_session_timeout_ms=40_000,
    group_consumer_max_session_timeout_ms=60_000,
)


def test_a_group_without_settings_has_the_broker_s() -> None:
    config = group_config(SETTINGS, {})

    assert config == (45_000, 5000, 1000)


def test_a_group_s_own_settings_count_more() -> None:
    config = group_config(
        SETTINGS, {"consumer.session.timeout.ms": "50000", "consumer.assignment.interval.ms": "0"}
    )

    assert (config.session_timeout_ms, config.assignment_interval_ms) == (50_000, 0)


def test_bounds_that_changed_later_count_at_once() -> None:
    for text, counts_as in (("1", 40_000), ("900000", 60_000)):
        config = group_config(SETTINGS, {"consumer.session.timeout.ms": text})
        assert config.session_timeout_ms == counts_as


def set_to(name: str, value: str) -> list[Change]:
    return [Change(name, Operation.SET, value)]


def test_settings_are_set_and_deleted() -> None:
    altered = alter_group(SETTINGS, {}, set_to("consumer.session.timeout.ms", " 50000"))
    assert altered == {"consumer.session.timeout.ms": "50000"}

    delete = [Change(name, Operation.DELETE) for name in ("consumer.session.timeout.ms", "nope")]
    assert alter_group(SETTINGS, altered, delete) == {}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("consumer.session.timeout.ms", "39999", "group.consumer.min.session.timeout.ms, which is 40000"),
        ("consumer.session.timeout.ms", "60001", "group.consumer.max.session.timeout.ms, which is 60000"),
        ("consumer.session.timeout.ms", "soon", "whole number"),
        ("consumer.sessions", "50000", "consumer.session.timeout.ms"),
    ],
)
def test_what_a_group_cannot_have_is_refused_and_told_why(name: str, value: str, why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        alter_group(SETTINGS, {}, set_to(name, value))

    assert why in str(refused.value)


def test_a_session_outlasts_a_heartbeat() -> None:
    settings = ConsumerGroupSettings(
        group_consumer_min_session_timeout_ms=1000, group_consumer_max_heartbeat_interval_ms=15_000
    )

    with pytest.raises(ConfigError):
        alter_group(
            settings,
            {"consumer.session.timeout.ms": "5000"},
            set_to("consumer.heartbeat.interval.ms", "5000"),
        )
