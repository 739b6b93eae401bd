"""The classic group protocol request by request: what a coordinator answers, to whom, and when.

These are claims about Apache Kafka as much as about riverlog. RIVERLOG_TEST_BOOTSTRAP may name a broker of
Kafka's, started with the settings below.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.live_broker import LiveBroker

from .drivers import await_that
from .drivers.librdkafka import Librdkafka
from .group_wire import (
    Connection,
    Member,
    assign,
    commit,
    committed,
    describe,
    join_all,
    settle,
    subscription,
)

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.max.size": "3",
}


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker whose groups are small and whose members may have short sessions."""
    given = os.environ.get("RIVERLOG_TEST_BOOTSTRAP")
    if given:
        yield given
        return
    with LiveBroker(tmp_path_factory.mktemp("groups") / "data", settings=SETTINGS) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def admin(bootstrap: str) -> Iterator[Connection]:
    """A connection that belongs to no member."""
    connection = Connection(bootstrap)
    await_that(
        lambda: (
            connection.call(messages.FindCoordinatorRequest(coordinator_keys=["g"])).coordinators[0].port > 0
        ),
        "there is a coordinator",
    )
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def topic(bootstrap: str, topic_name: Callable[[], str]) -> str:
    """A topic with two partitions to commit for."""
    client, name = Librdkafka(bootstrap), topic_name()
    client.create_topic(name, partitions=2)
    await_that(lambda: client.topics().get(name) == 2, f"{name} has 2 partitions")
    return name


@pytest.fixture
def group(topic_name: Callable[[], str]) -> str:
    return f"g-{topic_name()}"


@pytest.fixture
def new_member(admin: Connection, bootstrap: str, group: str) -> Iterator[Callable[..., Member]]:
    """Make members of the test's group; those who still are leave with the test."""
    made: list[Member] = []

    def make(**how: object) -> Member:
        made.append(Member(bootstrap, group, **how))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for member in made:
        member.connection.close()


# Joining


def test_a_dynamic_member_gets_an_id_and_joins_with_it(new_member: Callable[..., Member]) -> None:
    member = new_member(client_id="me")

    member.begin_join(version=4)
    first = member.finish_join()
    member.begin_join(version=4)
    second = member.finish_join()

    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert first.member_id.startswith("me-")
    assert (second.error_code, second.generation_id, second.leader) == (0, 1, first.member_id)
    assert (second.member_id, second.protocol_name) == (first.member_id, "range")


@pytest.mark.parametrize("version", [0, 3])
def test_an_old_member_joins_in_one_step(new_member: Callable[..., Member], version: int) -> None:
    member = new_member()

    member.begin_join(version)
    response = member.finish_join()

    assert (response.error_code, response.generation_id) == (0, 1)
    assert response.leader == response.member_id != ""


def test_the_leader_learns_everybody_s_metadata_and_gives_everybody_an_assignment(
    new_member: Callable[..., Member],
) -> None:
    members = [new_member(protocols={"range": subscription("t", user_data=b"%d" % n)}) for n in range(3)]

    leader = join_all(members)
    told = dict(leader.members)
    followers_told = [member.members for member in members if member is not leader]
    assign(members, leader)

    assert told == {member.member_id: member.protocols["range"] for member in members}
    assert followers_told == [{}, {}]


def test_a_member_that_the_leader_left_out_gets_nothing(new_member: Callable[..., Member]) -> None:
    first, second = new_member(), new_member()
    leader = join_all([first, second])
    follower = second if leader is first else first

    follower.begin_sync()
    leader.begin_sync({leader.member_id: b"all", "nobody": b"none"})

    assert leader.finish_sync().assignment == b"all"
    assert follower.finish_sync().assignment == b""


def test_the_protocol_that_most_members_prefer_is_taken(new_member: Callable[..., Member]) -> None:
    a, b, c = (subscription("a"), subscription("b"), subscription("c"))
    members = [
        new_member(protocols={"sticky": a, "range": a}),
        new_member(protocols={"range": b, "sticky": b}),
        new_member(protocols={"range": c, "other": c, "sticky": c}),
    ]

    leader = join_all(members)

    assert {member.protocol for member in members} == {"range"}
    assert leader.members[members[2].member_id] == c


@pytest.mark.parametrize(
    "other", [{"protocols": {"sticky": b""}}, {"protocol_type": "connect"}], ids=["protocol", "type"]
)
def test_who_has_nothing_in_common_with_the_group_is_refused(
    new_member: Callable[..., Member], other: dict[str, object]
) -> None:
    settle(new_member())

    response = new_member(**other).join()

    assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("session_timeout_ms", [499, 1_800_001])
def test_a_session_outside_the_limits_is_refused(
    new_member: Callable[..., Member], session_timeout_ms: int
) -> None:
    response = new_member(session_timeout_ms=session_timeout_ms).join()

    assert response.error_code == ErrorCode.INVALID_SESSION_TIMEOUT


def test_a_group_without_a_name_is_refused(bootstrap: str, admin: Connection) -> None:
    member = Member(bootstrap, "")

    joined = member.join()
    member.member_id, member.generation = "x", 1

    assert joined.error_code == ErrorCode.INVALID_GROUP_ID
    assert member.heartbeat() == ErrorCode.INVALID_GROUP_ID
    assert member.sync(protocol="range").error_code == ErrorCode.INVALID_GROUP_ID
    member.connection.close()


def test_a_full_group_takes_nobody_else(new_member: Callable[..., Member]) -> None:
    members = [new_member() for _ in range(3)]
    settle(*members)

    response = new_member().join()

    assert response.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert [member.heartbeat() for member in members] == [0, 0, 0]


def test_an_id_that_the_group_did_not_give_is_unknown(new_member: Callable[..., Member]) -> None:
    settle(new_member())
    stranger = new_member()
    stranger.member_id, stranger.generation = "stranger", 1

    answers = [stranger.join().error_code, stranger.sync(protocol="range").error_code, stranger.heartbeat()]

    assert answers == [ErrorCode.UNKNOWN_MEMBER_ID] * 3


# Rebalancing


def test_members_learn_from_heartbeats_that_they_must_join_again(new_member: Callable[..., Member]) -> None:
    old, new = new_member(), new_member()
    settle(old)

    new.get_id()
    new.begin_join()
    await_that(lambda: old.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS, "the group rebalances")
    sync = old.sync().error_code
    commit_answer = old.commit("nowhere", 1)
    waits = not new.connection.has_answer()
    old.begin_join()
    joined = [old.finish_join(), new.finish_join()]

    assert sync == ErrorCode.REBALANCE_IN_PROGRESS
    assert commit_answer == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert waits
    assert [response.generation_id for response in joined] == [2, 2]
    assert old.heartbeat(generation=1) == ErrorCode.ILLEGAL_GENERATION
    assert old.sync(generation=1).error_code == ErrorCode.ILLEGAL_GENERATION


def test_followers_wait_for_the_leader_and_may_send_heartbeats_meanwhile(
    new_member: Callable[..., Member], admin: Connection
) -> None:
    first, second = new_member(), new_member()
    leader = join_all([first, second])
    follower = second if leader is first else first

    follower.begin_sync()
    alive = follower.heartbeat(connection=admin)
    state = describe(admin, follower.group).group_state
    waits = not follower.connection.has_answer()
    leader.sync({follower.member_id: b"yours"})

    assert alive == 0
    assert state == "CompletingRebalance"
    assert waits
    assert follower.finish_sync().assignment == b"yours"
    assert describe(admin, follower.group).group_state == "Stable"


def test_a_late_follower_gets_its_assignment_when_it_asks(new_member: Callable[..., Member]) -> None:
    first, second = new_member(), new_member()
    leader = join_all([first, second])
    follower = second if leader is first else first

    leader.sync({follower.member_id: b"yours"})

    assert [follower.sync().assignment for _ in range(2)] == [b"yours", b"yours"]


def test_who_waits_for_an_assignment_is_told_when_somebody_else_joins(
    new_member: Callable[..., Member],
) -> None:
    first, second, third = new_member(), new_member(), new_member()
    leader = join_all([first, second])
    follower = second if leader is first else first
    follower.begin_sync()

    third.get_id()
    third.begin_join()

    assert follower.finish_sync().error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_sync_for_another_protocol_is_refused(new_member: Callable[..., Member]) -> None:
    member = new_member()
    member.join()

    assert member.sync(protocol="sticky").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_follower_s_join_that_changes_nothing_gives_the_present_generation(
    new_member: Callable[..., Member],
) -> None:
    members = [new_member(), new_member()]
    leader = settle(*members)
    follower = members[members[0] is leader]

    again = follower.join()

    assert (again.error_code, again.leader) == (0, leader.member_id)
    assert again.generation_id == leader.generation
    assert leader.heartbeat() == 0


def test_a_changed_subscription_makes_the_group_rebalance(new_member: Callable[..., Member]) -> None:
    members = [new_member(), new_member()]
    leader = settle(*members)
    follower = members[members[0] is leader]

    follower.protocols = {"range": subscription("t", "u")}
    follower.begin_join()
    await_that(lambda: leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS, "the group rebalances")
    leader.join()

    assert follower.finish_join().generation_id == leader.generation
    assert leader.members[follower.member_id] == subscription("t", "u")


def test_a_leader_s_join_makes_the_group_rebalance(new_member: Callable[..., Member]) -> None:
    members = [new_member(), new_member()]
    leader = settle(*members)
    follower = members[members[0] is leader]

    before = leader.generation
    leader.begin_join()
    await_that(lambda: follower.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS, "the group rebalances")
    follower.join()

    assert leader.finish_join().generation_id == follower.generation == before + 1


def test_a_silent_member_is_out_when_its_session_ends(new_member: Callable[..., Member]) -> None:
    silent, alive = new_member(session_timeout_ms=500), new_member()
    settle(silent, alive)

    await_that(lambda: alive.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS, "the silent member is out")
    joined = alive.join()

    assert joined.leader == alive.member_id
    assert list(alive.members) == [alive.member_id]
    assert silent.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_lost_connection_is_no_reason_to_be_out(
    new_member: Callable[..., Member], admin: Connection
) -> None:
    member = new_member()
    settle(member)

    member.connection.close()

    assert member.heartbeat(connection=admin) == 0


def test_who_does_not_join_in_time_is_out(new_member: Callable[..., Member]) -> None:
    late = new_member(rebalance_timeout_ms=300)
    eager = new_member(rebalance_timeout_ms=300)
    settle(late)

    joined = eager.join()

    assert (joined.error_code, joined.generation_id) == (0, 2)
    assert list(eager.members) == [eager.member_id]
    assert late.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_never_asks_for_its_assignment_is_out(new_member: Callable[..., Member]) -> None:
    members = [new_member(rebalance_timeout_ms=400) for _ in range(2)]
    leader = join_all(members)
    idle = members[members[0] is leader]

    leader.sync({})
    await_that(lambda: leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS, "the group gave up on it")

    assert idle.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_member_that_does_not_come_back_holds_nobody_up_for_long(
    new_member: Callable[..., Member],
) -> None:
    pending, member = new_member(session_timeout_ms=500), new_member()
    pending.get_id()

    joined = member.join()

    assert (joined.error_code, list(member.members)) == (0, [member.member_id])


# Static members


def test_a_restarted_static_member_takes_its_place_without_a_rebalance(
    new_member: Callable[..., Member],
) -> None:
    leader, old = new_member(), new_member(instance_id="static")
    settle(leader)
    settle(old, leader)

    restarted = new_member(instance_id="static")
    joined = restarted.join()

    assert (joined.error_code, joined.generation_id) == (0, old.generation)
    assert joined.member_id not in ("", old.member_id)
    assert restarted.sync().assignment == old.member_id.encode()
    assert leader.heartbeat() == 0
    assert old.heartbeat() == ErrorCode.FENCED_INSTANCE_ID
    assert old.sync().error_code == ErrorCode.FENCED_INSTANCE_ID
    assert old.commit("nowhere", 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert old.join().error_code == ErrorCode.FENCED_INSTANCE_ID
    assert old.leave() == ErrorCode.FENCED_INSTANCE_ID


def test_a_restarted_static_leader_is_told_not_to_assign(new_member: Callable[..., Member]) -> None:
    follower, old = new_member(), new_member(instance_id="static")
    settle(old)
    settle(follower, old)

    restarted = new_member(instance_id="static")
    joined = restarted.join(version=9)

    assert (joined.leader, joined.skip_assignment) == (joined.member_id, True)
    assert set(restarted.members) == {joined.member_id, follower.member_id}
    assert restarted.sync().assignment == old.member_id.encode()


def test_an_old_restarted_static_leader_takes_itself_for_a_follower(
    new_member: Callable[..., Member],
) -> None:
    old = new_member(instance_id="static")
    settle(old)

    joined = new_member(instance_id="static").join(version=8)

    assert joined.leader == old.member_id != joined.member_id
    assert joined.members == []


def test_a_second_instance_of_a_name_fences_the_first_that_still_waits(
    new_member: Callable[..., Member],
) -> None:
    leader, first, second = new_member(), new_member(instance_id="one"), new_member(instance_id="one")
    settle(leader)

    first.begin_join()
    await_that(lambda: leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS, "the first one waits")
    second.begin_join()

    assert first.finish_join().error_code == ErrorCode.FENCED_INSTANCE_ID
    leader.join()
    assert second.finish_join().error_code == 0


def test_a_static_member_that_does_not_join_in_time_stays(new_member: Callable[..., Member]) -> None:
    static = new_member(instance_id="static", rebalance_timeout_ms=300, session_timeout_ms=20_000)
    other = new_member(rebalance_timeout_ms=300)
    settle(static)

    joined = other.join()

    assert joined.leader == other.member_id
    assert set(other.members) == {other.member_id, static.member_id}


# Leaving


def test_members_leave_in_one_request_each_with_an_answer_of_its_own(
    new_member: Callable[..., Member], admin: Connection, group: str
) -> None:
    dynamic, static, stays = new_member(), new_member(instance_id="static"), new_member()
    settle(dynamic, static, stays)

    response = admin.call(
        messages.LeaveGroupRequest(
            group_id=group,
            members=[
                messages.MemberIdentity(member_id=dynamic.member_id),
                messages.MemberIdentity(group_instance_id="static"),
                messages.MemberIdentity(member_id="stranger"),
                messages.MemberIdentity(group_instance_id="nobody"),
                messages.MemberIdentity(member_id=stays.member_id, group_instance_id="static"),
            ],
        )
    )
    stays.join()

    assert response.error_code == 0
    assert [member.error_code for member in response.members] == [
        0,
        0,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert list(stays.members) == [stays.member_id]


@pytest.mark.parametrize("version", [0, 2])
def test_an_old_leave_names_one_member_and_has_one_error(
    new_member: Callable[..., Member], admin: Connection, group: str, version: int
) -> None:
    member = new_member()
    settle(member)

    answers = [
        admin.call(messages.LeaveGroupRequest(group_id=group, member_id=member_id), version).error_code
        for member_id in ("stranger", member.member_id, member.member_id)
    ]

    assert answers == [ErrorCode.UNKNOWN_MEMBER_ID, 0, ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_group_is_empty_when_the_last_member_has_left(
    new_member: Callable[..., Member], admin: Connection, group: str
) -> None:
    member = new_member()
    settle(member)

    member.leave()
    described = describe(admin, group)
    returned = new_member().join()

    assert (described.group_state, described.protocol_type, described.members) == ("Empty", "consumer", [])
    assert returned.generation_id == 3


# Committing


def test_only_members_of_the_present_generation_commit(
    new_member: Callable[..., Member], admin: Connection, group: str, topic: str
) -> None:
    member = new_member()
    settle(member)

    answers = [
        member.commit(topic, 5),
        member.commit(topic, 6, generation=0),
        commit(admin, group, topic, 7),
        commit(admin, group, topic, 8, member_id="stranger", generation=1),
    ]

    assert answers == [
        0,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert committed(admin, group) == {(topic, 0): 5}


def test_a_member_may_commit_before_it_joins_again_and_not_until_it_is_assigned(
    new_member: Callable[..., Member], admin: Connection, topic: str
) -> None:
    old, new = new_member(), new_member()
    settle(old)

    new.get_id()
    new.begin_join()
    await_that(lambda: old.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS, "the group rebalances")
    preparing = old.commit(topic, 1)
    old.join()
    new.finish_join()
    completing = old.commit(topic, 2)
    assign([old, new], old if old.is_leader else new)
    stable = old.commit(topic, 3)

    assert [preparing, completing, stable] == [0, ErrorCode.REBALANCE_IN_PROGRESS, 0]


def test_anybody_commits_for_an_empty_group(admin: Connection, group: str, topic: str) -> None:
    answers = [commit(admin, group, topic, 5), commit(admin, group, topic, 6, member_id="anybody")]

    assert answers == [0, 0]
    assert committed(admin, group) == {(topic, 0): 6}


def test_a_member_of_a_group_that_is_gone_is_told_in_its_version_s_words(
    admin: Connection, group: str, topic: str
) -> None:
    answers = [
        commit(admin, group, topic, 5, member_id="x", generation=1, version=version) for version in (8, 9)
    ]

    assert answers == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.GROUP_ID_NOT_FOUND]


def test_commits_round_trip_with_metadata_and_leader_epoch(admin: Connection, group: str, topic: str) -> None:
    answers = [
        commit(admin, group, topic, 5, metadata="a note", leader_epoch=3),
        commit(admin, group, topic, 6, partition=1, metadata=None),
        commit(admin, group, topic, 7, partition=1, metadata="x" * 4097),
        commit(admin, group, topic, 8, partition=2),
        commit(admin, group, "nowhere", 9),
    ]
    fetched = admin.call(
        messages.OffsetFetchRequest(
            group_id=group,
            topics=[
                messages.OffsetFetchRequestTopic(name=topic, partition_indexes=[0, 1, 2]),
                messages.OffsetFetchRequestTopic(name="nowhere", partition_indexes=[0]),
            ],
        ),
        7,
    )

    assert answers == [
        0,
        0,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert [
        (each.committed_offset, each.committed_leader_epoch, each.metadata, each.error_code)
        for topic_answer in fetched.topics
        for each in topic_answer.partitions
    ] == [(5, 3, "a note", 0), (6, -1, "", 0), (-1, -1, "", 0), (-1, -1, "", 0)]


def test_topics_may_be_named_by_id(bootstrap: str, admin: Connection, group: str, topic: str) -> None:
    (described,) = admin.call(
        messages.MetadataRequest(topics=[messages.MetadataRequestTopic(name=topic)])
    ).topics
    known, unknown = described.topic_id, bytes(15) + b"\x07"

    commits = admin.call(
        messages.OffsetCommitRequest(
            group_id=group,
            topics=[
                messages.OffsetCommitRequestTopic(
                    topic_id=topic_id,
                    partitions=[
                        messages.OffsetCommitRequestPartition(
                            partition_index=0, committed_offset=5, committed_metadata=""
                        )
                    ],
                )
                for topic_id in (known, unknown)
            ],
        ),
        10,
    )
    (fetched,) = admin.call(
        messages.OffsetFetchRequest(
            groups=[
                messages.OffsetFetchRequestGroup(
                    group_id=group,
                    topics=[
                        messages.OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0])
                        for topic_id in (known, unknown)
                    ],
                )
            ]
        ),
        10,
    ).groups

    assert {each.topic_id: each.partitions[0].error_code for each in commits.topics} == {
        known: 0,
        unknown: ErrorCode.UNKNOWN_TOPIC_ID,
    }
    assert {
        each.topic_id: (each.partitions[0].committed_offset, each.partitions[0].error_code)
        for each in fetched.topics
    } == {known: (5, 0), unknown: (-1, ErrorCode.UNKNOWN_TOPIC_ID)}


def test_many_groups_are_asked_about_at_once(admin: Connection, group: str, topic: str) -> None:
    commit(admin, group, topic, 5)

    response = admin.call(
        messages.OffsetFetchRequest(
            groups=[
                messages.OffsetFetchRequestGroup(group_id=group, topics=None),
                messages.OffsetFetchRequestGroup(group_id="nobody", topics=None),
            ],
            require_stable=True,
        ),
        9,
    )

    assert [(each.group_id, each.error_code, len(each.topics)) for each in response.groups] == [
        (group, 0, 1),
        ("nobody", 0, 0),
    ]


# Administration


def test_a_stable_group_is_described_with_its_members(
    new_member: Callable[..., Member], admin: Connection, group: str
) -> None:
    member = new_member(instance_id="static", client_id="me")
    settle(member)

    described = describe(admin, group)

    (shown,) = described.members
    assert (described.group_state, described.protocol_type, described.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    assert (shown.member_id, shown.group_instance_id) == (member.member_id, "static")
    assert (shown.client_id, shown.client_host) == ("me", "/127.0.0.1")
    assert (shown.member_metadata, shown.member_assignment) == (
        member.protocols["range"],
        member.member_id.encode(),
    )


def test_a_rebalancing_group_is_described_without_what_is_about_to_change(
    new_member: Callable[..., Member], admin: Connection, group: str
) -> None:
    member = new_member()
    member.join()

    described = describe(admin, group)

    assert (described.group_state, described.protocol_data) == ("CompletingRebalance", "")
    assert [each.member_metadata for each in described.members] == [b""]


def test_a_group_that_is_not_there_is_dead(admin: Connection, group: str) -> None:
    old, new = (
        admin.call(messages.DescribeGroupsRequest(groups=[group]), version).groups[0] for version in (5, 6)
    )

    assert (old.group_state, old.error_code) == ("Dead", 0)
    assert (new.group_state, new.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)


def test_what_may_be_done_with_a_group_is_told_to_who_asks(
    new_member: Callable[..., Member], admin: Connection, group: str
) -> None:
    settle(new_member())

    asked, not_asked = (
        admin.call(messages.DescribeGroupsRequest(groups=[group], include_authorized_operations=asks), 5)
        for asks in (True, False)
    )

    read, delete, describe_, describe_configs, alter_configs = 3, 6, 8, 10, 11
    assert asked.groups[0].authorized_operations == sum(
        1 << operation for operation in (read, delete, describe_, describe_configs, alter_configs)
    )
    assert not_asked.groups[0].authorized_operations == -(1 << 31)


@pytest.mark.parametrize(
    ("states", "types", "is_listed"),
    [
        ([], [], True),
        (["Stable", "Empty"], [], True),
        (["stable"], ["Classic"], True),
        (["Empty"], [], False),
        (["no such state"], [], False),
        ([], ["consumer"], False),
    ],
)
def test_groups_are_listed_by_state_and_type(
    new_member: Callable[..., Member],
    admin: Connection,
    group: str,
    states: list[str],
    types: list[str],
    is_listed: bool,
) -> None:
    settle(new_member())

    response = admin.call(messages.ListGroupsRequest(states_filter=states, types_filter=types))

    found = [each for each in response.groups if each.group_id == group]
    assert [(each.protocol_type, each.group_state, each.group_type) for each in found] == (
        [("consumer", "Stable", "classic")] if is_listed else []
    )


def test_groups_are_deleted_only_when_they_are_empty(
    new_member: Callable[..., Member], admin: Connection, group: str, topic: str
) -> None:
    member = new_member()
    settle(member)
    member.commit(topic, 5)

    def delete() -> dict[str, int]:
        response = admin.call(messages.DeleteGroupsRequest(groups_names=[group, "nobody"]))
        return {each.group_id: each.error_code for each in response.results}

    while_busy = delete()
    member.leave()
    when_empty = delete()

    assert while_busy == {group: ErrorCode.NON_EMPTY_GROUP, "nobody": ErrorCode.GROUP_ID_NOT_FOUND}
    assert when_empty == {group: 0, "nobody": ErrorCode.GROUP_ID_NOT_FOUND}
    assert committed(admin, group) == {}
    assert describe(admin, group).group_state == "Dead"


def delete_offset(connection: Connection, group: str, topic: str, *partitions: int) -> list[int]:
    """Forget what a group committed: the error of the whole, or of each partition."""
    response: messages.OffsetDeleteResponse = connection.call(
        messages.OffsetDeleteRequest(
            group_id=group,
            topics=[
                messages.OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[
                        messages.OffsetDeleteRequestPartition(partition_index=partition)
                        for partition in partitions
                    ],
                )
            ],
        )
    )
    if response.error_code:
        return [response.error_code]
    told = {
        partition.partition_index: partition.error_code
        for answer in response.topics
        for partition in answer.partitions
    }
    return [told[partition] for partition in partitions]


def test_offsets_of_topics_that_nobody_reads_can_be_deleted(
    new_member: Callable[..., Member], admin: Connection, group: str, topic: str
) -> None:
    member = new_member(protocols={"range": subscription(topic)})
    settle(member)
    for partition in (0, 1):
        member.commit(topic, 5, partition=partition)

    while_read = delete_offset(admin, group, topic, 0)
    member.leave()
    afterwards = delete_offset(admin, group, topic, 0, 7)

    assert while_read == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]
    assert afterwards == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert committed(admin, group) == {(topic, 1): 5}


def test_offsets_of_a_busy_group_of_another_kind_cannot_be_deleted(
    new_member: Callable[..., Member], admin: Connection, group: str, topic: str
) -> None:
    member = new_member(protocol_type="connect")
    settle(member)

    assert delete_offset(admin, group, topic, 0) == [ErrorCode.NON_EMPTY_GROUP]
    assert delete_offset(admin, "nobody", topic, 0) == [ErrorCode.GROUP_ID_NOT_FOUND]


def test_a_deleted_topic_s_offsets_are_forgotten(
    bootstrap: str, admin: Connection, group: str, topic_name: Callable[[], str]
) -> None:
    client, doomed = Librdkafka(bootstrap), topic_name()
    client.create_topic(doomed)
    await_that(lambda: commit(admin, group, doomed, 5) == 0, f"{doomed} is there")

    client.delete_topic(doomed)

    await_that(lambda: committed(admin, group) == {}, "the offsets are forgotten")


@pytest.mark.parametrize("version", range(7))
def test_both_kinds_of_coordinator_are_found_in_every_version(
    admin: Connection, bootstrap: str, version: int
) -> None:
    port = int(bootstrap.rpartition(":")[2])

    def find(key_type: int) -> list[tuple[int, int]]:
        request = messages.FindCoordinatorRequest(key="k", key_type=key_type, coordinator_keys=["k", "l"])
        response = admin.call(request, version)
        found = response.coordinators if version >= 4 else [response]
        return [(each.error_code, each.port) for each in found]

    expected = [(0, port)] * (2 if version >= 4 else 1)
    await_that(lambda: find(0) == expected, "the group's coordinator is found")
    await_that(lambda: version == 0 or find(1) == expected, "the transaction's coordinator is found")
    assert version == 0 or find(9) == [(ErrorCode.INVALID_REQUEST, -1)] * len(expected)
