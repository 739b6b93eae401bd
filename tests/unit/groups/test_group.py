"""One group's own rules: its leader, its static names, what it has in common."""

from __future__ import annotations

from riverlog.groups.group import GENERATION_MAX, Group, GroupState
from riverlog.groups.member import Client, Member, Protocols
from riverlog.protocol import messages

RANGE: Protocols = (("range", b"r"),)
BOTH: Protocols = (("range", b"r"), ("sticky", b"s"))


def member(
    group: Group, name: str, *, instance_id: str | None = None, protocols: Protocols = RANGE
) -> Member:
    return Member(
        group,
        name,
        instance_id,
        Client("c", "/h"),
        session_timeout_ms=10,
        rebalance_timeout_ms=len(name),
        protocols=protocols,
    )


def group_of(*names: str) -> Group:
    group = Group("g")
    group.protocol_type = "consumer"
    for name in names:
        group.add(member(group, name))
    group.state = GroupState.STABLE
    return group


def test_the_first_member_leads_and_after_it_the_next() -> None:
    group = group_of("ann", "bob", "carl")

    first = group.leader_id
    group.remove("ann")
    second = group.leader_id
    for name in ("carl", "bob"):
        group.remove(name)

    assert (first, second, group.leader_id) == ("ann", "bob", None)


def test_the_leader_is_one_of_those_who_joined() -> None:
    group = group_of("ann", "bob", "carl")
    nobody = group.elect_joined_leader()
    group.joining["carl"] = "token"

    assert not nobody
    assert group.elect_joined_leader()
    assert group.leader_id == "carl"


def test_the_rebalance_timeout_is_the_longest() -> None:
    assert group_of("a", "abc", "ab").rebalance_timeout_ms == 3
    assert group_of().rebalance_timeout_ms == 0


def test_a_protocol_is_common_only_while_all_members_have_it() -> None:
    group = Group("g")
    group.protocol_type = "consumer"
    group.state = GroupState.STABLE
    first = member(group, "ann", protocols=BOTH)
    group.add(first)
    group.add(member(group, "bob"))

    before = group.can_take("consumer", (("sticky", b""),))
    group.remove("bob")
    after = group.can_take("consumer", (("sticky", b""),))
    group.change_protocols(first, RANGE)

    assert not before
    assert after
    assert not group.can_take("consumer", (("sticky", b""),))


def test_a_new_incarnation_inherits_leadership() -> None:
    group = Group("g")
    group.add(member(group, "i-1", instance_id="i"))

    old = group.replace("i-1", member(group, "i-2", instance_id="i"))

    assert (old.member_id, group.leader_id, group.static_ids) == ("i-1", "i-2", {"i": "i-2"})


def test_generations_wrap_where_the_protocol_s_numbers_end() -> None:
    group = group_of("ann")
    group.generation = GENERATION_MAX

    group.begin_generation()

    assert group.generation == 0


def test_who_is_not_in_the_record_is_gone_and_who_is_missing_is_made_from_it() -> None:
    group = group_of("ann", "bob")
    ann = group.members["ann"]
    stored = [
        messages.MemberMetadata(member_id="ann", assignment=b"1"),
        messages.MemberMetadata(member_id="carl", group_instance_id="i", subscription=b"sub"),
    ]
    value = messages.GroupMetadataValue(
        protocol_type="consumer", generation=9, protocol="range", leader="carl", members=stored
    )

    group.replay(value)

    assert list(group.members) == ["ann", "carl"]
    assert group.members["ann"] is ann
    assert ann.assignment == b"1"
    assert group.members["carl"].subscription("range") == b"sub"
    assert (group.leader_id, group.generation, group.state) == ("carl", 9, GroupState.STABLE)
    assert group.static_ids == {"i": "carl"}


def test_a_record_without_members_empties_the_group() -> None:
    group = group_of("ann")

    group.replay(messages.GroupMetadataValue(protocol_type="consumer", generation=2))

    assert (group.state, group.members, group.leader_id) == (GroupState.EMPTY, {}, None)
    assert group.protocol_type == "consumer"
