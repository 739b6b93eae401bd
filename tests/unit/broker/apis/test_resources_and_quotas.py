"""ListConfigResources, and limits of clients."""

from __future__ import annotations

import pytest

from riverlog.broker.apis.list_config_resources import resources
from riverlog.cluster import Resource, ResourceType
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker
from tests.unit.cluster.builders import image, topic


def listed(asked: AskedBroker, *types: int, version: int = 1) -> list[tuple[int, str]]:
    answer = asked.ask(messages.ListConfigResourcesRequest(resource_types=list(types)), version)
    assert answer.error_code == 0
    return sorted((each.resource_type, each.resource_name) for each in answer.config_resources)


def test_resources_are_listed_by_type_and_all_where_none_is_named(asked: AskedBroker) -> None:
    asked.topic("b")
    asked.topic("a")

    assert listed(asked) == [(2, "a"), (2, "b"), (4, "1")]
    assert listed(asked, 2) == [(2, "a"), (2, "b")]
    assert listed(asked, 4, 32) == [(4, "1")]


def test_version_0_lists_subscriptions_of_which_there_are_none(asked: AskedBroker) -> None:
    asked.topic("a")

    assert listed(asked, version=0) == []


def test_a_type_that_is_none_is_refused(asked: AskedBroker) -> None:
    answer = asked.ask(messages.ListConfigResourcesRequest(resource_types=[2, 99]))

    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])


def test_a_topic_with_settings_is_listed_once_and_a_group_where_it_has_settings() -> None:
    group, orders = Resource(ResourceType.GROUP, "g"), Resource(ResourceType.TOPIC, "orders")
    settings = {group: {"x": "1"}, orders: {"y": "2"}}

    found = resources(image(topic("orders"), overrides=settings), list(ResourceType))

    assert sorted(found) == [orders, Resource(ResourceType.BROKER, "1"), group]


def component(entity_type: str, match_type: int = 1, match: str | None = None) -> messages.ComponentData:
    return messages.ComponentData(entity_type=entity_type, match_type=match_type, match=match)


@pytest.mark.parametrize("version", [0, 1])
def test_limits_are_told_as_they_were_set_and_a_warning_says_what_they_do_not_do(
    asked: AskedBroker, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    entity = [messages.AlterClientQuotasRequestEntityData(entity_type="user", entity_name="alice")]
    ops = [messages.OpData(key="producer_byte_rate", value=5.0, remove=False)]
    entry = messages.AlterClientQuotasRequestEntryData(entity=entity, ops=ops)

    altered = asked.ask(messages.AlterClientQuotasRequest(entries=[entry], validate_only=False), version)
    of_alice = messages.DescribeClientQuotasRequest(components=[component("user", 0, "alice")])
    told = asked.ask(of_alice, version)

    assert [(each.error_code, each.error_message) for each in altered.entries] == [(0, None)]
    assert told.error_code == 0
    assert [(each.entity[0].entity_name, each.values[0].value) for each in told.entries] == [("alice", 5.0)]
    assert "not slowed down yet" in caplog.text


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([component("")], ErrorCode.INVALID_REQUEST),
        ([component("user"), component("user")], ErrorCode.INVALID_REQUEST),
        ([component("nope")], ErrorCode.UNSUPPORTED_VERSION),
        ([component("user", 9)], ErrorCode.INVALID_REQUEST),
        ([component("user", 0, None)], ErrorCode.INVALID_REQUEST),
        ([component("user", 1, "alice")], ErrorCode.INVALID_REQUEST),
        ([component("user"), component("ip")], ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_filter_that_means_nothing_is_refused(
    asked: AskedBroker, components: list[messages.ComponentData], code: ErrorCode
) -> None:
    answer = asked.ask(messages.DescribeClientQuotasRequest(components=components))

    assert (answer.error_code, answer.entries) == (code, None)
