"""Groups that pass from one protocol to the other, and members of the classic one in the meantime."""

from __future__ import annotations

import pytest

from riverlog.protocol.error_codes import ErrorCode

from .world import (
    INTERVAL_MS,
    LEAVES,
    REVOCATION_MS,
    SESSION_MS,
    ConsumerWorld,
    assignment,
    read_assignment,
)


@pytest.fixture
def world() -> ConsumerWorld:
    return ConsumerWorld()


def step(world: ConsumerWorld, name: str, *, owned: set[int]) -> tuple[int, set[int]]:
    """A member of the classic protocol joins and syncs; gives its generation and partitions."""
    answer = world.answers[world.classic_join(name, owned={"t": owned})]
    assert not answer.error_code
    synced = world.classic_sync(name, answer.generation_id)
    assert not synced.error_code
    return answer.generation_id, read_assignment(synced.assignment).get("t", set())


# Up


def test_a_group_goes_on_in_the_consumer_protocol_while_its_members_are_live(world: ConsumerWorld) -> None:
    generation = world.classic_settle("old", t=range(4))

    assert not world.enter("new").error_code

    assert not world.machine.groups
    group = world.consumer_group()
    assert set(group.members) == {world.ids["old"], "new"}
    assert world.has(world.ids["old"]) == {"t": {0, 1, 2, 3}}
    assert group.standing(world.ids["old"]).epoch == generation


def test_an_old_member_gives_up_without_stopping_and_the_new_one_takes_over(world: ConsumerWorld) -> None:
    generation = world.classic_settle("old", t=range(4))
    world.enter("new")
    assert world.classic_heartbeat("old", generation) == ErrorCode.REBALANCE_IN_PROGRESS

    generation, partitions = step(world, "old", owned={0, 1, 2, 3})
    assert partitions == {0, 1}
    world.report("new")
    assert world.owned["new"] == {}, "the old one still works on it"
    assert world.classic_heartbeat("old", generation) == ErrorCode.REBALANCE_IN_PROGRESS
    generation, partitions = step(world, "old", owned={0, 1})
    world.report("new")

    assert partitions == {0, 1}
    assert world.owned["new"] == {"t": {2, 3}}
    assert world.classic_heartbeat("old", generation) == ErrorCode.NONE
    assert world.consumer_group().state == "Stable"


def test_who_waits_in_a_group_that_goes_on_otherwise_is_told_to_ask_again(world: ConsumerWorld) -> None:
    generation = world.classic_settle("old", t=range(4))
    waiting = world.classic_join("other")
    assert world.error(waiting) is None
    assert generation

    world.enter("new")

    assert world.error(waiting) == ErrorCode.REBALANCE_IN_PROGRESS


def test_commits_stay(world: ConsumerWorld) -> None:
    generation = world.classic_settle("old", t=range(4))
    world.commit(7, name="old", generation=generation)

    world.enter("new")

    assert world.committed() == {("t", 0): 7}
    assert world.commit(8, name="old", generation=generation) == ErrorCode.NONE


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_a_policy_may_forbid_the_way_up(policy: str) -> None:
    world = ConsumerWorld(consumer={"group_consumer_migration_policy": policy})
    generation = world.classic_settle("old", t=range(4))

    assert world.enter("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.classic_heartbeat("old", generation) == ErrorCode.NONE


def test_a_group_of_other_clients_is_left_alone(world: ConsumerWorld) -> None:
    world.settle("worker", protocol_type="connect")

    assert world.enter("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.members() == ["worker"]


@pytest.mark.parametrize("made", [b"\0\x01\0", assignment(t=[0])[:-4] + b"\0\0\0\x01x"])
def test_an_assignment_that_cannot_be_taken_over_is_left_alone(world: ConsumerWorld, made: bytes) -> None:
    token = world.classic_join("old")
    world.advance(0)
    answer = world.answers[token]
    world.ids["old"] = answer.member_id
    world.classic_sync("old", answer.generation_id, {"old": made})

    assert world.enter("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.machine.groups


def test_an_empty_group_is_begun_anew_with_its_commits(world: ConsumerWorld) -> None:
    generation = world.classic_settle("old", t=range(4))
    world.commit(7, name="old", generation=generation)
    world.classic_leave("old")

    assert not world.enter("new").error_code

    assert not world.machine.groups
    assert world.committed() == {("t", 0): 7}


def test_a_group_of_commits_alone_becomes_either(world: ConsumerWorld) -> None:
    world.commit(7)

    assert not world.enter("new").error_code

    assert world.committed() == {("t", 0): 7}
    assert not world.machine.groups


# Down


def test_the_last_new_member_leaves_a_group_of_the_classic_protocol(world: ConsumerWorld) -> None:
    world.classic_settle("old", t=range(4))
    world.enter("new")
    step(world, "old", owned={0, 1, 2, 3})
    generation, _ = step(world, "old", owned={0, 1})
    world.report("new")

    world.beat("new", LEAVES)
    world.advance(0)

    assert not world.machine.consumer_groups
    group = world.group()
    assert list(group.members) == [world.ids["old"]]
    assert group.generation == generation, "the next rebalance raises it"
    assert world.classic_heartbeat("old", group.generation) == ErrorCode.REBALANCE_IN_PROGRESS
    token = world.classic_join("old")
    world.advance(0)
    assert world.answers[token].leader == world.ids["old"]


def test_a_new_member_that_falls_silent_leaves_one_too(world: ConsumerWorld) -> None:
    world.classic_settle("old", t=range(4))
    world.enter("new")
    step(world, "old", owned={0, 1, 2, 3})
    for _ in range(SESSION_MS // 5000):
        world.advance(5000)
        if world.machine.consumer_groups:
            step(world, "old", owned={0, 1})

    assert not world.machine.consumer_groups
    assert list(world.group().members) == [world.ids["old"]]


def test_sessions_run_on_the_way_down(world: ConsumerWorld) -> None:
    world.classic_settle("old", t=range(4))
    world.enter("new")
    world.beat("new", LEAVES)
    world.advance(0)

    world.advance(5 * REVOCATION_MS)

    assert not world.group().members


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_a_policy_may_forbid_the_way_down(policy: str) -> None:
    world = ConsumerWorld(consumer={"group_consumer_migration_policy": "bidirectional"})
    world.classic_settle("old", t=range(4))
    world.enter("new")
    world._surroundings.consumer = ConsumerWorld(
        consumer={"group_consumer_migration_policy": policy}
    )._surroundings.consumer

    world.beat("new", LEAVES)

    assert not world.machine.groups
    assert set(world.consumer_group().members) == {world.ids["old"]}


def test_a_static_member_restarted_with_the_old_protocol_may_be_the_last_step(world: ConsumerWorld) -> None:
    world.gather("static-a/1")

    token = world.classic_join("static-a/2", owned={})
    world.advance(0)

    assert not world.error(token)
    assert not world.machine.consumer_groups
    group = world.group()
    assert [member.instance_id for member in group.members.values()] == ["static-a"]
    assert world.answers[token].generation_id == group.generation


def test_an_empty_group_is_begun_anew_in_the_classic_protocol(world: ConsumerWorld) -> None:
    world.gather("new")
    world.commit(7, name="", generation=2, topic="t", partition=0)
    world.beat("new", LEAVES)

    world.classic_settle("old", t=range(4))

    assert not world.machine.consumer_groups
    assert world.group().state == "Stable"


def test_a_beginning_that_the_log_refuses_is_none(world: ConsumerWorld) -> None:
    world.gather("new")
    world.beat("new", LEAVES)
    world.refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER

    token = world.classic_join("old")
    world.refusal = ErrorCode.NONE

    assert world.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not world.machine.groups
    assert world.consumer_group().state == "Empty"


# Members of the classic protocol in between


def test_an_old_member_is_let_into_a_new_group(world: ConsumerWorld) -> None:
    world.gather("new")
    answer = world.answers[world.classic_join("old", version=9)]
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    world.ids["old"] = answer.member_id

    generation, partitions = step(world, "old", owned=set())
    assert partitions == set()
    world.advance(INTERVAL_MS)
    for _ in range(2):
        world.report("new")
    assert world.classic_heartbeat("old", generation) == ErrorCode.REBALANCE_IN_PROGRESS
    generation, partitions = step(world, "old", owned=set())

    assert partitions == {2, 3}
    assert world.classic_heartbeat("old", generation) == ErrorCode.NONE


def test_an_old_member_without_a_protocol_in_common_is_refused(world: ConsumerWorld) -> None:
    world.gather("new")
    world.classic_join("old")

    token = world.classic_join("other", protocol="sticky")

    assert world.error(token) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_an_old_member_s_errors_are_those_of_its_protocol(world: ConsumerWorld) -> None:
    world.classic_settle("old", t=range(4))
    world.enter("new")
    generation, _ = step(world, "old", owned={0, 1, 2, 3})

    assert world.classic_heartbeat("old", generation - 1) == ErrorCode.ILLEGAL_GENERATION
    assert world.machine.heartbeat("g", 1, "nobody", None, world.now) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.machine.heartbeat("g", 2, "new", None, world.now) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.classic_sync("old", generation + 1).error_code == ErrorCode.ILLEGAL_GENERATION
    assert world.commit(5, name="old", generation=generation + 5) == ErrorCode.ILLEGAL_GENERATION
    assert world.commit(5, name="old", generation=generation, partition=0) == ErrorCode.NONE


def test_an_old_member_that_does_not_join_in_time_is_out(world: ConsumerWorld) -> None:
    generation = world.classic_settle("old", t=range(4))
    world.enter("new")
    for _ in range(REVOCATION_MS // 5000):
        assert world.classic_heartbeat("old", generation) == ErrorCode.REBALANCE_IN_PROGRESS
        world.beat("new")
        world.advance(5000)

    assert set(world.consumer_group().members) == {"new"}


def test_an_old_member_that_does_not_sync_in_time_is_out(world: ConsumerWorld) -> None:
    world.classic_settle("old", t=range(4))
    world.enter("new")
    answer = world.answers[world.classic_join("old", owned={"t": {0, 1, 2, 3}})]
    for _ in range(REVOCATION_MS // 5000):
        world.classic_heartbeat("old", answer.generation_id)
        world.beat("new")
        world.advance(5000)

    assert set(world.consumer_group().members) == {"new"}


def test_old_members_that_are_left_to_themselves_take_over_what_is_left() -> None:
    """Where the way down is not allowed, nobody's heartbeat but theirs can have it worked out."""
    world = ConsumerWorld(consumer={"group_consumer_migration_policy": "upgrade"})
    world.classic_settle("old", t=range(4))
    world.enter("new")
    step(world, "old", owned={0, 1, 2, 3})
    generation, _ = step(world, "old", owned={0, 1})
    world.report("new")
    world.beat("new", LEAVES)
    assert world.classic_heartbeat("old", generation) == ErrorCode.NONE, "it was assigned a moment ago"

    world.advance(INTERVAL_MS)
    assert world.classic_heartbeat("old", generation) == ErrorCode.REBALANCE_IN_PROGRESS
    generation, partitions = step(world, "old", owned={0, 1})

    assert partitions == {0, 1, 2, 3}
    assert world.classic_heartbeat("old", generation) == ErrorCode.NONE


def test_members_of_both_protocols_are_removed_by_an_administrator(world: ConsumerWorld) -> None:
    world.gather("new", "static-a/1")
    world.answers[world.classic_join("old")]
    old_id = next(member for member in world.consumer_group().members if member.endswith("old"))
    world.ids["old"] = old_id

    assert world.classic_leave("old", "new", "nobody") == [0, 0, ErrorCode.UNKNOWN_MEMBER_ID]

    assert set(world.consumer_group().members) == {"static-a/1"}


def test_what_is_replayed_half_way_is_the_same(world: ConsumerWorld) -> None:
    generation = world.classic_settle("old", t=range(4))
    world.commit(7, name="old", generation=generation)
    world.enter("new")
    for _ in range(2):
        step(world, "old", owned={0, 1})
        assert world.reloaded_machine().consumer_groups == world.machine.consumer_groups
    world.advance(INTERVAL_MS)
    world.beat("new", LEAVES)

    again = world.reloaded_machine()

    assert not again.consumer_groups
    assert again.groups["g"].stored == world.group().stored
    assert again.offsets == world.machine.offsets
