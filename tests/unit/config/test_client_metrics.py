"""Subscriptions to clients' metrics: what can be set, and how it is told."""

from __future__ import annotations

import pytest

from riverlog.config.client_metrics import DEFAULTS, DOCUMENTATION, KINDS, alter_client_metrics
from riverlog.config.describe import describe_client_metrics
from riverlog.config.dynamic import Change, Operation
from riverlog.config.effective import Source
from riverlog.errors import ConfigError

SET, DELETE, APPEND, SUBTRACT = Operation


def test_every_setting_has_a_default_that_it_accepts_and_a_text() -> None:
    assert KINDS.keys() == DEFAULTS.keys() == DOCUMENTATION.keys()
    assert alter_client_metrics({}, [Change(name, SET, DEFAULTS[name]) for name in KINDS]) == DEFAULTS


def test_settings_are_set_and_deleted() -> None:
    altered = alter_client_metrics(
        {"interval.ms": "1000"},
        [
            Change("interval.ms", DELETE),
            Change("match", SET, "client_id=a.*, client_software_name=apache-kafka-java"),
            Change("metrics", SET, "org.apache.kafka.producer."),
        ],
    )

    assert altered == {
        "match": "client_id=a.*,client_software_name=apache-kafka-java",
        "metrics": "org.apache.kafka.producer.",
    }


@pytest.mark.parametrize(
    "change",
    [
        Change("nope", SET, "1"),
        Change("interval.ms", SET, "99"),
        Change("interval.ms", SET, "3600001"),
        Change("interval.ms", SET, "often"),
        Change("metrics", APPEND, "a"),
        Change("metrics", SUBTRACT, "a"),
        Change("match", SET, "client_id=["),
        Change("match", SET, "nope=a"),
        Change("match", SET, "client_id"),
    ],
)
def test_what_cannot_be_is_refused(change: Change) -> None:
    with pytest.raises(ConfigError):
        alter_client_metrics({}, [change])


def test_what_is_set_is_told_before_its_default() -> None:
    entries = {entry.name: entry for entry in describe_client_metrics({"interval.ms": "1000"})}

    interval, match = entries["interval.ms"], entries["match"]
    assert (interval.value, interval.source) == ("1000", Source.CLIENT_METRICS)
    assert [synonym.value for synonym in interval.synonyms] == ["1000", "300000"]
    assert (match.value, match.source) == ("", Source.DEFAULT)
