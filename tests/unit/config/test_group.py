"""A group's own settings over the broker's."""

from riverlog.config import ConsumerGroupSettings, group_config

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
