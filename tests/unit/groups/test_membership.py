"""Who may join, sync, send heartbeats and leave, and what each is told."""

from __future__ import annotations

import pytest

from riverlog.groups import membership
from riverlog.groups.group import GroupState
from riverlog.protocol.error_codes import ErrorCode

from .world import World

# Joining


def test_the_first_join_of_a_dynamic_member_gives_it_an_id() -> None:
    world = World()

    first = world.answers[world.join("ann", version=4)]
    members_then = list(world.group().members)
    second = world.join("ann", version=4)
    world.advance(0)

    assert (first.error_code, first.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "client-ann")
    assert members_then == []
    assert (world.error(second), world.members()) == (0, ["ann"])


def test_an_id_that_is_not_fetched_is_forgotten_and_the_group_with_it() -> None:
    world = World()
    world.join("ann", version=4, session_timeout_ms=6000)

    world.advance(5999)
    is_there = "g" in world.machine.groups
    world.advance(1)

    assert is_there
    assert "g" not in world.machine.groups
    assert world.error(world.join("ann", version=4)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_joins_in_one_step() -> None:
    world = World()

    token = world.join("static-a/1", version=9)
    world.advance(0)

    assert world.answers[token].member_id == "static-a-static-a/1"


@pytest.mark.parametrize(
    ("session_timeout_ms", "error_code"),
    [
        (5999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (6000, ErrorCode.NONE),
        (1_800_000, ErrorCode.NONE),
        (1_800_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_sessions_have_limits(session_timeout_ms: int, error_code: ErrorCode) -> None:
    world = World()

    token = world.join("ann", session_timeout_ms=session_timeout_ms)
    world.advance(0)

    assert world.error(token) == error_code


def test_a_group_has_a_name() -> None:
    world = World()
    assert world.error(world.join("ann", group="")) == ErrorCode.INVALID_GROUP_ID
    assert world.heartbeat("ann", group="") == ErrorCode.INVALID_GROUP_ID


def test_nobody_joins_a_missing_group_with_an_id() -> None:
    world = World()
    world.ids["ann"] = "from-before"

    assert world.error(world.join("ann")) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.machine.groups == {}


def test_a_refused_join_leaves_no_group_behind() -> None:
    world = World()

    token = world.join("ann", protocol_type="")

    assert world.error(token) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.machine.groups == {}


@pytest.mark.parametrize(
    ("protocols", "protocol_type"), [({"sticky": b""}, "consumer"), ({"range": b""}, "connect")]
)
def test_members_have_a_type_and_a_protocol_in_common(
    protocols: dict[str, bytes], protocol_type: str
) -> None:
    world = World()
    world.settle("ann")

    token = world.join("bob", protocols=protocols, protocol_type=protocol_type)

    assert world.error(token) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.group().state is GroupState.STABLE


def test_an_empty_group_may_become_one_of_another_type() -> None:
    world = World()
    world.settle("ann")
    world.leave("ann")

    world.settle("bob", protocol_type="connect", protocols={"sessioned": b""})

    assert world.group().protocol_type == "connect"


def test_a_full_group_takes_nobody_else() -> None:
    world = World(group_max_size=2)
    world.settle("ann", "bob")

    token = world.join("carl", version=4)

    assert world.error(token) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.members() == ["ann", "bob"]


def test_in_a_rebalance_the_last_to_join_are_turned_away_from_a_group_too_large() -> None:
    world = World()
    world.settle("ann", "bob", "carl")
    world.settings = world.settings.__class__(group_initial_rebalance_delay_ms=0, group_max_size=2)
    world.machine.change_settings(world.settings)

    tokens = [world.join(name) for name in ("ann", "bob", "carl")]

    assert [world.error(token) for token in tokens] == [0, 0, ErrorCode.GROUP_MAX_SIZE_REACHED]
    assert world.members() == ["ann", "bob"]


def test_ids_given_out_and_not_fetched_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "PENDING_MEMBERS_MAX", 2)
    world = World()

    errors = [world.error(world.join(name, version=4)) for name in ("ann", "bob", "carl")]

    assert errors == [ErrorCode.MEMBER_ID_REQUIRED] * 2 + [ErrorCode.GROUP_MAX_SIZE_REACHED]


def test_a_pending_id_cannot_be_used_by_a_static_member() -> None:
    world = World()
    world.join("ann", version=4)
    world.ids["static-x/1"] = world.ids["ann"]

    assert world.error(world.join("static-x/1")) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_follower_whose_join_changes_nothing_is_told_the_present_generation() -> None:
    world = World()
    world.settle("ann", "bob")

    again = world.answers[world.join("bob")]

    assert (again.generation_id, again.leader, again.members) == (1, "client-ann", [])
    assert world.group().state is GroupState.STABLE


def test_a_leader_that_lost_its_answer_gets_it_again() -> None:
    world = World()
    first = world.join("ann")
    world.advance(0)

    again = world.join("ann")

    assert world.answers[again] == world.answers[first]
    assert world.group().state is GroupState.COMPLETING


def test_a_second_join_of_a_member_takes_the_first_one_s_place() -> None:
    world = World()
    world.settle("ann", "bob")

    first = world.join("ann")
    second = world.join("ann")
    world.join("bob")

    assert world.error(first) == ErrorCode.REBALANCE_IN_PROGRESS
    assert (world.error(second), world.group().generation) == (0, 2)


def test_the_newest_timeouts_of_a_member_count() -> None:
    world = World()
    world.settle("ann", session_timeout_ms=30_000)
    world.settle("ann", session_timeout_ms=6000)

    world.advance(6000)

    assert world.group().state is GroupState.EMPTY


def test_version_0_has_one_timeout_for_everything() -> None:
    world = World()

    world.settle("ann", version=0, session_timeout_ms=7000, rebalance_timeout_ms=-1)

    assert world.group().rebalance_timeout_ms == 7000


# Static members


def test_a_static_member_comes_back_to_a_stable_group_without_a_rebalance() -> None:
    world = World()
    world.settle("ann", "static-a/1")

    joined = world.answers[world.join("static-a/2")]
    synced = world.answers[world.sync("static-a/2")]

    assert (joined.generation_id, joined.leader) == (1, "client-ann")
    assert synced.assignment == b"static-a/1"
    assert world.group().state is GroupState.STABLE
    assert world.members() == ["ann", "static-a/2"]


def test_the_former_incarnation_is_fenced_everywhere() -> None:
    world = World()
    world.settle("ann", "static-a/1")
    world.join("static-a/2")

    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert world.heartbeat("static-a/1") == fenced
    assert world.error(world.sync("static-a/1")) == fenced
    assert world.error(world.join("static-a/1")) == fenced
    assert world.commit(name="static-a/1") == fenced
    assert world.leave("static-a/1") == [fenced]


def test_the_new_incarnation_s_session_begins_with_its_join() -> None:
    world = World()
    world.settle("static-a/1", session_timeout_ms=10_000)
    world.advance(9_000)

    world.join("static-a/2", session_timeout_ms=10_000)
    world.advance(9_999)
    is_there = world.members()
    world.advance(1)

    assert is_there == ["static-a/2"]
    assert world.group().state is GroupState.EMPTY


def test_a_static_leader_that_comes_back_must_not_assign() -> None:
    world = World()
    world.settle("static-a/1", "bob")

    newest = world.answers[world.join("static-a/2", version=9)]
    older = world.answers[world.join("static-a/3", version=8)]

    assert (newest.leader, newest.skip_assignment) == (world.ids["static-a/2"], True)
    assert {member.member_id for member in newest.members} == {world.ids["static-a/2"], "client-bob"}
    assert (older.leader, older.skip_assignment, older.members) == (world.ids["static-a/2"], False, [])
    assert world.group().leader_id == world.ids["static-a/3"]


def test_a_static_member_that_comes_back_with_another_favourite_makes_the_group_rebalance() -> None:
    world = World()
    both = {"range": b"", "sticky": b""}
    world.settle("static-a/1", protocols=both)

    world.join("static-a/2", protocols={"sticky": b""})

    assert world.group().state is GroupState.COMPLETING
    assert (world.group().generation, world.group().protocol_name) == (2, "sticky")


def test_what_the_log_refuses_of_a_static_member_s_return_has_not_happened() -> None:
    world = World()
    world.settle("ann", "static-a/1")

    world.refusal = ErrorCode.KAFKA_STORAGE_ERROR
    refused = world.error(world.join("static-a/2"))
    old_one = world.heartbeat("static-a/1")
    world.refusal = ErrorCode.NONE
    accepted = world.error(world.join("static-a/3"))

    assert refused == ErrorCode.NOT_COORDINATOR
    assert old_one == ErrorCode.NONE
    assert accepted == ErrorCode.NONE
    assert world.members() == ["ann", "static-a/3"]


def test_a_duplicate_in_a_rebalance_fences_the_one_that_waits_for_the_generation() -> None:
    world = World()
    world.settle("ann")

    first = world.join("static-a/1")
    second = world.join("static-a/2")
    world.join("ann")

    assert world.error(first) == ErrorCode.FENCED_INSTANCE_ID
    assert world.error(second) == 0


def test_a_duplicate_fences_the_one_that_waits_for_its_assignment() -> None:
    world = World()
    world.join("ann")
    world.join("static-a/1")
    world.advance(0)

    waiting = world.sync("static-a/1")
    world.join("static-a/2")

    assert world.error(waiting) == ErrorCode.FENCED_INSTANCE_ID
    assert world.group().state is GroupState.PREPARING


# Syncing


def test_everybody_gets_what_the_leader_says() -> None:
    world = World()
    for name in ("ann", "bob", "carl"):
        world.join(name)
    world.advance(0)

    bob = world.sync("bob")
    ann = world.sync("ann", {"ann": b"1", "bob": b"2"})
    carl = world.sync("carl")

    assert [world.answers[token].assignment for token in (ann, bob, carl)] == [b"1", b"2", b""]
    assert world.answers[bob].protocol_name == "range"


def test_a_follower_waits_for_the_leader() -> None:
    world = World()
    world.join("ann")
    world.join("bob")
    world.advance(0)

    token = world.sync("bob")

    assert world.error(token) is None
    assert world.group().state is GroupState.COMPLETING


def test_what_a_follower_assigns_is_not_heard() -> None:
    world = World()
    world.join("ann")
    world.join("bob")
    world.advance(0)

    bob = world.sync("bob", {"bob": b"everything"})
    world.sync("ann", {"ann": b"1", "bob": b"2"})

    assert world.answers[bob].assignment == b"2"


def test_a_second_sync_of_a_member_takes_the_first_one_s_place() -> None:
    world = World()
    world.join("ann")
    world.join("bob")
    world.advance(0)

    first, second = world.sync("bob"), world.sync("bob")
    world.sync("ann", {"bob": b"2"})

    assert world.error(first) == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.answers[second].assignment == b"2"


def test_a_sync_of_another_generation_or_protocol_is_refused() -> None:
    world = World()
    world.settle("ann")

    assert world.error(world.sync("ann", generation=0)) == ErrorCode.ILLEGAL_GENERATION
    assert world.error(world.sync("ann", protocol="sticky")) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.error(world.sync("stranger")) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_sync_in_a_rebalance_says_so() -> None:
    world = World()
    world.settle("ann")
    world.join("bob")

    assert world.error(world.sync("ann")) == ErrorCode.REBALANCE_IN_PROGRESS


def test_what_the_log_refuses_is_assigned_to_nobody() -> None:
    world = World()
    world.join("ann")
    world.join("bob")
    world.advance(0)

    bob = world.sync("bob")
    world.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    ann = world.sync("ann", {"ann": b"1", "bob": b"2"})

    assert [world.error(token) for token in (ann, bob)] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert world.group().state is GroupState.PREPARING
    assert world.group().stored is None


def test_after_a_refusal_of_the_log_the_group_gets_there_in_the_next_generation() -> None:
    world = World()
    world.join("ann")
    world.advance(0)
    world.refusal = ErrorCode.KAFKA_STORAGE_ERROR
    world.sync("ann")
    world.refusal = ErrorCode.NONE

    world.settle("ann")

    assert (world.group().state, world.group().generation) == (GroupState.STABLE, 2)


# Heartbeats


def test_a_heartbeat_keeps_a_member_in() -> None:
    world = World()
    world.settle("ann", session_timeout_ms=10_000)

    for _ in range(10):
        world.advance(9_999)
        assert world.heartbeat("ann") == ErrorCode.NONE
    world.advance(10_000)

    assert world.heartbeat("ann") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_in_a_rebalance_says_so_and_keeps_the_member_in() -> None:
    world = World()
    world.settle("ann", session_timeout_ms=10_000)
    world.join("bob")

    world.advance(9_999)
    answer = world.heartbeat("ann")
    world.advance(9_999)

    assert answer == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.members() == ["ann", "bob"]


def test_a_heartbeat_of_another_generation_keeps_nobody_in() -> None:
    world = World()
    world.settle("ann", session_timeout_ms=10_000)

    world.advance(9_999)
    answer = world.heartbeat("ann", generation=0)
    world.advance(1)

    assert answer == ErrorCode.ILLEGAL_GENERATION
    assert world.group().state is GroupState.EMPTY


# Leaving


def test_each_leaving_member_has_an_answer_of_its_own() -> None:
    world = World()
    world.settle("ann", "bob")
    world.join("carl", version=4)

    assert world.leave("ann", "stranger", "carl") == [0, ErrorCode.UNKNOWN_MEMBER_ID, 0]
    assert world.members() == ["bob"]
    assert world.group().state is GroupState.PREPARING


def test_a_static_member_can_be_removed_by_its_name_alone() -> None:
    world = World()
    world.settle("ann", "static-a/1")
    world.ids["static-a/x"] = ""

    assert world.leave("static-a/x") == [0]
    assert world.members() == ["ann"]


def test_who_leaves_while_it_waits_is_answered() -> None:
    world = World()
    world.settle("ann")

    joining = world.join("bob")
    world.leave("bob")
    world.join("ann")

    assert world.error(joining) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.members() == ["ann"]


def test_the_last_to_leave_leaves_an_empty_generation_behind() -> None:
    world = World()
    world.settle("ann")

    world.leave("ann")

    stored = world.group().stored
    assert stored is not None
    assert (stored.generation, stored.members, stored.protocol_type) == (2, [], "consumer")
    assert world.group().state is GroupState.EMPTY


def test_nobody_leaves_a_missing_group() -> None:
    assert World().leave("ann", "static-a/1") == [ErrorCode.UNKNOWN_MEMBER_ID] * 2


def test_a_pending_member_that_leaves_holds_nobody_up() -> None:
    world = World()
    world.settle("ann")
    world.join("bob", version=4)
    again = world.join("ann")
    waits = world.error(again) is None

    world.leave("bob")

    assert waits
    assert world.error(again) == 0
