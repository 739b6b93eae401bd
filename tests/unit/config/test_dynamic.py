"""Row 77: settings that change while the broker runs."""

from __future__ import annotations

import pytest

from riverlog.config.dynamic import Change, Operation, alter_broker, alter_topic, with_dynamic
from riverlog.config.effective import BrokerConfig, Given, Source, effective_config
from riverlog.config.known import KEPT_WHEN_ALTERED, why_without_effect
from riverlog.config.topic import TopicSettings
from riverlog.errors import ConfigError

SET, DELETE, APPEND, SUBTRACT = Operation
DEFAULTS = TopicSettings()


def started_with(**settings: str) -> BrokerConfig:
    names = {name.replace("__", "."): text for name, text in settings.items()}
    return effective_config(
        [{name: Given(name, text, Source.STATIC, "file") for name, text in names.items()}]
    )


def test_set_adds_an_override_in_its_canonical_spelling() -> None:
    altered = alter_topic(DEFAULTS, {"preallocate": "false"}, [Change("retention.ms", SET, " 077 ")])

    assert altered == {"preallocate": "false", "retention.ms": "77"}


def test_delete_takes_an_override_back() -> None:
    overrides = {"retention.ms": "77", "preallocate": "true"}

    assert alter_topic(DEFAULTS, overrides, [Change("retention.ms", DELETE)]) == {"preallocate": "true"}
    assert overrides == {"retention.ms": "77", "preallocate": "true"}


def test_delete_of_what_is_not_set_changes_nothing() -> None:
    changes = [Change("retention.ms", DELETE), Change("no.such.setting", DELETE)]

    assert alter_topic(DEFAULTS, {}, changes) == {}


@pytest.mark.parametrize(
    ("overrides", "operation", "value", "policy"),
    [
        ({}, APPEND, "compact", "delete,compact"),
        ({}, APPEND, "delete", "delete"),
        ({"cleanup.policy": "compact"}, APPEND, "delete", "compact,delete"),
        ({"cleanup.policy": "compact,delete"}, SUBTRACT, "compact", "delete"),
        ({"cleanup.policy": "compact"}, SUBTRACT, "compact,delete", ""),
        ({"cleanup.policy": ""}, APPEND, " compact ", "compact"),
        ({}, SET, " delete, compact,delete", "delete,compact"),
        ({}, SET, "", ""),
    ],
)
def test_a_list_is_set_appended_to_and_subtracted_from(
    overrides: dict[str, str], operation: Operation, value: str, policy: str
) -> None:
    altered = alter_topic(DEFAULTS, overrides, [Change("cleanup.policy", operation, value)])

    assert altered == {"cleanup.policy": policy}


def test_append_to_an_inherited_list_starts_from_what_the_broker_says() -> None:
    defaults = TopicSettings(cleanup_policy=frozenset({"compact"}))

    altered = alter_topic(defaults, {}, [Change("cleanup.policy", APPEND, "delete")])

    assert altered == {"cleanup.policy": "compact,delete"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            Change("retention.ms", SET, "-5"),
            "retention.ms='-5' is not accepted: expected a whole number from -1",
        ),
        (Change("retention.ms", SET, None), "retention.ms=None is not accepted"),
        (Change("retention.ms", APPEND, "1"), "expected SET or DELETE: APPEND is for lists"),
        (Change("retention.ms", SUBTRACT, "1"), "expected SET or DELETE: SUBTRACT is for lists"),
        (Change("cleanup.policy", APPEND, "shred"), "cleanup.policy='shred' is not accepted"),
        (Change("retention.sm", SET, "1"), "did you mean retention.ms?"),
        (Change("nonsense", APPEND, "1"), "expected the name of a topic setting"),
        (Change("min.compaction.lag.ms", SET, "9223372036854775808"), "expected a whole number from 0 to"),
    ],
)
def test_a_wrong_change_of_a_topic_is_refused(change: Change, expected: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        alter_topic(DEFAULTS, {}, [change])

    assert expected in str(refusal.value)


def test_changes_of_a_topic_are_judged_by_their_outcome() -> None:
    low, high = Change("min.compaction.lag.ms", SET, "100"), Change("max.compaction.lag.ms", SET, "10")

    with pytest.raises(ConfigError, match=r"min.compaction.lag.ms='100'.*at most max.compaction.lag.ms"):
        alter_topic(DEFAULTS, {}, [low, high])
    assert len(alter_topic(DEFAULTS, {}, [low, high, Change("min.compaction.lag.ms", DELETE)])) == 1


def test_what_is_altered_for_a_broker_beats_what_is_altered_for_all() -> None:
    config = started_with(log__retention__hours="1")

    altered = with_dynamic(
        config, {"log.retention.ms": "5", "max.connections": "6"}, {"log.retention.ms": "4"}
    )

    assert altered.settings.topic_defaults.retention_ms == 4
    assert altered.settings.network.max_connections == 6
    assert config.settings.topic_defaults.retention_ms == 3_600_000


def test_overlaying_again_starts_from_what_the_start_was_given() -> None:
    config = started_with(max__connections="9")

    altered = with_dynamic(with_dynamic(config, {"max.connections": "6"}, {}), {}, {})

    assert altered.settings == config.settings


def test_the_cluster_or_one_broker_is_altered() -> None:
    config = started_with()
    change = Change("message.max.bytes", SET, "5")

    assert alter_broker(config, {}, {"max.connections": "1"}, [change], for_cluster=True) == {
        "message.max.bytes": "5"
    }
    assert alter_broker(config, {"max.connections": "1"}, {}, [change], for_cluster=False) == {
        "message.max.bytes": "5"
    }


def test_append_for_a_broker_starts_from_what_lies_beneath() -> None:
    config = started_with(log__cleanup__policy="compact")
    change = Change("log.cleanup.policy", APPEND, "delete")

    assert alter_broker(config, {}, {}, [change], for_cluster=True) == {
        "log.cleanup.policy": "compact,delete"
    }
    assert alter_broker(config, {"log.cleanup.policy": ""}, {}, [change], for_cluster=False) == {
        "log.cleanup.policy": "delete"
    }


def test_delete_takes_a_brokers_override_back() -> None:
    altered = alter_broker(
        started_with(), {"max.connections": "1"}, {}, [Change("max.connections", DELETE)], for_cluster=True
    )

    assert altered == {}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Change("num.partitions", SET, "5"), "this one is read at the start"),
        (
            Change("log.retention.hours", SET, "5"),
            "expected log.retention.ms, the name under which this may change",
        ),
        (Change("ssl.keystore.location", SET, "k"), "this one has none, since listeners are plain and open"),
        (Change("num.io.threads", SET, "many"), "expected a number"),
        (Change("num.io.threads", SET, None), "expected a number"),
        (Change("num.io.threads", APPEND, "5"), "expected a number"),
        (Change("log.retention.sm", SET, "5"), "did you mean log.retention.ms?"),
        (Change("log.retention.ms", SET, "0"), "expected a whole number from 1 to"),
        (Change("log.retention.ms", SET, None), "log.retention.ms=None is not accepted"),
        (Change("log.retention.ms", APPEND, "5"), "APPEND is for lists"),
        (
            Change("log.cleaner.max.compaction.lag.ms", SET, "1"),
            "expected at most log.cleaner.max.compaction.lag.ms",
        ),
    ],
)
@pytest.mark.parametrize("for_cluster", [True, False])
def test_a_wrong_change_of_a_broker_is_refused(change: Change, expected: str, *, for_cluster: bool) -> None:
    config = started_with(log__cleaner__min__compaction__lag__ms="2")

    with pytest.raises(ConfigError) as refusal:
        alter_broker(config, {}, {}, [change], for_cluster=for_cluster)

    assert expected in str(refusal.value)


@pytest.mark.parametrize("for_cluster", [True, False])
@pytest.mark.parametrize("name", sorted(KEPT_WHEN_ALTERED))
def test_a_number_that_means_nothing_here_is_kept_and_passed_over(name: str, *, for_cluster: bool) -> None:
    config = started_with()

    altered = alter_broker(config, {}, {}, [Change(name, SET, " 0.5")], for_cluster=for_cluster)
    removed = alter_broker(config, altered, altered, [Change(name, DELETE)], for_cluster=for_cluster)

    assert (altered, removed) == ({name: "0.5"}, {})
    assert with_dynamic(config, altered, altered).settings == config.settings
    assert why_without_effect(name) is not None


def test_stored_overrides_that_may_not_change_live_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"num.partitions='5'.*read at the start"):
        with_dynamic(started_with(), {"num.partitions": "5"}, {})
