"""From one generation to the next: how long each phase lasts, and who is in the group after it."""

from __future__ import annotations

from riverlog.groups.group import GroupState
from riverlog.protocol.error_codes import ErrorCode

from .world import World

SECOND = 1000


# The first rebalance of an empty group


def test_an_empty_group_waits_for_more_members() -> None:
    world = World(group_initial_rebalance_delay_ms=3 * SECOND)

    token = world.join("ann")
    world.advance(3 * SECOND - 1)
    is_early = world.error(token)
    world.advance(1)

    assert is_early is None
    assert world.error(token) == 0


def test_each_newcomer_prolongs_the_wait() -> None:
    world = World(group_initial_rebalance_delay_ms=3 * SECOND)

    tokens = [world.join("ann")]
    world.advance(2 * SECOND)
    tokens.append(world.join("bob"))
    world.advance(4 * SECOND - 1)
    is_early = world.error(tokens[0])
    world.advance(1)

    assert is_early is None
    assert [world.error(token) for token in tokens] == [0, 0]


def test_the_wait_is_no_longer_than_the_rebalance_timeout() -> None:
    world = World(group_initial_rebalance_delay_ms=3 * SECOND)

    token = world.join("0", rebalance_timeout_ms=8 * SECOND)
    for number in range(1, 20):
        world.advance(SECOND)
        world.join(str(number), rebalance_timeout_ms=8 * SECOND)
        if world.error(token) is not None:
            break

    assert world.error(token) == 0
    assert world.steady_ms == 8 * SECOND


def test_a_pending_member_does_not_hold_up_the_first_rebalance() -> None:
    world = World(group_initial_rebalance_delay_ms=3 * SECOND)
    world.join("bob", version=4)

    token = world.join("ann")
    world.advance(3 * SECOND)

    assert world.error(token) == 0


def test_if_all_leave_during_the_wait_the_group_is_empty_again() -> None:
    world = World(group_initial_rebalance_delay_ms=3 * SECOND)
    token = world.join("ann")

    world.leave("ann")
    world.advance(3 * SECOND)

    assert world.error(token) == ErrorCode.UNKNOWN_MEMBER_ID
    assert (world.group().state, world.group().generation) == (GroupState.EMPTY, 1)


# Later ones


def test_a_rebalance_goes_on_as_soon_as_all_have_joined() -> None:
    world = World(group_initial_rebalance_delay_ms=3 * SECOND)
    world.join("ann")
    world.advance(3 * SECOND)
    world.assign("ann")

    bob = world.join("bob")
    ann = world.join("ann")

    assert [world.error(token) for token in (ann, bob)] == [0, 0]


def test_it_waits_for_those_who_got_an_id_and_are_not_back_with_it() -> None:
    world = World()
    world.settle("ann")
    world.join("bob", version=4, session_timeout_ms=6 * SECOND)

    ann = world.join("ann", session_timeout_ms=30 * SECOND)
    world.advance(6 * SECOND - 1)
    is_early = world.error(ann)
    world.advance(1)

    assert is_early is None
    assert world.error(ann) == 0


def test_who_has_not_joined_in_time_is_out() -> None:
    world = World()
    world.settle("ann", "bob", session_timeout_ms=1_000_000, rebalance_timeout_ms=20 * SECOND)

    token = world.join("ann", rebalance_timeout_ms=20 * SECOND)
    world.advance(20 * SECOND - 1)
    is_early = world.error(token)
    world.advance(1)

    assert is_early is None
    assert world.error(token) == 0
    assert world.members() == ["ann"]


def test_a_static_member_that_has_not_joined_in_time_stays_and_does_not_lead() -> None:
    world = World()
    world.settle("static-a/1", "bob", session_timeout_ms=1_000_000, rebalance_timeout_ms=20 * SECOND)

    world.join("bob", protocols={"range": b"changed"}, rebalance_timeout_ms=20 * SECOND)
    world.advance(20 * SECOND)

    assert world.members() == ["static-a/1", "bob"]
    assert world.group().leader_id == "client-bob"


def test_without_anybody_who_joined_the_group_waits_for_its_static_members() -> None:
    world = World()
    world.settle("static-a/1", "bob", session_timeout_ms=1_000_000, rebalance_timeout_ms=20 * SECOND)
    world.leave("bob")

    world.advance(100 * SECOND)
    state_then = world.group().state
    token = world.join("static-a/2")

    assert state_then is GroupState.PREPARING
    assert world.error(token) == 0


def test_static_members_that_never_come_back_leave_an_empty_group() -> None:
    world = World()
    world.settle("static-a/1", "bob", session_timeout_ms=100 * SECOND, rebalance_timeout_ms=20 * SECOND)
    world.leave("bob")

    world.advance(100 * SECOND)

    assert world.group().state is GroupState.EMPTY


def test_another_join_while_the_leader_assigns_begins_anew() -> None:
    world = World()
    world.join("ann")
    world.join("bob")
    world.advance(0)
    waiting = world.sync("bob")

    world.join("carl")

    assert world.error(waiting) == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group().state is GroupState.PREPARING


def test_who_never_asks_for_its_assignment_is_out() -> None:
    world = World()
    for name in ("ann", "bob"):
        world.join(name, session_timeout_ms=1_000_000, rebalance_timeout_ms=20 * SECOND)
    world.advance(0)
    world.sync("ann")

    world.advance(20 * SECOND - 1)
    before = world.members()
    world.advance(1)

    assert before == ["ann", "bob"]
    assert world.members() == ["ann"]
    assert world.group().state is GroupState.PREPARING


def test_a_leader_that_never_assigns_is_out() -> None:
    world = World()
    for name in ("ann", "bob"):
        world.join(name, session_timeout_ms=1_000_000, rebalance_timeout_ms=20 * SECOND)
    world.advance(0)

    waiting = world.sync("bob")
    world.advance(20 * SECOND)

    assert world.error(waiting) == ErrorCode.REBALANCE_IN_PROGRESS
    assert (world.members(), world.group().leader_id) == (["bob"], "client-bob")


def test_once_all_have_asked_nobody_is_waited_for() -> None:
    world = World()
    world.settle("ann", "bob", session_timeout_ms=1_000_000, rebalance_timeout_ms=20 * SECOND)

    world.advance(100 * SECOND)

    assert (world.group().state, world.members()) == (GroupState.STABLE, ["ann", "bob"])


# Sessions


def test_a_session_that_ends_makes_the_others_join_again() -> None:
    world = World()
    world.settle("ann", session_timeout_ms=10 * SECOND)
    world.settle("bob", "ann", session_timeout_ms=30 * SECOND)
    world.join("ann", session_timeout_ms=10 * SECOND)
    world.join("bob", session_timeout_ms=30 * SECOND)
    world.assign("ann", "bob")

    world.advance(10 * SECOND)

    assert world.members() == ["bob"]
    assert world.heartbeat("bob") == ErrorCode.REBALANCE_IN_PROGRESS


def test_as_long_as_a_member_waits_its_session_does_not_end() -> None:
    world = World()
    world.settle("ann", "bob", session_timeout_ms=10 * SECOND, rebalance_timeout_ms=60 * SECOND)

    token = world.join("ann", session_timeout_ms=10 * SECOND)
    for _ in range(5):
        world.advance(9 * SECOND)
        world.heartbeat("bob")
    still_waits = world.error(token) is None and "ann" in world.members()
    world.join("bob")

    assert still_waits
    assert world.error(token) == 0


def test_the_session_begins_anew_with_the_answer() -> None:
    world = World()
    world.settle("ann", "bob", session_timeout_ms=10 * SECOND)
    world.join("ann")
    world.advance(9 * SECOND)
    world.join("bob")

    world.advance(10 * SECOND - 1)
    before = world.members()
    world.advance(1)

    assert before == ["ann", "bob"]
    assert world.members() == []


def test_a_new_member_that_waits_too_long_is_told_to_start_over() -> None:
    world = World()
    world.settle("ann", session_timeout_ms=1_800_000, rebalance_timeout_ms=1_800_000)

    token = world.join("bob")
    world.advance(299_999)
    is_early = world.error(token)
    world.advance(1)

    assert is_early is None
    assert world.error(token) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.members() == ["ann"]


def test_setting_the_wall_clock_throws_nobody_out() -> None:
    world = World()
    world.settle("ann", session_timeout_ms=10 * SECOND)

    later = world.now._replace(wall_ms=world.now.wall_ms + 86_400_000)
    outcomes = list(world.machine.pass_time(later))

    assert outcomes == []
    assert world.members() == ["ann"]


# The vote, and what is stored


def test_the_elected_protocol_s_subscriptions_are_stored_with_the_assignments() -> None:
    world = World()

    world.settle("ann", protocols={"sticky": b"s", "range": b"r"})

    stored = world.group().stored
    assert stored is not None
    assert (stored.protocol, stored.leader, stored.generation) == ("sticky", "client-ann", 1)
    assert [(member.subscription, member.assignment) for member in stored.members] == [(b"s", b"ann")]
    assert stored.current_state_timestamp == world.now.wall_ms


def test_nothing_is_stored_of_a_rebalance_that_did_not_end() -> None:
    world = World()
    world.settle("ann")
    stored = list(world.log)

    world.join("bob")
    world.join("ann")
    world.sync("bob")

    assert world.group().state is GroupState.COMPLETING
    assert world.log == stored
