"""Every name that Kafka knows is known here too."""

from __future__ import annotations

from riverlog.config.known import ONLY_ACCEPTED, WITHOUT_EFFECT, why_without_effect
from riverlog.config.table import BROKER_NAMES
from tests.unit.config import kafka_facts


def test_every_setting_of_kafka_is_honoured_or_explained() -> None:
    explained = {*BROKER_NAMES, *WITHOUT_EFFECT, *ONLY_ACCEPTED}

    assert kafka_facts.BROKER.keys() - explained == set()


def test_no_setting_is_both_honoured_and_explained_away() -> None:
    assert WITHOUT_EFFECT.keys() & BROKER_NAMES.keys() == set()
    assert ONLY_ACCEPTED.keys() & {*BROKER_NAMES, *WITHOUT_EFFECT} == set()


def test_a_name_without_effect_has_its_reason() -> None:
    assert why_without_effect("process.roles") == "there is no controller quorum"
    assert why_without_effect("listener.name.internal.ssl.keystore.location") == "plug-ins are not loaded"
    assert why_without_effect("no.such.name") is None
    assert why_without_effect("log.retention.ms") is None
