"""Values that are fine alone and wrong together."""

from __future__ import annotations

import pytest

from riverlog.config.effective import Given, Source, effective_config
from riverlog.config.problems import each_problem
from riverlog.errors import ConfigError


def refusals(**settings: str) -> list[str]:
    """What is refused when these are set; `__` stands for a dot."""
    names = {name.replace("__", "."): text for name, text in settings.items()}
    layer = {name: Given(name, text, Source.STATIC, "the test") for name, text in names.items()}
    try:
        effective_config([layer])
    except ConfigError as error:
        return [str(problem) for problem in each_problem(error)]
    return []


@pytest.mark.parametrize("listeners", ["SSL://h:1", "SASL_PLAINTEXT://h:1", "PLAINTEXT://h:1,SASL_SSL://h:2"])
def test_a_listener_that_promises_more_than_plain_text_is_refused(listeners: str) -> None:
    (refusal,) = refusals(listeners=listeners)

    assert "expected a listener that speaks PLAINTEXT, not S" in refusal


def test_a_named_listener_may_be_mapped_to_plain_text() -> None:
    mapped = "INSIDE:PLAINTEXT"

    assert refusals(listeners="INSIDE://h:1", listener__security__protocol__map=mapped) == []


def test_a_listener_name_that_is_mapped_to_nothing_is_refused() -> None:
    (refusal,) = refusals(listeners="INSIDE://h:1")

    assert refusal == (
        "listeners='INSIDE://h:1' (from the test) is not accepted: expected a listener name that"
        " listener.security.protocol.map maps"
    )


def test_two_listeners_cannot_share_an_address() -> None:
    mapping = "A:PLAINTEXT,B:PLAINTEXT"

    (refusal,) = refusals(listeners="A://h:1,B://h:1", listener__security__protocol__map=mapping)

    assert refusal.endswith("expected a different address for each listener")
    assert refusals(listeners="A://h:0,B://h:0", listener__security__protocol__map=mapping) == []


def test_a_broker_needs_a_listener_besides_the_controllers() -> None:
    (refusal,) = refusals(listeners="CONTROLLER://h:1", controller__listener__names="CONTROLLER")

    assert "expected a listener for clients besides those in controller.listener.names" in refusal


@pytest.mark.parametrize(
    ("advertised", "expected"),
    [
        ("PLAINTEXT://0.0.0.0:1", "expected a host that clients can reach"),
        ("PLAINTEXT://:1", "expected a host that clients can reach"),
        ("OTHER://h:1", "expected a name out of listeners: PLAINTEXT"),
    ],
)
def test_an_address_that_leads_nowhere_is_not_advertised(advertised: str, expected: str) -> None:
    (refusal,) = refusals(advertised__listeners=advertised)

    assert refusal.endswith(expected)


def test_the_memory_for_requests_holds_at_least_one() -> None:
    (refusal,) = refusals(queued__max__request__bytes="100", socket__request__max__bytes="101")

    assert refusal.endswith("expected -1, or at least socket.request.max.bytes, which is 101")
    assert refusals(queued__max__request__bytes="101", socket__request__max__bytes="101") == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("group.min.session.timeout.ms", "1800001", "at most group.max.session.timeout.ms"),
        ("group.consumer.session.timeout.ms", "60001", "at most group.consumer.max.session.timeout.ms"),
        ("group.consumer.min.heartbeat.interval.ms", "5001", "at most group.consumer.heartbeat.interval.ms"),
        ("group.share.heartbeat.interval.ms", "45001", "at most group.share.session.timeout.ms"),
        ("group.share.record.lock.duration.ms", "60001", "at most group.share.max.record.lock.duration.ms"),
        ("replica.fetch.wait.max.ms", "30001", "at most replica.lag.time.max.ms"),
    ],
)
def test_a_value_above_the_one_that_bounds_it_is_refused(name: str, value: str, expected: str) -> None:
    (refusal,) = refusals(**{name: value})

    assert refusal.startswith(f"{name}='{value}' (from the test) is not accepted: expected {expected}")


def test_compaction_lags_of_the_broker_must_be_in_order() -> None:
    lags = {"log.cleaner.min.compaction.lag.ms": "10", "log.cleaner.max.compaction.lag.ms": "9"}

    (refusal,) = refusals(**lags)

    assert refusal.endswith("expected at most log.cleaner.max.compaction.lag.ms, which is 9")


def test_the_defaults_agree_with_each_other() -> None:
    assert refusals() == []
