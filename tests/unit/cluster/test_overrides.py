"""Decisions on settings: a whole resource or not at all."""

from __future__ import annotations

import pytest

from riverlog.cluster import (
    ALL_BROKERS,
    Edit,
    EditKind,
    OverrideEdits,
    Refusal,
    Resource,
    ResourceType,
    replacement,
)
from riverlog.cluster.changes import Change, apply
from riverlog.cluster.metadata_image import MetadataImage
from riverlog.cluster.overrides import decide_overrides
from riverlog.coordination import Create, Delete, Set
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.cluster.builders import Rules, image, topic

ORDERS = Resource(ResourceType.TOPIC, "orders")
BROKER = Resource(ResourceType.BROKER, "1")


def edited(base: MetadataImage, resource: Resource, *edits: Edit) -> Change | Refusal:
    return decide_overrides(base, [OverrideEdits(resource, edits)], Rules())[resource]


def with_orders(**overrides: str) -> MetadataImage:
    settings = {name.replace("_", "."): value for name, value in overrides.items()}
    return image(topic("orders"), overrides={ORDERS: settings} if settings else None)


def outcome_settings(base: MetadataImage, resource: Resource, outcome: Change | Refusal) -> dict[str, str]:
    assert isinstance(outcome, Change), outcome
    return dict(apply(base, [outcome]).after.overrides_of(resource))


def test_a_first_override_creates_the_node() -> None:
    base = with_orders()

    outcome = edited(base, ORDERS, Edit("retention.ms", EditKind.SET, "5"))

    assert outcome_settings(base, ORDERS, outcome) == {"retention.ms": "5"}
    assert isinstance(outcome, Change)
    assert [type(operation) for operation in outcome.operations] == [Create]


def test_a_further_override_sets_it_and_keeps_the_others() -> None:
    base = with_orders(retention_ms="5")

    outcome = edited(base, ORDERS, Edit("segment.ms", EditKind.SET, "70000"))

    assert outcome_settings(base, ORDERS, outcome) == {"retention.ms": "5", "segment.ms": "70000"}
    assert isinstance(outcome, Change)
    assert [type(operation) for operation in outcome.operations] == [Set]


def test_deleting_the_last_override_deletes_the_node() -> None:
    base = with_orders(retention_ms="5")

    outcome = edited(base, ORDERS, Edit("retention.ms", EditKind.DELETE, None))

    assert outcome_settings(base, ORDERS, outcome) == {}
    assert isinstance(outcome, Change)
    assert [type(operation) for operation in outcome.operations] == [Delete]


def test_an_edit_that_changes_nothing_writes_nothing() -> None:
    base = with_orders(retention_ms="5")

    outcome = edited(base, ORDERS, Edit("retention.ms", EditKind.SET, "5"))

    assert isinstance(outcome, Change)
    assert outcome.operations == ()


def test_lists_gain_and_lose_entries() -> None:
    base = with_orders()

    appended = edited(base, ORDERS, Edit("cleanup.policy", EditKind.APPEND, "compact"))
    subtracted = edited(base, ORDERS, Edit("cleanup.policy", EditKind.SUBTRACT, "delete"))

    assert outcome_settings(base, ORDERS, appended) == {"cleanup.policy": "delete,compact"}
    assert outcome_settings(base, ORDERS, subtracted) == {"cleanup.policy": ""}


@pytest.mark.parametrize(
    ("resource", "edits", "code"),
    [
        (ORDERS, [Edit("nope", EditKind.SET, "1")], ErrorCode.INVALID_CONFIG),
        (ORDERS, [Edit("retention.ms", EditKind.SET, "soon")], ErrorCode.INVALID_CONFIG),
        (ORDERS, [Edit("retention.ms", EditKind.APPEND, "1")], ErrorCode.INVALID_CONFIG),
        (ORDERS, [Edit("retention.ms", EditKind.SET, None)], ErrorCode.INVALID_REQUEST),
        (ORDERS, [Edit("retention.ms", EditKind.SET, "1")] * 2, ErrorCode.INVALID_REQUEST),
        (BROKER, [Edit("num.partitions", EditKind.SET, "1")], ErrorCode.INVALID_REQUEST),
        (Resource(ResourceType.TOPIC, "nope"), [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Resource(ResourceType.TOPIC, ""), [], ErrorCode.INVALID_REQUEST),
        (Resource(ResourceType.TOPIC, "a b"), [], ErrorCode.INVALID_TOPIC_EXCEPTION),
        (Resource(ResourceType.BROKER, "2"), [], ErrorCode.INVALID_REQUEST),
        (Resource(ResourceType.BROKER, "x"), [], ErrorCode.INVALID_REQUEST),
        (Resource(ResourceType.BROKER, "-1"), [], ErrorCode.INVALID_REQUEST),
    ],
)
def test_an_edit_that_cannot_be_is_refused_by_number(
    resource: Resource, edits: list[Edit], code: ErrorCode
) -> None:
    outcome = edited(with_orders(), resource, *edits)

    assert isinstance(outcome, Refusal)
    assert outcome.error_code == code


def test_one_wrong_edit_refuses_the_whole_resource_and_no_other() -> None:
    base = image(topic("orders"), topic("clicks", number=2))
    clicks = Resource(ResourceType.TOPIC, "clicks")
    good, wrong = Edit("retention.ms", EditKind.SET, "5"), Edit("nope", EditKind.SET, "1")

    outcomes = decide_overrides(
        base, [OverrideEdits(ORDERS, [good, wrong]), OverrideEdits(clicks, [good])], Rules()
    )

    assert isinstance(outcomes[ORDERS], Refusal)
    assert isinstance(outcomes[clicks], Change)


def test_a_resource_named_twice_is_refused() -> None:
    edits = OverrideEdits(ORDERS, [Edit("retention.ms", EditKind.SET, "5")])

    outcomes = decide_overrides(with_orders(), [edits, edits], Rules())

    assert [outcome for outcome in outcomes.values() if isinstance(outcome, Change)] == []


def test_brokers_have_settings_together_and_each() -> None:
    base = image()
    edit = Edit("log.retention.ms", EditKind.SET, "5")

    of_all, of_one = edited(base, ALL_BROKERS, edit), edited(base, BROKER, edit)

    assert isinstance(of_all, Change)
    assert isinstance(of_one, Change)
    assert {operation.path for operation in of_all.operations + of_one.operations} == {
        "/overrides/broker/%default",
        "/overrides/broker/1",
    }


def test_a_replacement_drops_what_it_does_not_name() -> None:
    base = with_orders(retention_ms="5", segment_ms="70000")
    request = replacement(base, ORDERS, [("segment.ms", "80000"), ("flush.ms", "9")])

    outcome = decide_overrides(base, [request], Rules())[ORDERS]

    assert outcome_settings(base, ORDERS, outcome) == {"segment.ms": "80000", "flush.ms": "9"}


def test_an_empty_replacement_drops_everything() -> None:
    base = with_orders(retention_ms="5")

    outcome = decide_overrides(base, [replacement(base, ORDERS, [])], Rules())[ORDERS]

    assert outcome_settings(base, ORDERS, outcome) == {}
