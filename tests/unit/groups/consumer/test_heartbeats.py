"""ConsumerGroupHeartbeat: joining, staying, leaving, being fenced, falling silent."""

from __future__ import annotations

from typing import Any

import pytest

from riverlog.groups.consumer.member import MemberState
from riverlog.protocol.error_codes import ErrorCode

from .world import (
    GOES_AWAY,
    INTERVAL_MS,
    LEAVES,
    REVOCATION_MS,
    SESSION_MS,
    ConsumerWorld,
    FakeTopics,
)


@pytest.fixture
def world() -> ConsumerWorld:
    return ConsumerWorld()


# Joining


def test_the_first_member_gets_everything_at_once(world: ConsumerWorld) -> None:
    answer = world.enter("ann")

    assert (answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms) == (0, 2, 5000)
    assert world.owned["ann"] == {"t": {0, 1, 2, 3}}
    assert world.consumer_group().state == "Stable"


def test_a_newcomer_gets_partitions_only_once_the_others_gave_them_up(world: ConsumerWorld) -> None:
    world.enter("ann")
    world.advance(INTERVAL_MS)

    assert world.enter("bob").member_epoch == 3
    assert world.owned["bob"] == {}
    assert world.beat("ann").member_epoch == 2, "it stays in its epoch until it has given up"
    assert world.owned["ann"] == {"t": {0, 1}}
    world.beat("bob")
    assert world.owned["bob"] == {}, "ann has not said that she gave up"
    assert world.beat("ann", owned={"t": {0, 1}}).member_epoch == 3
    world.beat("bob")

    assert world.owned["bob"] == {"t": {2, 3}}
    assert world.consumer_group().state == "Stable"


def test_a_member_that_still_works_on_what_it_is_to_give_up_is_waited_for(world: ConsumerWorld) -> None:
    world.enter("ann")
    world.advance(INTERVAL_MS)
    world.enter("bob")
    world.beat("ann")

    answer = world.beat("ann", owned={"t": {0, 1, 2}})

    assert answer.member_epoch == 2
    assert world.state("ann") is MemberState.UNREVOKED
    assert world.gives_up("ann") == {"t": {2, 3}}


def test_those_who_come_at_once_are_assigned_once(world: ConsumerWorld) -> None:
    world.enter("ann")
    for name in ("bob", "carl", "dora"):
        assert world.enter(name).member_epoch == 2, "the assignment that there is"
    targets = sum(type(record).__name__ == "GroupTargetEpoch" for record in world.log)

    world.go_round("ann", "bob", "carl", "dora")

    assert targets == 1
    assert sum(type(record).__name__ == "GroupTargetEpoch" for record in world.log) == 2
    assert {len(world.owned[name]["t"]) for name in ("ann", "bob", "carl", "dora")} == {1}


def test_a_join_that_is_repeated_changes_nothing(world: ConsumerWorld) -> None:
    first = world.enter("ann")
    count = len(world.log)

    assert world.enter("ann") == first
    assert len(world.log) == count


def test_a_broker_names_members_of_version_0(world: ConsumerWorld) -> None:
    answer = world.enter("", version=0)

    assert (answer.member_id or "").startswith("made-")


def test_a_member_that_reads_nothing_is_a_member(world: ConsumerWorld) -> None:
    answer = world.enter("ann", "")

    assert (answer.error_code, answer.member_epoch) == (0, 1)
    assert world.owned["ann"] == {}


def test_a_topic_that_is_not_there_is_assigned_once_it_is(world: ConsumerWorld) -> None:
    world.enter("ann", "tu")
    world.topics.create("u", 2)
    world.topics_changed("u", are_new=True)
    world.advance(INTERVAL_MS)

    world.beat("ann")

    assert world.owned["ann"] == {"t": {0, 1, 2, 3}, "u": {0, 1}}


@pytest.mark.parametrize(
    ("how", "error_code"),
    [
        ({"owned": None}, ErrorCode.INVALID_REQUEST),
        ({"owned": {"t": {0}}}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"topics": None}, ErrorCode.INVALID_REQUEST),
        ({"group": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"server_assignor": "sticky"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"pattern": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
)
def test_a_join_that_cannot_be_is_refused(
    world: ConsumerWorld, how: dict[str, Any], error_code: ErrorCode
) -> None:
    answer = world.enter("ann", **{"topics": "t", **how})

    assert answer.error_code == error_code
    assert answer.error_message
    assert not world.log


@pytest.mark.parametrize("version", [0, 1])
def test_only_a_join_of_version_0_may_leave_the_member_unnamed(world: ConsumerWorld, version: int) -> None:
    answer = world.beat("", 1, version=version)

    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("epoch", [-3, -100])
def test_other_epochs_are_none(world: ConsumerWorld, epoch: int) -> None:
    assert world.beat("ann", epoch).error_code == ErrorCode.INVALID_REQUEST


def test_a_full_group_takes_nobody_else_in() -> None:
    world = ConsumerWorld(consumer={"group_consumer_max_size": 1})
    world.enter("ann")

    assert world.enter("bob").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert not world.enter("ann").error_code


def test_a_group_that_is_not_there_is_joined_or_not_there(world: ConsumerWorld) -> None:
    assert world.beat("ann", 3).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.beat("ann", LEAVES).error_code == ErrorCode.GROUP_ID_NOT_FOUND


# Staying


def test_a_heartbeat_without_news_writes_nothing_and_tells_no_partitions(world: ConsumerWorld) -> None:
    world.enter("ann")
    count = len(world.log)

    answer = world.beat("ann")

    assert (answer.error_code, answer.member_epoch, answer.assignment) == (0, 2, None)
    assert len(world.log) == count


def test_a_full_heartbeat_is_told_all_again(world: ConsumerWorld) -> None:
    world.enter("ann")
    world.owned.clear()

    answer = world.beat("ann", topics="t", rebalance_timeout_ms=REVOCATION_MS, owned={"t": {0, 1, 2, 3}})

    assert answer.assignment is not None
    assert world.owned["ann"] == {"t": {0, 1, 2, 3}}


@pytest.mark.parametrize("epoch", [1, 3])
def test_a_member_in_another_epoch_is_fenced_and_may_join_again(world: ConsumerWorld, epoch: int) -> None:
    world.enter("ann")

    assert world.beat("ann", epoch).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.enter("ann").member_epoch == 2
    assert world.owned["ann"] == {"t": {0, 1, 2, 3}}


def test_the_epoch_before_is_taken_from_a_member_that_has_only_what_is_its_own(world: ConsumerWorld) -> None:
    world.gather("ann")
    world.enter("bob")
    world.advance(INTERVAL_MS)
    world.beat("ann")
    assert world.beat("ann", 2, owned={"t": {0, 1}}).member_epoch == 3

    assert world.beat("ann", 2, owned={"t": {0, 1}}).member_epoch == 3, "the answer may have been lost"
    assert world.beat("ann", 2, owned={"t": {2}}).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.beat("ann", 2).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_stranger_is_unknown(world: ConsumerWorld) -> None:
    world.enter("ann")

    assert world.beat("bob", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.beat("bob", LEAVES).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_reads_less_gives_up_what_it_does_not_read_without_waiting(world: ConsumerWorld) -> None:
    world.topics.create("u", 2)
    world.gather("ann", topics="tu")

    answer = world.beat("ann", topics="u")

    assert answer.member_epoch == 2
    assert world.owned["ann"] == {"u": {0, 1}}
    assert world.gives_up("ann") == {"t": {0, 1, 2, 3}}
    world.go_round("ann")
    assert world.gives_up("ann") == {}
    assert world.has("ann") == {"u": {0, 1}}


def test_partitions_that_are_added_are_assigned(world: ConsumerWorld) -> None:
    world.gather("ann", "bob")
    world.topics.grow("t", 6)
    world.topics_changed("t")

    world.go_round("ann", "bob")

    assert world.owned["ann"]["t"] | world.owned["bob"]["t"] == set(range(6))


def test_a_topic_that_is_deleted_is_given_up_and_its_successor_is_another(world: ConsumerWorld) -> None:
    world.topics.create("u", 2)
    world.gather("ann", topics="tu")
    world.topics.delete("t")
    world.topics_changed("t", are_new=True)
    world.go_round("ann")
    assert world.has("ann") == {"u": {0, 1}}

    world.topics.create("t", 1)
    world.topics_changed("t", are_new=True)
    world.go_round("ann")

    assert world.has("ann") == {"t": {0}, "u": {0, 1}}


def test_the_assignor_that_most_ask_for_assigns(world: ConsumerWorld) -> None:
    world.topics.create("u", 4)
    for name in ("ann", "bob"):
        world.enter(name, "tu", server_assignor="range")
    world.go_round("ann", "bob")

    assert world.owned == {"ann": {"t": {0, 1}, "u": {0, 1}}, "bob": {"t": {2, 3}, "u": {2, 3}}}


def test_a_group_s_own_settings_hold_for_it() -> None:
    world = ConsumerWorld(
        overrides={"consumer.session.timeout.ms": "60000", "consumer.heartbeat.interval.ms": "7000"}
    )

    assert world.enter("ann").heartbeat_interval_ms == 7000
    world.advance(59_999)
    assert world.consumer_group().members
    world.advance(1)
    assert not world.consumer_group().members


# Regular expressions


def test_topics_are_read_by_regular_expression() -> None:
    world = ConsumerWorld(FakeTopics(orders=2, refunds=1, order=1))

    world.enter("ann", None, pattern="order.*")

    assert world.owned["ann"] == {"orders": {0, 1}, "order": {0}}


def test_an_expression_has_to_match_the_whole_name() -> None:
    world = ConsumerWorld(FakeTopics(orders=2, reorder=1))

    world.enter("ann", None, pattern="order")

    assert world.owned["ann"] == {}


def test_topics_that_come_and_go_are_matched() -> None:
    world = ConsumerWorld(FakeTopics(orders=2))
    world.enter("ann", None, pattern="order.*")
    world.topics.create("orders-2", 1)
    world.topics_changed("orders-2", are_new=True)
    world.go_round("ann")
    assert world.owned["ann"] == {"orders": {0, 1}, "orders-2": {0}}

    world.topics.delete("orders")
    world.topics_changed("orders", are_new=True)
    world.go_round("ann")

    assert world.owned["ann"] == {"orders-2": {0}}


def test_an_expression_that_nobody_uses_is_forgotten() -> None:
    world = ConsumerWorld(FakeTopics(orders=2, t=1))
    world.enter("ann", None, pattern="order.*")
    world.enter("bob", None, pattern="order.*")
    world.beat("ann", topics="t", pattern="")
    assert set(world.consumer_group().matches) == {"order.*"}

    world.beat("bob", LEAVES)

    assert not world.consumer_group().matches
    world.go_round("ann")
    assert world.owned["ann"] == {"t": {0}}


def test_names_and_expression_count_both() -> None:
    world = ConsumerWorld(FakeTopics(orders=1, t=1))

    world.enter("ann", "t", pattern="order.*")

    assert world.owned["ann"] == {"orders": {0}, "t": {0}}


def test_what_takes_long_to_match_is_matched_in_steps() -> None:
    topics = FakeTopics(**{f"orders-{number}": 1 for number in range(2000)})
    world = ConsumerWorld(topics)
    world.enter("ann", None, pattern="orders-1.*|x{900}")
    assert world.owned["ann"] == {}, "not within the decision"

    steps = list(world.machine.heartbeats.match_in_steps("g"))
    assert len(steps) > 10
    assert all(step is None for step in steps[:-1])
    assert steps[-1] is not None
    world.carry_out(world.machine.heartbeats.note_matches("g", steps[-1], world.now))
    world.advance(INTERVAL_MS)
    world.beat("ann")

    assert len(world.owned["ann"]) == 1 + 10 + 100 + 1000


# Leaving


def test_who_leaves_is_gone_and_the_others_get_its_part(world: ConsumerWorld) -> None:
    world.gather("ann", "bob")

    answer = world.beat("bob", LEAVES)
    assert (answer.error_code, answer.member_epoch) == (0, -1)
    world.go_round("ann")

    assert world.owned["ann"] == {"t": {0, 1, 2, 3}}


def test_a_group_that_all_have_left_is_empty_and_stays(world: ConsumerWorld) -> None:
    world.enter("ann")
    epoch = world.consumer_group().epoch

    world.beat("ann", LEAVES)

    assert world.consumer_group().state == "Empty"
    assert world.consumer_group().epoch == epoch + 1
    assert not world.consumer_group().owners


# Static members


def test_a_static_member_that_is_away_finds_what_it_had(world: ConsumerWorld) -> None:
    world.gather("static-a/1", "bob")
    had = world.owned["static-a/1"]
    assert world.beat("static-a/1", GOES_AWAY).member_epoch == -2
    records = len(world.log)

    world.enter("static-a/2")

    assert world.owned["static-a/2"] == had
    assert world.epochs["static-a/2"] == world.epochs["bob"]
    assert not any(type(record).__name__ == "GroupEpoch" for record in world.log[records:])
    assert world.beat("static-a/1", 2).error_code == ErrorCode.FENCED_INSTANCE_ID


def test_an_instance_id_in_use_is_not_given_away(world: ConsumerWorld) -> None:
    world.enter("static-a/1")

    assert world.enter("static-a/2").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert not world.beat("static-a/1").error_code


def test_a_static_member_that_stays_away_is_gone(world: ConsumerWorld) -> None:
    world.gather("static-a/1", "bob")
    world.beat("static-a/1", GOES_AWAY)
    world.advance(SESSION_MS - 1)
    world.report("bob")

    world.advance(1)
    world.go_round("bob")

    assert world.owned["bob"] == {"t": {0, 1, 2, 3}}
    assert world.beat("static-a/1", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_may_leave_for_good(world: ConsumerWorld) -> None:
    world.enter("static-a/1")

    assert not world.beat("static-a/1", LEAVES).error_code
    assert not world.consumer_group().static_ids


# Silence


def test_a_silent_member_is_out_when_its_session_ends(world: ConsumerWorld) -> None:
    world.gather("ann", "bob")
    world.advance(SESSION_MS - 1)
    world.report("ann")

    world.advance(1)

    assert set(world.consumer_group().members) == {"ann"}
    assert world.beat("bob").error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_does_not_give_up_in_time_is_out(world: ConsumerWorld) -> None:
    world.enter("ann", rebalance_timeout_ms=5000)
    world.advance(INTERVAL_MS)
    world.enter("bob")
    world.beat("ann")
    for _ in range(4):
        world.advance(1000)
        world.beat("ann")
    assert "ann" in world.consumer_group().members

    world.advance(1000)

    assert set(world.consumer_group().members) == {"bob"}


def test_time_to_give_up_ends_when_it_is_done(world: ConsumerWorld) -> None:
    world.enter("ann", rebalance_timeout_ms=5000)
    world.enter("bob")
    world.go_round("ann", "bob")

    for _ in range(10):
        world.advance(1000)
        world.beat("ann")

    assert "ann" in world.consumer_group().members


def test_after_a_restart_sessions_and_time_to_give_up_begin_anew(world: ConsumerWorld) -> None:
    world.enter("ann", rebalance_timeout_ms=5000)
    world.advance(INTERVAL_MS)
    world.enter("bob")
    world.beat("ann")
    world.advance(4000)

    world.restart()
    world.advance(4999)
    assert "ann" in world.consumer_group().members
    world.advance(1)
    assert set(world.consumer_group().members) == {"bob"}
    world.advance(SESSION_MS)

    assert not world.consumer_group().members


# The log


def test_what_the_log_refuses_has_not_happened(world: ConsumerWorld) -> None:
    world.gather("ann")
    world.refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER

    answer = world.enter("bob")

    assert answer.error_code == ErrorCode.NOT_COORDINATOR
    assert set(world.consumer_group().members) == {"ann"}
    world.refusal = ErrorCode.NONE
    world.enter("bob")
    world.go_round("ann", "bob")
    assert len(world.owned["bob"]["t"]) == 2


def test_a_member_whose_end_the_log_refuses_is_taken_out_later(world: ConsumerWorld) -> None:
    world.gather("ann")
    world.refusal = ErrorCode.KAFKA_STORAGE_ERROR
    world.advance(SESSION_MS)
    assert world.consumer_group().members

    world.refusal = ErrorCode.NONE
    world.advance(SESSION_MS)

    assert not world.consumer_group().members


def test_replaying_the_log_gives_the_same_group() -> None:
    world = ConsumerWorld(FakeTopics(t=5, orders=2))
    world.gather("ann", "static-b/1", "carl")
    world.beat("static-b/1", GOES_AWAY)
    world.enter("static-b/2", "t", pattern="order.*")
    world.beat("carl", LEAVES)
    world.topics.grow("t", 6)
    world.topics_changed("t")
    world.go_round("ann", "static-b/2")

    assert world.reloaded_machine().consumer_groups == world.machine.consumer_groups
