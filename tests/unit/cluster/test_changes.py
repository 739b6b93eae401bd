"""Changes are applied to images and packed into commits."""

from __future__ import annotations

from riverlog.cluster import Resource, ResourceType
from riverlog.cluster.changes import Change, apply, pack
from riverlog.coordination import TRANSACTION_BYTES_MAX, Create, operation_bytes
from tests.unit.cluster.builders import image, topic, topic_id

ORDERS = Resource(ResourceType.TOPIC, "orders")


def test_a_delta_tells_what_became_of_each_topic() -> None:
    before = image(topic("grown", 1, number=1), topic("gone", number=2), topic("orders", number=3))
    grown, made = topic("grown", 2, number=1), topic("made", number=4)

    delta = apply(
        before,
        [
            Change((), updated=grown),
            Change((), deleted=before.topics["gone"]),
            Change((), created=made, overrides=(Resource(ResourceType.TOPIC, "made"), {"flush.ms": "1"})),
            Change((), overrides=(ORDERS, {"retention.ms": "5"})),
        ],
    )

    assert delta.before is before
    assert (delta.created, delta.updated, delta.deleted) == ((made,), (grown,), (before.topics["gone"],))
    assert delta.reconfigured == (ORDERS,)
    assert delta.after.topics.keys() == {"grown", "orders", "made"}
    assert delta.after.topic(topic_id(1)) == grown
    assert delta.after.topic_overrides("made") == {"flush.ms": "1"}
    assert delta.after.topic_overrides("orders") == {"retention.ms": "5"}


def test_changes_without_effect_keep_the_image() -> None:
    before = image(topic("a"))

    assert apply(before, [Change(())]).after is before


def test_packing_keeps_the_order_and_never_exceeds_or_splits() -> None:
    size = TRANSACTION_BYTES_MAX // 5
    changes = [
        Change((Create(f"/{number}/a", bytes(size)), Create(f"/{number}/b", bytes(size))))
        for number in range(7)
    ]

    groups = list(pack(changes))

    assert [change for group in groups for change in group] == changes
    sizes = [sum(operation_bytes(each) for change in group for each in change.operations) for group in groups]
    assert max(sizes) <= TRANSACTION_BYTES_MAX
    assert [len(group) for group in groups] == [2, 2, 2, 1]
