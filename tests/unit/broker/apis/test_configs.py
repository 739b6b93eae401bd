"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs together: row 77, and changes at run time (K1)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from riverlog.config import Source
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


def edit(asked: AskedBroker, kind: int, name: str, *edits: tuple[str, int, str | None], **fields: Any) -> Any:
    """Edit one resource's settings; gives its one answer."""
    resource = messages.IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            messages.IncrementalAlterConfigsRequestAlterableConfig(
                name=key, config_operation=operation, value=value
            )
            for key, operation, value in edits
        ],
    )
    request = messages.IncrementalAlterConfigsRequest(resources=[resource], **fields)
    [answer] = asked.ask(request).responses
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return answer


def replace(asked: AskedBroker, kind: int, name: str, **settings: str | None) -> Any:
    """Replace one resource's settings; gives its one answer."""
    resource = messages.AlterConfigsRequestAlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            messages.AlterConfigsRequestAlterableConfig(name=key.replace("_", "."), value=value)
            for key, value in settings.items()
        ],
    )
    [answer] = asked.ask(messages.AlterConfigsRequest(resources=[resource])).responses
    return answer


def describe(asked: AskedBroker, kind: int, name: str, *keys: str, version: int = 4, **fields: Any) -> Any:
    """Describe one resource; gives its one answer."""
    resource = messages.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    [answer] = asked.ask(messages.DescribeConfigsRequest(resources=[resource], **fields), version).results
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return answer


def value_of(asked: AskedBroker, kind: int, name: str, setting: str) -> tuple[str | None, int]:
    [config] = describe(asked, kind, name, setting).configs
    return config.value, config.config_source


def test_a_topic_is_described_with_all_its_settings(asked: AskedBroker) -> None:
    asked.topic("a", retention_ms="5")

    answer = describe(asked, TOPIC, "a")

    assert answer.error_code == 0
    found = {
        config.name: (config.value, config.config_source, config.config_type) for config in answer.configs
    }
    assert found["retention.ms"] == ("5", 1, 5)
    assert found["segment.bytes"] == (str(1 << 30), 5, 3)
    assert found["cleanup.policy"] == ("delete", 5, 7)
    assert found["preallocate"] == ("false", 5, 1)
    assert len(found) >= 33
    assert all(config.synonyms == [] and config.documentation is None for config in answer.configs)


@pytest.mark.parametrize("version", range(1, 5))
def test_synonyms_tell_a_values_ancestry_in_every_version(asked: AskedBroker, version: int) -> None:
    asked.topic("a", retention_ms="5")
    edit(asked, BROKER, "", ("log.retention.ms", SET, "6"))

    answer = describe(asked, TOPIC, "a", "retention.ms", version=version, include_synonyms=True)

    [config] = answer.configs
    assert [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms] == [
        ("retention.ms", "5", 1),
        ("log.retention.ms", "6", 3),
        ("log.retention.hours", "168", 5),
    ]


def test_documentation_comes_when_asked_for(asked: AskedBroker) -> None:
    asked.topic("a")

    answer = describe(asked, TOPIC, "a", "retention.ms", include_documentation=True)

    assert "deleted" in answer.configs[0].documentation


def test_names_restrict_the_answer_and_no_names_at_all_do_not(asked: AskedBroker) -> None:
    asked.topic("a")
    unrestricted = [
        messages.DescribeConfigsResource(resource_type=TOPIC, resource_name="a", configuration_keys=names)
        for names in (None, [])
    ]

    some = describe(asked, TOPIC, "a", "segment.ms", "nope", "flush.ms")
    [everything], [as_much] = [
        asked.ask(messages.DescribeConfigsRequest(resources=[each])).results for each in unrestricted
    ]

    assert {config.name for config in some.configs} == {"segment.ms", "flush.ms"}
    assert as_much == everything
    assert len(everything.configs) > 2


def test_a_group_has_the_settings_of_all_groups(asked: AskedBroker) -> None:
    answer = describe(asked, GROUP, "of anybody")

    assert answer.error_code == 0
    assert {config.name: config.value for config in answer.configs} == {
        "consumer.session.timeout.ms": "45000",
        "consumer.heartbeat.interval.ms": "5000",
        "consumer.assignment.interval.ms": "1000",
    }


def test_a_group_may_have_settings_of_its_own(asked: AskedBroker) -> None:
    edit(asked, GROUP, "mine", ("consumer.session.timeout.ms", SET, "50000"))

    for group, value, source in (("mine", "50000", Source.GROUP), ("other", "45000", Source.DEFAULT)):
        (session,) = describe(asked, GROUP, group, "consumer.session.timeout.ms").configs
        assert (session.value, session.config_source) == (value, source)
    listed = asked.ask(messages.ListConfigResourcesRequest(resource_types=[GROUP]))
    assert [each.resource_name for each in listed.config_resources] == ["mine"]


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (LOGGER, "1", ErrorCode.INVALID_REQUEST),
        (CLIENT_METRICS, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_has_no_settings_is_told_so(asked: AskedBroker, kind: int, name: str, code: ErrorCode) -> None:
    answer = describe(asked, kind, name)

    assert (answer.error_code, answer.configs) == (code, [])
    assert answer.error_message


def test_a_broker_tells_which_settings_may_change(tmp_path: Path) -> None:
    with closing(AskedBroker(tmp_path, "num.partitions=3")) as asked:
        answer = describe(asked, BROKER, "1")

        found = {config.name: config for config in answer.configs}
        assert (found["num.partitions"].value, found["num.partitions"].config_source) == ("3", 4)
        assert found["num.partitions"].read_only
        assert not found["log.retention.ms"].read_only


def test_an_edit_is_in_force_at_once_and_after_a_restart(tmp_path: Path) -> None:
    with closing(AskedBroker(tmp_path)) as asked:
        asked.topic("a")
        answer = edit(asked, TOPIC, "a", ("retention.ms", SET, "777"), ("flush.ms", SET, "9"))

        assert answer.error_code == 0
        assert asked.log("a").settings.retention_ms == 777
    with closing(AskedBroker(tmp_path)) as again:
        assert again.log("a").settings.retention_ms == 777
        assert value_of(again, TOPIC, "a", "flush.ms") == ("9", 1)


def test_deleting_an_edit_brings_the_default_back(asked: AskedBroker) -> None:
    asked.topic("a", retention_ms="5")

    edit(asked, TOPIC, "a", ("retention.ms", DELETE, None))

    assert value_of(asked, TOPIC, "a", "retention.ms") == ("604800000", 5)
    assert asked.log("a").settings.retention_ms == 604800000


def test_lists_gain_and_lose_entries(asked: AskedBroker) -> None:
    asked.topic("a")

    edit(asked, TOPIC, "a", ("cleanup.policy", APPEND, "compact"))
    both = value_of(asked, TOPIC, "a", "cleanup.policy")
    edit(asked, TOPIC, "a", ("cleanup.policy", SUBTRACT, "delete"))

    assert both == ("delete,compact", 1)
    assert value_of(asked, TOPIC, "a", "cleanup.policy") == ("compact", 1)
    assert asked.log("a").settings.cleanup_policy == {"compact"}


def test_validating_an_edit_changes_nothing(asked: AskedBroker) -> None:
    asked.topic("a")

    fine = edit(asked, TOPIC, "a", ("retention.ms", SET, "5"), validate_only=True)
    wrong = edit(asked, TOPIC, "a", ("retention.ms", SET, "x"), validate_only=True)

    assert (fine.error_code, wrong.error_code) == (0, ErrorCode.INVALID_CONFIG)
    assert value_of(asked, TOPIC, "a", "retention.ms") == ("604800000", 5)


@pytest.mark.parametrize(
    ("kind", "name", "edits", "code"),
    [
        (TOPIC, "nope", [("retention.ms", SET, "5")], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a", [("nope", SET, "5")], ErrorCode.INVALID_CONFIG),
        (TOPIC, "a", [("retention.ms", APPEND, "5")], ErrorCode.INVALID_CONFIG),
        (TOPIC, "a", [("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        (TOPIC, "a", [("retention.ms", SET, "5"), ("retention.ms", DELETE, None)], ErrorCode.INVALID_REQUEST),
        (TOPIC, "a", [("retention.ms", 7, "5")], ErrorCode.INVALID_REQUEST),
        (BROKER, "2", [("log.retention.ms", SET, "5")], ErrorCode.INVALID_REQUEST),
        (BROKER, "1", [("num.partitions", SET, "5")], ErrorCode.INVALID_REQUEST),
        (BROKER, "1", [("log.retention.ms", SET, "x")], ErrorCode.INVALID_REQUEST),
        (LOGGER, "1", [("riverlog", SET, "DEBUG")], ErrorCode.INVALID_REQUEST),
        (CLIENT_METRICS, "x", [("interval.ms", SET, "5")], ErrorCode.INVALID_REQUEST),
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "5")], ErrorCode.INVALID_CONFIG),
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "x")], ErrorCode.INVALID_CONFIG),
        (GROUP, "g", [("nope", SET, "5")], ErrorCode.INVALID_CONFIG),
        (GROUP, "", [("consumer.session.timeout.ms", SET, "50000")], ErrorCode.INVALID_REQUEST),
        (0, "x", [], ErrorCode.INVALID_REQUEST),
        (99, "x", [], ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_wrong_edit_is_refused_and_told_why(
    asked: AskedBroker, kind: int, name: str, edits: list[tuple[str, int, str | None]], code: ErrorCode
) -> None:
    asked.topic("a")

    answer = edit(asked, kind, name, *edits)

    assert answer.error_code == code
    assert answer.error_message
    assert asked.broker.cluster.image.overrides == {}


def test_a_brokers_settings_change_while_it_runs_and_its_own_beat_those_of_all(asked: AskedBroker) -> None:
    asked.topic("a")

    edit(asked, BROKER, "", ("log.retention.ms", SET, "6000"))
    for_all = asked.log("a").settings.retention_ms
    edit(asked, BROKER, "1", ("log.retention.ms", SET, "5000"))

    assert for_all == 6000
    assert asked.log("a").settings.retention_ms == 5000
    assert value_of(asked, BROKER, "1", "log.retention.ms") == ("5000", 2)
    assert value_of(asked, BROKER, "", "log.retention.ms") == ("6000", 3)


def test_both_kinds_of_broker_settings_come_back_after_a_restart(tmp_path: Path) -> None:
    with closing(AskedBroker(tmp_path)) as asked:
        edit(asked, BROKER, "", ("log.retention.ms", SET, "6000"))
        edit(asked, BROKER, "1", ("log.retention.bytes", SET, "7000"))
    with closing(AskedBroker(tmp_path)) as again:
        made = again.topic("a")

        settings = again.log(made.name).settings
        assert (settings.retention_ms, settings.retention_bytes) == (6000, 7000)


@pytest.mark.parametrize(("name", "source"), [("1", 2), ("", 3)])
def test_a_number_that_means_nothing_here_is_kept_and_told_with_a_warning(
    tmp_path: Path, name: str, source: int, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(AskedBroker(tmp_path)) as asked:
        assert edit(asked, BROKER, name, ("num.io.threads", SET, "5")).error_code == ErrorCode.NONE
        assert "num.io.threads was set to 5. Kept, without effect" in caplog.text

    with closing(AskedBroker(tmp_path)) as asked:
        [told] = describe(asked, BROKER, name, "num.io.threads").configs
        assert (told.value, told.config_source, told.read_only) == ("5", source, False)
        assert edit(asked, BROKER, name, ("num.io.threads", DELETE, None)).error_code == ErrorCode.NONE
        assert describe(asked, BROKER, name, "num.io.threads").configs == []


def test_a_subscription_to_clients_metrics_is_kept_and_told_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(AskedBroker(tmp_path)) as asked:
        assert edit(asked, CLIENT_METRICS, "s", ("interval.ms", SET, "1000")).error_code == ErrorCode.NONE
        assert "the subscription 's' is kept, but" in caplog.text

    with closing(AskedBroker(tmp_path)) as asked:
        assert value_of(asked, CLIENT_METRICS, "s", "interval.ms") == ("1000", 7)
        assert value_of(asked, CLIENT_METRICS, "s", "match") == ("", 5)


def test_replacing_drops_what_is_not_named(asked: AskedBroker) -> None:
    asked.topic("a", retention_ms="5", flush_ms="6")

    answer = replace(asked, TOPIC, "a", flush_ms="7", segment_ms="70000")

    assert answer.error_code == 0
    assert asked.broker.cluster.topic_overrides("a") == {"flush.ms": "7", "segment.ms": "70000"}


@pytest.mark.parametrize(
    ("kind", "name", "settings", "code"),
    [
        (TOPIC, "nope", {}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a", {"nope": "1"}, ErrorCode.INVALID_CONFIG),
        (TOPIC, "a", {"flush_ms": None}, ErrorCode.INVALID_REQUEST),
        (BROKER, "1", {"log_retention_ms": "x"}, ErrorCode.INVALID_REQUEST),
        (99, "x", {}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_wrong_replacement_changes_nothing(
    asked: AskedBroker, kind: int, name: str, settings: dict[str, str | None], code: ErrorCode
) -> None:
    asked.topic("a", retention_ms="5")

    answer = replace(asked, kind, name, **settings)

    assert answer.error_code == code
    assert asked.broker.cluster.topic_overrides("a") == {"retention.ms": "5"}


def test_a_resource_named_twice_is_refused_in_both_requests(asked: AskedBroker) -> None:
    asked.topic("a")
    edits = messages.IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=TOPIC, resource_name="a"
    )
    settings = messages.AlterConfigsRequestAlterConfigsResource(resource_type=TOPIC, resource_name="a")

    answers = [
        asked.ask(messages.IncrementalAlterConfigsRequest(resources=[edits, edits])),
        asked.ask(messages.AlterConfigsRequest(resources=[settings, settings])),
    ]

    assert [[response.error_code for response in answer.responses] for answer in answers] == [[42], [42]]


def test_a_resource_named_twice_is_described_once(asked: AskedBroker) -> None:
    resource = messages.DescribeConfigsResource(
        resource_type=BROKER, resource_name="1", configuration_keys=None
    )

    answer = asked.ask(messages.DescribeConfigsRequest(resources=[resource] * 1000))

    assert [each.resource_name for each in answer.results] == ["1"]
