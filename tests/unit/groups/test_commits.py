"""Committed offsets: who may commit, what is told, what is forgotten and when."""

from __future__ import annotations

import pytest

from riverlog.groups import WantedTopic
from riverlog.groups.records import NO_TOPIC_ID, CommittedOffset, OffsetCommit, decode, encode
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import ProducerIdentity

from .world import TOPIC_ID, WALL_MS, World

DAY_MS = 86_400_000
MINUTE_MS = 60_000

READS_T = bytes.fromhex("0000 00000001 0001 74 ffffffff")


# Who may commit


def test_anybody_commits_for_a_group_that_is_not_there_or_empty() -> None:
    world = World()

    assert [world.commit(5), world.commit(6)] == [0, 0]
    assert world.committed() == {("t", 0): 6}


def test_a_member_commits_for_its_generation() -> None:
    world = World()
    world.settle("ann")

    assert world.commit(5, name="ann") == ErrorCode.NONE
    assert world.commit(6, name="ann", generation=0) == ErrorCode.ILLEGAL_GENERATION
    assert world.commit(7, name="ann", generation=-1) == ErrorCode.ILLEGAL_GENERATION
    assert world.committed() == {("t", 0): 5}


def test_only_members_commit_for_a_group_that_has_some() -> None:
    world = World()
    world.settle("ann")

    assert world.commit(5) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit(5, name="stranger") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_may_commit_until_it_has_joined_again() -> None:
    world = World()
    world.settle("ann")
    world.join("bob")

    preparing = world.commit(5, name="ann")
    world.join("ann")
    completing = world.commit(6, name="ann")

    assert (preparing, completing) == (0, ErrorCode.REBALANCE_IN_PROGRESS)
    assert world.committed() == {("t", 0): 5}


def test_a_commit_keeps_a_member_in() -> None:
    world = World()
    world.settle("ann", session_timeout_ms=10_000)

    world.advance(9_999)
    world.commit(name="ann")
    world.advance(9_999)

    assert world.members() == ["ann"]


@pytest.mark.parametrize(
    ("version", "error_code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_a_generation_of_a_missing_group_is_refused_in_the_version_s_words(
    version: int, error_code: ErrorCode
) -> None:
    world = World()

    assert world.commit(name="ann", generation=1, version=version) == error_code
    assert world.machine.groups == {}


def test_a_note_may_be_so_long_and_no_longer() -> None:
    world = World(offset_metadata_max_bytes=4)

    assert world.commit(5, metadata="1234") == 0
    assert world.commit(6, metadata="12345") == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert world.committed() == {("t", 0): 5}


def test_a_commit_is_stored_with_all_it_says() -> None:
    world = World()

    world.commit(5, partition=3, metadata="note")

    assert world.log == [OffsetCommit("g", "t", 3, CommittedOffset(5, 0, "note", WALL_MS, -1, TOPIC_ID))]


def test_what_the_log_refuses_is_not_committed() -> None:
    world = World()
    world.commit(5)

    world.refusal = ErrorCode.MESSAGE_TOO_LARGE

    assert world.commit(6) == ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    assert world.committed() == {("t", 0): 5}


# What is told


def fetched(world: World, *partitions: int, topic_id: bytes = TOPIC_ID) -> list[tuple[int | None, int]]:
    ((topic, told),) = world.machine.commits.fetch(
        "g", [WantedTopic("t", topic_id, partitions)], require_stable=True
    )
    assert topic == "t"
    return [(None if each.committed is None else each.committed.offset, each.error_code) for each in told]


def test_partitions_without_a_commit_have_none() -> None:
    world = World()
    world.commit(5, partition=1)

    assert fetched(world, 0, 1) == [(None, 0), (5, 0)]
    assert fetched(World(), 0) == [(None, 0)]


def test_what_was_committed_for_an_earlier_topic_of_the_name_is_not_told() -> None:
    world = World()
    world.commit(5, topic_id=TOPIC_ID)
    world.commit(6, topic_id=NO_TOPIC_ID, partition=1)

    assert fetched(world, 0, topic_id=b"\x09" * 16) == [(None, 0)]
    assert fetched(world, 0, topic_id=NO_TOPIC_ID) == [(5, 0)]
    assert fetched(world, 1, topic_id=b"\x09" * 16) == [(6, 0)]


def test_offsets_that_a_transaction_is_about_to_commit_are_unstable() -> None:
    world = World()
    world.commit(5)
    value = CommittedOffset(9, -1, "", WALL_MS)
    world.machine.replay(OffsetCommit("g", "t", 0, value), 1, producer_id=7)

    while_open = fetched(world, 0)
    plain = world.machine.commits.fetch("g", [WantedTopic("t", TOPIC_ID, [0])], require_stable=False)
    world.machine.replay_marker(7, is_commit=True)

    assert while_open == [(None, ErrorCode.UNSTABLE_OFFSET_COMMIT)]
    assert plain[0][1][0].error_code == 0
    assert fetched(world, 0) == [(9, 0)]


def test_all_that_a_group_has_committed_is_told_topic_by_topic() -> None:
    world = World()
    for topic, partition in (("t", 0), ("u", 0), ("t", 1)):
        world.commit(5, topic=topic, partition=partition)

    told = world.machine.commits.fetch_all("g", require_stable=True)

    assert [(topic, [each.partition for each in partitions]) for topic, partitions in told] == [
        ("t", [0, 1]),
        ("u", [0]),
    ]
    assert world.machine.commits.fetch_all("nobody", require_stable=True) == []


# What is forgotten on somebody's word


def delete(world: World, *partitions: tuple[str, int], group: str = "g") -> tuple[int, list[int]]:
    world.answers.pop("delete", None)
    world.carry_out(world.machine.commits.delete(group, partitions, "delete", world.now))
    reply = world.answers["delete"]
    return reply.error_code, list(reply.partition_error_codes)


def test_offsets_of_topics_that_a_member_reads_cannot_be_deleted() -> None:
    world = World()
    world.settle("ann", protocols={"range": READS_T})
    world.commit(5, name="ann")
    world.commit(5, name="ann", topic="u")

    assert delete(world, ("t", 0), ("u", 0), ("u", 9)) == (0, [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, 0, 0])
    assert world.committed() == {("t", 0): 5}


def test_if_a_subscription_cannot_be_read_any_topic_may_be_in_use() -> None:
    world = World()
    world.settle("ann", protocols={"range": b"?"})

    assert delete(world, ("t", 0)) == (0, [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC])


@pytest.mark.parametrize(
    ("group", "error_code"),
    [
        ("", ErrorCode.INVALID_GROUP_ID),
        ("nobody", ErrorCode.GROUP_ID_NOT_FOUND),
        ("connect", ErrorCode.NON_EMPTY_GROUP),
    ],
)
def test_offsets_of_these_groups_cannot_be_deleted(group: str, error_code: ErrorCode) -> None:
    world = World()
    world.settle("ann", group="connect", protocol_type="connect")

    assert delete(world, ("t", 0), group=group) == (error_code, [])


def test_what_was_committed_for_deleted_topics_is_forgotten_in_all_groups() -> None:
    world = World()
    for group, topic in (("g", "t"), ("g", "u"), ("h", "t")):
        world.commit(5, group=group, topic=topic)

    world.carry_out(world.machine.commits.forget_topics(["t", "never seen"], world.now))

    assert (world.committed("g"), world.committed("h")) == ({("u", 0): 5}, {})


# What is forgotten as time passes


def test_offsets_of_a_group_without_members_expire_as_long_after_the_commit() -> None:
    world = World(offsets_retention_minutes=10)
    world.commit(5)
    world.advance(MINUTE_MS)
    world.commit(6, partition=1)

    world.advance(9 * MINUTE_MS - 1)
    world.expire_offsets()
    all_there = world.committed()
    world.advance(1)
    world.expire_offsets()

    assert all_there == {("t", 0): 5, ("t", 1): 6}
    assert world.committed() == {("t", 1): 6}


def test_the_group_goes_with_its_last_offset() -> None:
    world = World(offsets_retention_minutes=10)
    world.commit(5)

    world.advance(10 * MINUTE_MS)
    world.expire_offsets()

    assert world.machine.groups == {}
    assert world.reloaded().machine.groups == {}


def test_an_active_group_keeps_the_offsets_of_what_it_reads_however_old() -> None:
    world = World(offsets_retention_minutes=10)
    world.settle("ann", session_timeout_ms=1_800_000, protocols={"range": READS_T})
    world.commit(5, name="ann")
    world.commit(6, name="ann", topic="u")

    world.advance(20 * MINUTE_MS)
    world.expire_offsets()

    assert world.committed() == {("t", 0): 5}


def test_the_time_counts_from_when_the_last_member_left() -> None:
    world = World(offsets_retention_minutes=10)
    world.settle("ann", session_timeout_ms=1_800_000, protocols={"range": READS_T})
    world.commit(5, name="ann")
    world.advance(20 * MINUTE_MS)
    world.leave("ann")

    world.advance(10 * MINUTE_MS - 1)
    world.expire_offsets()
    before = world.committed()
    world.advance(1)
    world.expire_offsets()

    assert before == {("t", 0): 5}
    assert world.machine.groups == {}


def test_a_rebalancing_group_and_one_of_another_kind_keep_all() -> None:
    world = World(offsets_retention_minutes=10)
    world.settle("ann", session_timeout_ms=1_800_000, rebalance_timeout_ms=1_800_000)
    world.commit(5, name="ann", topic="u")
    world.settle("bob", group="h", protocol_type="connect", session_timeout_ms=1_800_000)
    world.commit(5, name="bob", group="h", topic="u")

    world.advance(20 * MINUTE_MS)
    world.join("carl", rebalance_timeout_ms=1_800_000)
    world.expire_offsets("g")
    world.expire_offsets("h")

    assert world.committed("g") == world.committed("h") == {("u", 0): 5}


def test_a_retention_time_of_its_own_beats_the_broker_s() -> None:
    world = World(offsets_retention_minutes=10)
    world.commit(5, retention_ms=DAY_MS)
    world.commit(6, partition=1, retention_ms=MINUTE_MS)

    world.advance(MINUTE_MS)
    world.expire_offsets()
    after_a_minute = world.committed()
    world.advance(DAY_MS - MINUTE_MS - 1)
    world.expire_offsets()
    within_the_day = world.committed()
    world.advance(1)
    world.expire_offsets()

    assert after_a_minute == within_the_day == {("t", 0): 5}
    assert world.committed() == {}


def test_a_retention_time_beyond_all_time_ends_with_it() -> None:
    world = World()

    assert world.commit(5, retention_ms=2**63 - 1) == ErrorCode.NONE

    stored = world.machine.offsets.get("g", "t", 0)
    assert stored is not None
    assert stored.expire_ms == 2**63 - 1
    assert decode(*encode(OffsetCommit("g", "t", 0, stored))) == OffsetCommit(
        "g", "t", 0, stored._replace(leader_epoch=-1, topic_id=NO_TOPIC_ID)
    )


def test_what_a_transaction_is_about_to_commit_keeps_the_group() -> None:
    world = World(offsets_retention_minutes=10)
    world.commit(5)
    value = CommittedOffset(9, -1, "", WALL_MS)
    world.machine.replay(OffsetCommit("g", "t", 0, value), 1, producer_id=7)

    world.advance(20 * MINUTE_MS)
    world.expire_offsets()

    assert world.committed() == {("t", 0): 5}


def test_an_empty_group_without_offsets_goes() -> None:
    world = World()
    world.settle("ann")
    world.leave("ann")

    world.expire_offsets()

    assert world.machine.groups == {}


def test_a_group_that_somebody_is_about_to_join_stays() -> None:
    world = World()
    world.settle("ann")
    world.leave("ann")
    world.join("bob", version=4)

    world.expire_offsets()

    assert "g" in world.machine.groups


# As part of a transaction

PRODUCER = ProducerIdentity(7, 0)


def test_a_transaction_s_offsets_count_once_it_is_committed() -> None:
    world = World()

    error_code = world.commit(5, producer=PRODUCER)
    before = world.committed()
    world.machine.replay_marker(PRODUCER.producer_id, is_commit=True)

    assert (error_code, before, world.committed()) == (0, {}, {("t", 0): 5})


def test_an_aborted_transaction_s_offsets_are_gone() -> None:
    world = World()
    world.commit(4)

    world.commit(5, producer=PRODUCER)
    world.machine.replay_marker(PRODUCER.producer_id, is_commit=False)

    assert world.committed() == {("t", 0): 4}
    assert not world.machine.offsets.has_undecided("g")


def test_a_restart_finds_a_transaction_s_offsets_undecided() -> None:
    world = World()
    world.commit(5, producer=PRODUCER)

    again = world.reloaded()

    assert again.machine.offsets == world.machine.offsets
    assert again.machine.offsets.is_undecided("g", "t", 0)


def test_of_a_plain_and_a_transactional_commit_the_later_in_the_log_wins() -> None:
    """Row 64."""
    world = World()
    world.commit(5, producer=PRODUCER)
    world.commit(6)
    world.machine.replay_marker(PRODUCER.producer_id, is_commit=True)

    assert world.committed() == {("t", 0): 6}


def test_a_transactional_commit_is_held_against_the_generation_if_it_names_a_member() -> None:
    """Row 63."""
    world = World()
    world.settle("ann", "static-bob/1")

    accepted = world.commit(5, name="ann", producer=PRODUCER)
    late = world.commit(5, name="ann", generation=0, producer=PRODUCER)
    stranger = world.commit(5, name="eve", generation=1, producer=PRODUCER)
    fenced = world.commit(5, name="static-bob/2", generation=1, producer=PRODUCER)

    assert (accepted, late, stranger) == (0, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)
    assert fenced == ErrorCode.FENCED_INSTANCE_ID


def test_a_transactional_commit_that_names_nobody_is_accepted_whoever_is_there() -> None:
    world = World()
    world.settle("ann")

    assert world.commit(5, producer=PRODUCER) == 0


def test_a_transactional_commit_of_a_member_is_accepted_while_the_leader_is_about_to_assign() -> None:
    world = World()
    world.join("ann")
    world.advance(0)

    assert world.commit(5, name="ann", generation=1, producer=PRODUCER) == 0


def test_a_transactional_commit_for_a_generation_of_no_group_is_refused() -> None:
    assert World().commit(5, generation=3, version=0, producer=PRODUCER) == ErrorCode.ILLEGAL_GENERATION
