"""The bench's hand-written bytes of consumer groups against riverlog's own codecs."""

import pytest

from bench import wire_groups
from bench.errors import Refused
from riverlog.protocol import codec, messages
from tests.unit.bench.test_wire import decoded, response

TOPIC_ID = bytes(range(16))


def test_a_join_names_the_group_the_member_and_one_protocol() -> None:
    request = decoded(wire_groups.join_group_request("group", "member", b"topics"))

    assert request == messages.JoinGroupRequest(
        group_id="group",
        session_timeout_ms=60_000,
        rebalance_timeout_ms=120_000,
        member_id="member",
        protocol_type="consumer",
        protocols=[messages.JoinGroupRequestProtocol(name="range", metadata=b"topics")],
    )


def test_a_subscription_is_what_consumers_say_to_their_leader() -> None:
    content = wire_groups.subscription(["one", "other"])

    assert content[:2] == b"\0\1"
    said = codec.decode("ConsumerProtocolSubscription", 1, content, 2)
    assert (said.topics, said.user_data, said.owned_partitions) == (["one", "other"], None, [])


def test_a_joined_leader_reads_who_is_in() -> None:
    members = [
        messages.JoinGroupResponseMember(member_id=name, metadata=b"topics") for name in ("one", "other")
    ]
    answer = messages.JoinGroupResponse(
        generation_id=3, protocol_name="range", leader="one", member_id="one", members=members
    )

    joined = wire_groups.read_joined(response(11, 5, answer))

    assert joined == (0, 3, "one", "one", ["one", "other"])


def test_a_leaders_sync_brings_everybodys_assignment() -> None:
    request = decoded(wire_groups.sync_group_request("group", 3, "one", [("one", b"0"), ("other", b"1")]))

    assert request == messages.SyncGroupRequest(
        group_id="group",
        generation_id=3,
        member_id="one",
        assignments=[
            messages.SyncGroupRequestAssignment(member_id="one", assignment=b"0"),
            messages.SyncGroupRequestAssignment(member_id="other", assignment=b"1"),
        ],
    )


def test_a_synced_member_reads_its_assignment() -> None:
    answer = messages.SyncGroupResponse(error_code=27, assignment=b"partitions")

    assert wire_groups.read_synced(response(14, 3, answer)) == (27, b"partitions")


def test_signs_of_life_and_farewells_name_their_members() -> None:
    assert decoded(wire_groups.heartbeat_request("group", 3, "one")) == messages.HeartbeatRequest(
        group_id="group", generation_id=3, member_id="one"
    )
    assert decoded(wire_groups.leave_group_request("group", ["one", "other"])) == messages.LeaveGroupRequest(
        group_id="group",
        members=[messages.MemberIdentity(member_id="one"), messages.MemberIdentity(member_id="other")],
    )
    assert decoded(wire_groups.delete_groups_request(["group"])) == messages.DeleteGroupsRequest(
        groups_names=["group"]
    )
    assert decoded(wire_groups.find_coordinator_request("group", 0)) == messages.FindCoordinatorRequest(
        key="group", key_type=0
    )


@pytest.mark.parametrize(
    "frame",
    [
        response(10, 1, messages.FindCoordinatorResponse(error_code=15)),
        response(12, 3, messages.HeartbeatResponse(error_code=15)),
        response(13, 3, messages.LeaveGroupResponse(error_code=15)),
    ],
)
def test_the_error_code_stands_after_the_throttle_time(frame: bytes) -> None:
    assert wire_groups.read_error(frame) == 15


def test_deleted_groups_are_answered_one_by_one() -> None:
    results = [
        messages.DeletableGroupResult(group_id="one"),
        messages.DeletableGroupResult(group_id="other", error_code=68),
    ]

    errors = wire_groups.read_group_errors(response(42, 1, messages.DeleteGroupsResponse(results=results)))

    assert errors == {"one": 0, "other": 68}


def test_a_commit_comes_from_outside_of_the_membership() -> None:
    request = decoded(wire_groups.offset_commit_request("group", "topic", 3, offset=1 << 40))

    partition = messages.OffsetCommitRequestPartition(
        partition_index=3, committed_offset=1 << 40, committed_leader_epoch=-1, committed_metadata=""
    )
    assert request == messages.OffsetCommitRequest(
        group_id="group",
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[messages.OffsetCommitRequestTopic(name="topic", partitions=[partition])],
    )


def test_the_error_code_of_a_commit_is_where_it_is_said_to_be() -> None:
    def answer(error_code: int) -> bytes:
        partition = messages.OffsetCommitResponsePartition(partition_index=3, error_code=error_code)
        topic = messages.OffsetCommitResponseTopic(name="topic", partitions=[partition])
        return response(8, 7, messages.OffsetCommitResponse(topics=[topic]))

    error_code, position = wire_groups.read_committed(answer(0x0102))

    assert error_code == 0x0102
    assert answer(0x0102)[:position] + b"\0\0" + answer(0x0102)[position + 2 :] == answer(0)


def test_committed_offsets_are_read_unless_refused() -> None:
    def answer(error_code: int) -> bytes:
        partition = messages.OffsetFetchResponsePartition(
            partition_index=3, committed_offset=41, committed_leader_epoch=-1, metadata=""
        )
        topic = messages.OffsetFetchResponseTopic(name="topic", partitions=[partition])
        return response(9, 5, messages.OffsetFetchResponse(topics=[topic], error_code=error_code))

    assert decoded(wire_groups.offset_fetch_request("group", "topic", 3)) == messages.OffsetFetchRequest(
        group_id="group",
        topics=[messages.OffsetFetchRequestTopic(name="topic", partition_indexes=[3])],
    )
    assert wire_groups.read_committed_offset(answer(0)) == 41
    with pytest.raises(Refused, match="16"):
        wire_groups.read_committed_offset(answer(16))


def test_a_member_joins_a_group_that_the_broker_assigns() -> None:
    request = wire_groups.consumer_group_heartbeat_request(
        "group", "member", 0, topics=["one", "two"], owned={}
    )

    assert decoded(request) == messages.ConsumerGroupHeartbeatRequest(
        group_id="group",
        member_id="member",
        member_epoch=0,
        rebalance_timeout_ms=120_000,
        subscribed_topic_names=["one", "two"],
        topic_partitions=[],
    )


@pytest.mark.parametrize("owned", [None, {TOPIC_ID: [0, 2]}])
def test_a_member_says_what_it_has_or_that_nothing_is_new(owned: wire_groups.Owned | None) -> None:
    request = wire_groups.consumer_group_heartbeat_request("group", "member", 3, owned=owned)

    partitions = messages.ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=TOPIC_ID, partitions=[0, 2])
    assert decoded(request) == messages.ConsumerGroupHeartbeatRequest(
        group_id="group",
        member_id="member",
        member_epoch=3,
        rebalance_timeout_ms=-1,
        subscribed_topic_names=None,
        topic_partitions=None if owned is None else [partitions],
    )


@pytest.mark.parametrize("assigned", [None, {TOPIC_ID: [0, 2]}])
def test_a_member_reads_its_epoch_and_its_partitions_if_they_changed(
    assigned: wire_groups.Owned | None,
) -> None:
    partitions = messages.ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=TOPIC_ID, partitions=[0, 2])
    assignment = messages.ConsumerGroupHeartbeatResponseAssignment(topic_partitions=[partitions])
    answer = messages.ConsumerGroupHeartbeatResponse(
        member_id="member", member_epoch=3, assignment=None if assigned is None else assignment
    )

    assert wire_groups.read_beat(response(68, 1, answer)) == (0, 3, assigned)
