"""The machine as a whole: what a restart finds, what administrators see, how it ends."""

from __future__ import annotations

import pytest

from riverlog.config import GroupSettings
from riverlog.groups.deadlines import NEVER
from riverlog.groups.group import GroupState
from riverlog.groups.machine import GroupMachine
from riverlog.groups.records import GroupMetadata
from riverlog.groups.surroundings import Surroundings
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

from .world import World

# Replay


def test_a_restart_finds_generation_members_assignments_and_offsets() -> None:
    world = World()
    world.settle("ann", "static-a/1", protocols={"range": b"r", "sticky": b"s"})
    world.commit(5, name="ann")

    after = world.reloaded()

    assert after.stored() == world.stored()
    assert after.committed() == {("t", 0): 5}
    assert after.heartbeat("ann") == 0
    assert after.answers[after.sync("static-a/1")].assignment == b"static-a/1"
    assert after.commit(6, name="ann") == 0


def test_a_restart_gives_members_a_whole_session() -> None:
    world = World()
    world.settle("ann", session_timeout_ms=10_000)
    world.advance(9_000)

    after = world.reloaded()
    after.advance(9_999)
    is_there = after.members()
    after.advance(1)

    assert is_there == ["ann"]
    assert after.group().state is GroupState.EMPTY


def test_a_restart_forgets_a_rebalance_and_the_members_come_back() -> None:
    world = World()
    world.settle("ann")
    world.join("bob")
    world.join("ann")

    after = world.reloaded()
    told = after.heartbeat("ann", generation=2), after.heartbeat("bob", generation=2)
    del after.ids["bob"]
    bob = after.join("bob")
    after.join("ann")
    after.assign("ann", "bob")

    assert told == (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)
    assert after.error(bob) == 0


def test_a_static_member_s_return_survives_a_restart() -> None:
    world = World()
    world.settle("ann", "static-a/1")
    world.join("static-a/2")

    after = world.reloaded()

    assert after.heartbeat("static-a/2") == 0
    assert after.heartbeat("static-a/1") == ErrorCode.FENCED_INSTANCE_ID


def test_a_group_loaded_above_the_size_limit_has_to_shrink() -> None:
    world = World()
    world.settle("ann", "bob", "carl")
    world.settings = GroupSettings(group_initial_rebalance_delay_ms=0, group_max_size=2)

    after = world.reloaded()

    assert after.group().state is GroupState.PREPARING


def test_an_old_generation_without_all_of_today_s_fields_is_taken_in() -> None:
    machine = GroupMachine(Surroundings(GroupSettings()))
    member = messages.MemberMetadata(member_id="a", session_timeout=7000, rebalance_timeout=-1)
    value = messages.GroupMetadataValue(
        protocol_type="consumer", generation=3, protocol="range", leader="gone", members=[member]
    )

    machine.replay(GroupMetadata("g", value), 0)

    group = machine.groups["g"]
    assert (group.rebalance_timeout_ms, group.leader_id) == (7000, "a")


# Administration


def test_a_stable_group_is_described_in_full() -> None:
    world = World()
    world.settle("ann", protocols={"range": b"mine"})

    described = world.machine.describe("g")

    assert described is not None
    (member,) = described.members
    assert (described.group_state, described.protocol_type, described.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (b"mine", b"ann")


def test_a_rebalancing_group_is_described_without_what_is_about_to_change() -> None:
    world = World()
    world.join("ann")

    described = world.machine.describe("g")

    assert described is not None
    assert (described.group_state, described.protocol_data) == ("PreparingRebalance", "")
    assert [member.member_metadata for member in described.members] == [b""]


def test_a_missing_group_cannot_be_described() -> None:
    assert GroupMachine(Surroundings(GroupSettings())).describe("nobody") is None


@pytest.mark.parametrize(
    ("states", "types", "listed"),
    [
        ((), (), ["empty", "stable"]),
        (("Stable",), (), ["stable"]),
        (("STABLE", "empty"), ("CLASSIC",), ["empty", "stable"]),
        (("Dead",), (), []),
        ((), ("consumer",), []),
        ((), ("consumer", "classic"), ["empty", "stable"]),
    ],
)
def test_groups_are_listed_by_state_and_type(
    states: tuple[str, ...], types: tuple[str, ...], listed: list[str]
) -> None:
    world = World()
    world.commit(group="empty")
    world.settle("ann", group="stable")

    groups = world.machine.list_groups(states, types)

    assert sorted(group.group_id for group in groups) == listed


def delete(world: World, *groups: str) -> dict[str, int]:
    world.answers.pop("delete", None)
    world.carry_out(world.machine.delete_groups(groups, "delete", world.now))
    return dict(world.answers["delete"].error_codes)


def test_only_empty_groups_are_deleted() -> None:
    world = World()
    world.settle("ann")
    world.commit(5, name="ann")
    world.commit(5, group="simple")

    deleted = delete(world, "g", "simple", "nobody", "simple")

    assert deleted == {
        "g": ErrorCode.NON_EMPTY_GROUP,
        "simple": ErrorCode.NONE,
        "nobody": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert list(world.machine.groups) == ["g"]
    assert world.committed("simple") == {}


def test_a_deleted_group_stays_deleted_after_a_restart() -> None:
    world = World()
    world.settle("ann")
    world.commit(5, name="ann")
    world.leave("ann")

    delete(world, "g")
    after = world.reloaded()

    assert after.machine.groups == {}
    assert after.committed() == {}


def test_a_deleted_group_forgets_who_was_about_to_join() -> None:
    world = World()
    world.commit()
    world.join("ann", version=4, session_timeout_ms=6000)

    delete(world, "g")
    world.advance(10_000)

    assert world.machine.next_deadline_ms == NEVER
    assert world.error(world.join("ann", version=4)) == ErrorCode.UNKNOWN_MEMBER_ID


# The end


def test_who_waits_when_serving_ends_is_told_to_look_elsewhere() -> None:
    world = World()
    world.settle("ann", group="h")
    joining = world.join("bob", group="h")
    world.join("carl")
    world.join("dora")
    world.advance(0)
    syncing = world.sync("dora")

    world.carry_out(world.machine.unload(ErrorCode.NOT_COORDINATOR, world.now))

    assert [world.error(joining), world.error(syncing)] == [ErrorCode.NOT_COORDINATOR] * 2


def test_changed_settings_count_at_once() -> None:
    world = World()

    world.machine.change_settings(GroupSettings(group_min_session_timeout_ms=20_000))

    assert world.error(world.join("ann", session_timeout_ms=10_000)) == ErrorCode.INVALID_SESSION_TIMEOUT


def test_those_who_watch_see_groups_and_commits() -> None:
    world = World()
    world.settle("ann", "bert")
    world.commit(5, name="ann")

    (group,) = world.machine.overview()
    (place,) = world.machine.committed()

    assert (group.group_id, group.kind, group.state) == ("g", "classic", "Stable")
    assert set(group.member_ids) == {world.ids["ann"], world.ids["bert"]}
    assert place == ("g", "t", 0, 5)
    assert list(world.machine.committed_for("t", 0)) == [place]
    assert list(world.machine.committed_for("t", 1)) == []


def test_what_is_watched_may_change_meanwhile() -> None:
    world = World()
    world.settle("ann")
    world.commit(5, name="ann")
    places = world.machine.committed()
    assert next(places).offset == 5

    world.commit(6, name="ann")

    assert list(places) == []
    assert [place.offset for place in world.machine.committed()] == [6]
