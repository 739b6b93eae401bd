"""Groups of both kinds as administrators are told of them."""

from __future__ import annotations

from .world import LEAVES, ConsumerWorld


def test_a_group_is_described_with_what_members_have_and_are_meant_to_have() -> None:
    world = ConsumerWorld()
    world.gather("ann")
    world.enter("bob")
    world.advance(1000)
    world.beat("ann")

    told = world.machine.describe_consumer_group("g")

    assert told is not None
    assert (told.group_state, told.group_epoch, told.assignment_epoch) == ("Reconciling", 3, 3)
    assert told.assignor_name == "uniform"
    ann, bob = told.members
    assert (ann.member_id, ann.member_epoch, ann.client_id, ann.member_type) == ("ann", 2, "client", 1)
    (has,) = ann.assignment.topic_partitions
    assert (has.topic_name, has.partitions) == ("t", [0, 1, 2, 3]), "what it gives up is still its own"
    (target,) = ann.target_assignment.topic_partitions
    assert target.partitions == [0, 1]
    assert bob.assignment.topic_partitions == []


def test_members_of_the_classic_protocol_are_told_apart() -> None:
    world = ConsumerWorld()
    world.classic_settle("old", t=range(4))
    world.enter("new", server_assignor="range")

    told = world.machine.describe_consumer_group("g")

    assert told is not None
    assert {member.client_id: member.member_type for member in told.members} == {"old": 0, "client": 1}
    assert told.assignor_name == "range"


def test_topics_that_are_gone_are_not_named() -> None:
    world = ConsumerWorld()
    world.gather("ann")
    world.topics.delete("t")

    told = world.machine.describe_consumer_group("g")

    assert told is not None
    assert told.members[0].assignment.topic_partitions == []


def test_groups_are_listed_by_kind_and_state() -> None:
    world = ConsumerWorld()
    world.gather("ann")
    world.commit(5, group="simple")

    def listed(states: set[str], types: set[str]) -> list[tuple[str, str, str]]:
        return [
            (group.group_id, group.group_type, group.group_state)
            for group in world.machine.list_groups(states, types)
        ]

    assert listed(set(), {"Consumer"}) == [("g", "consumer", "Stable")]
    assert listed({"stable", "assigning"}, set()) == [("g", "consumer", "Stable")]
    assert listed(set(), {"classic"}) == [("simple", "classic", "Empty")]
    world.beat("ann", LEAVES)
    assert [each.state for each in world.machine.overview()] == ["Empty", "Empty"]


def test_a_group_of_one_kind_is_none_of_the_other() -> None:
    world = ConsumerWorld()
    world.gather("ann")
    world.commit(5, group="simple")

    assert world.machine.describe("g") is None
    assert world.machine.describe_consumer_group("simple") is None
