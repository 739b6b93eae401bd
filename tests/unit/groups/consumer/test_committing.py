"""Commits and questions by members of groups whose assignment the broker decides."""

from __future__ import annotations

import pytest

from riverlog.groups.commits import Commit, OffsetToCommit
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import ProducerIdentity

from .world import INTERVAL_MS, LEAVES, ConsumerWorld

PRODUCER = ProducerIdentity(9, 0)


@pytest.fixture
def world() -> ConsumerWorld:
    """Bob has come to Ann, and both have two partitions, Ann hers since epoch 2."""
    world = ConsumerWorld()
    world.enter("ann")
    world.advance(INTERVAL_MS)
    world.enter("bob")
    world.go_round("ann", "bob")
    assert world.owned == {"ann": {"t": {0, 1}}, "bob": {"t": {2, 3}}}
    return world


def commit(world: ConsumerWorld, name: str, epoch: int, *partitions: int, version: int = 9) -> list[int]:
    topic_id = world.topics.topics["t"].topic_id
    offsets = [OffsetToCommit("t", topic_id, each, 5, -1, "") for each in partitions or (0,)]
    request = Commit(version, "g", epoch, name, None, offsets)
    token = world.routed("commit", lambda token: world.machine.commits.commit(request, token, world.now))
    codes: list[int] = world.answers[token].error_codes
    return codes


def test_a_member_commits_in_its_epoch(world: ConsumerWorld) -> None:
    assert commit(world, "ann", 3, 0, 1) == [0, 0]
    assert world.committed() == {("t", 0): 5, ("t", 1): 5}


def test_an_older_epoch_will_do_for_what_was_its_own_since_then(world: ConsumerWorld) -> None:
    assert commit(world, "ann", 2, 0) == [0]
    assert commit(world, "bob", 2, 2) == [ErrorCode.STALE_MEMBER_EPOCH]


def test_one_partition_that_was_not_its_own_spoils_the_commit(world: ConsumerWorld) -> None:
    assert commit(world, "ann", 2, 0, 3) == [ErrorCode.STALE_MEMBER_EPOCH] * 2
    assert world.committed() == {}


def test_an_epoch_that_has_not_come_is_refused(world: ConsumerWorld) -> None:
    assert commit(world, "ann", 4) == [ErrorCode.STALE_MEMBER_EPOCH]


def test_what_is_being_given_up_may_still_be_committed(world: ConsumerWorld) -> None:
    world.enter("carl")
    world.advance(INTERVAL_MS)
    world.beat("carl")
    world.beat("bob")
    (given_up,) = world.gives_up("bob")["t"]

    assert commit(world, "bob", 3, given_up) == [0]


def test_strangers_and_those_without_a_name_may_not_while_there_are_members(world: ConsumerWorld) -> None:
    assert commit(world, "carl", 3) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert commit(world, "", -1) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_anybody_may_while_the_group_is_empty(world: ConsumerWorld) -> None:
    world.beat("ann", LEAVES)
    world.beat("bob", LEAVES)

    assert commit(world, "", -1) == [0]


def test_versions_that_know_no_epochs_are_not_for_such_members(world: ConsumerWorld) -> None:
    assert commit(world, "ann", 3, version=8) == [ErrorCode.UNSUPPORTED_VERSION]


def test_in_a_transaction_the_errors_are_those_that_its_request_knows(world: ConsumerWorld) -> None:
    def transactional(name: str, epoch: int) -> int:
        return world.commit(5, name=name, generation=epoch, producer=PRODUCER, version=8)

    assert transactional("ann", 3) == ErrorCode.NONE
    assert transactional("ann", 9) == ErrorCode.ILLEGAL_GENERATION
    assert transactional("carl", 3) == ErrorCode.UNKNOWN_MEMBER_ID
    assert transactional("", -1) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("member_id", "epoch", "error_code"),
    [
        (None, -1, ErrorCode.NONE),
        ("ann", 3, ErrorCode.NONE),
        ("ann", 2, ErrorCode.STALE_MEMBER_EPOCH),
        ("carl", 3, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_member_asks_in_its_epoch_and_others_without_any(
    world: ConsumerWorld, member_id: str | None, epoch: int, error_code: ErrorCode
) -> None:
    assert world.machine.commits.objection_to_fetch("g", member_id, epoch) == error_code
    assert world.machine.commits.objection_to_fetch("nobody", member_id, epoch) == ErrorCode.NONE


# Forgetting


def test_offsets_of_topics_that_members_read_are_not_deleted(world: ConsumerWorld) -> None:
    commit(world, "ann", 3)
    ask = [("t", 0), ("u", 0)]

    token = world.routed("delete", lambda token: world.machine.commits.delete("g", ask, token, world.now))

    assert world.answers[token].partition_error_codes == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, 0]
    assert world.committed()


def test_a_group_goes_with_its_last_offset_once_it_is_empty(world: ConsumerWorld) -> None:
    commit(world, "ann", 3)
    world.advance(0)
    retention_ms = world.settings.offsets_retention_minutes * 60_000
    world.steady_ms += retention_ms
    world.expire_offsets()
    assert world.committed(), "it is read"

    world.beat("ann", LEAVES)
    world.beat("bob", LEAVES)
    world.expire_offsets()

    assert not world.committed()
    assert not world.machine.consumer_groups
    assert not world.reloaded_machine().consumer_groups


def test_a_group_is_deleted_once_it_is_empty(world: ConsumerWorld) -> None:
    commit(world, "ann", 3)

    def delete() -> int:
        token = world.routed("delete", lambda token: world.machine.delete_groups(["g"], token, world.now))
        return int(world.answers[token].error_codes["g"])

    assert delete() == ErrorCode.NON_EMPTY_GROUP
    world.beat("ann", LEAVES)
    world.beat("bob", LEAVES)
    assert delete() == ErrorCode.NONE
    assert not world.committed()
    assert delete() == ErrorCode.GROUP_ID_NOT_FOUND
