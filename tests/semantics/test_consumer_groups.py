"""Groups that the broker assigns for: what a member may rely on, request by request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.process.raw_client import RawClient

from .asking import Topic, eventually
from .conftest import BrokerUnderTest, GivenBroker
from .heartbeats import (
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    GOES_AWAY,
    JOIN_GROUP,
    LEAVES,
    LIST_GROUPS,
    OFFSET_DELETE,
    Group,
)

NewTopic = Callable[..., Topic]


@pytest.fixture
def group(client: RawClient, new_topic: NewTopic, topic_name: Callable[[], str]) -> Group:
    """A group of a topic of four partitions, of which its coordinator knows."""
    topic = new_topic(4)
    probe = Group(client, topic_name(), topic)

    def is_known() -> bool:
        probe.join("probe")
        probe.beat("probe", LEAVES)
        return len(probe.owned["probe"]) == 4

    eventually(is_known, f"{topic.name} is known to the coordinator")
    return Group(client, topic_name(), topic)


def test_epoch_0_joins_and_a_lone_member_has_everything(group: Group) -> None:
    """Row 75."""
    reply = group.join("ann")

    assert (reply.error_code, reply.member_id) == (0, "ann")
    assert reply.member_epoch > 0
    assert group.owned["ann"] == {0, 1, 2, 3}
    assert group.beat("ann").assignment is None, "nothing is told twice"


def test_a_new_owner_gets_a_partition_only_after_the_old_one_gave_it_up(group: Group) -> None:
    """Row 75: kafka#15212."""
    group.join("ann")
    group.join("bob")

    def is_told() -> bool:
        group.beat("bob")
        group.beat("ann")
        return group.owned["ann"] == {0, 1} or len(group.owned["ann"]) == 2

    eventually(is_told, "ann is told to give up half")
    kept = group.owned["ann"]
    epoch = group.epochs["ann"]
    for _ in range(3):
        assert group.beat("ann", owned=range(4)).member_epoch == epoch, "she works on what she is to give up"
        group.beat("bob")
        assert group.owned["bob"] == set()
    assert group.beat("ann", owned=kept).member_epoch > epoch
    group.settle("ann", "bob")

    assert group.owned["bob"] == set(range(4)) - kept


@pytest.mark.parametrize("ahead", [1, -1])
def test_a_wrong_epoch_is_fenced_and_may_join_again(group: Group, ahead: int) -> None:
    """Row 75."""
    epoch = group.join("ann").member_epoch

    assert group.beat("ann", epoch + ahead).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert group.join("ann").member_epoch == epoch
    assert group.owned["ann"] == {0, 1, 2, 3}


def test_the_epoch_before_is_taken_as_long_as_the_answer_may_be_lost(group: Group) -> None:
    """Row 75."""
    group.join("ann")
    group.join("bob")

    def is_told() -> bool:
        group.beat("bob")
        group.beat("ann")
        return len(group.owned["ann"]) == 2

    eventually(is_told, "ann is told to give up half")
    before = group.epochs["ann"]
    after = group.beat("ann", owned=group.owned["ann"]).member_epoch
    assert after > before

    assert group.beat("ann", before, owned=group.owned["ann"]).member_epoch == after
    assert group.beat("ann", before, owned=range(4)).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert group.beat("ann", before).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_minus_1_leaves_and_the_others_take_over(group: Group) -> None:
    """Row 75."""
    group.join("ann")
    group.join("bob")
    group.settle("ann", "bob")

    reply = group.beat("bob", LEAVES)
    assert (reply.error_code, reply.member_epoch) == (0, LEAVES)
    assert group.beat("bob", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    group.settle("ann")

    assert group.owned["ann"] == {0, 1, 2, 3}


def test_minus_2_leaves_for_a_while_and_the_successor_has_the_same(group: Group) -> None:
    """Row 75."""
    group.join("ann", instance_id="static")
    group.join("bob")
    group.settle("ann", "bob")
    had, epoch = group.owned["ann"], group.epochs["ann"]
    assert group.join("eve", instance_id="static").error_code == ErrorCode.UNRELEASED_INSTANCE_ID

    assert group.beat("ann", GOES_AWAY, instance_id="static").member_epoch == GOES_AWAY
    reply = group.join("eve", instance_id="static")

    assert (reply.error_code, reply.member_epoch) == (0, epoch)
    assert group.owned["eve"] == had
    assert group.beat("ann", epoch, instance_id="static").error_code == ErrorCode.FENCED_INSTANCE_ID
    assert group.beat("bob").member_epoch == epoch, "bob did not notice"


@pytest.mark.parametrize(
    ("fields", "error_code"),
    [
        ({"owned": [0]}, ErrorCode.INVALID_REQUEST),
        ({"owned": None}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"server_assignor": "nobody's"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"subscribed_topic_regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
)
def test_a_join_says_all_of_itself_and_nothing_that_cannot_be(
    group: Group, fields: dict[str, Any], error_code: ErrorCode
) -> None:
    """Row 75."""
    group.join("ann")

    reply = group.join("bob", **fields)

    assert reply.error_code == error_code
    assert reply.error_message


def test_who_is_not_there_is_told_so(group: Group) -> None:
    """Row 75."""
    group.join("ann")

    assert group.beat("bob", 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert group.beat("bob", LEAVES).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    group.name += "-not-there"
    assert group.beat("ann", 1).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_topics_are_matched_by_regular_expression(group: Group) -> None:
    """Row 75."""
    pattern = f"{group.topic.name[:-1]}[{group.topic.name[-1]}]"
    group.join("ann", subscribed_topic_names=None, subscribed_topic_regex=pattern)
    group.settle("ann")

    def is_matched() -> bool:
        assert not group.beat("ann").error_code
        return group.owned["ann"] == {0, 1, 2, 3}

    eventually(is_matched, "what matches is assigned")


def test_a_commit_is_in_the_member_s_epoch(group: Group) -> None:
    """Rows 65, 66 and 75: a commit with a stale member epoch."""
    epoch = group.join("ann").member_epoch

    assert group.commit("ann", epoch) == [0]
    assert group.commit("ann", epoch + 1) == [ErrorCode.STALE_MEMBER_EPOCH]
    assert group.commit("ann", epoch - 1) == [ErrorCode.STALE_MEMBER_EPOCH]
    assert group.commit("bob", epoch) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert group.commit("", -1) == [ErrorCode.UNKNOWN_MEMBER_ID], "the group is not empty"
    assert group.commit("ann", epoch, version=8) == [ErrorCode.UNSUPPORTED_VERSION]
    (topic,) = group.fetch("ann", epoch).topics
    assert [(each.committed_offset, each.metadata) for each in topic.partitions] == [(1, "note"), (-1, "")]


def test_an_older_epoch_commits_what_was_its_own_since_then(group: Group) -> None:
    """Rows 65 and 75."""
    group.join("ann")
    group.join("bob")
    group.settle("ann", "bob")
    since, now = group.epochs["ann"], group.epochs["bob"]
    group.join("carl")
    group.settle("ann", "bob", "carl")
    (kept, *_) = group.owned["ann"]
    (got, *_) = group.owned["carl"]

    assert group.epochs["ann"] > since == now
    assert group.commit("ann", since, kept) == [0]
    assert group.commit("carl", since, got) == [ErrorCode.STALE_MEMBER_EPOCH]


def test_a_member_asks_for_offsets_in_its_epoch_and_others_without_any(group: Group) -> None:
    """Rows 66 and 75."""
    epoch = group.join("ann").member_epoch

    assert group.fetch("ann", epoch).error_code == 0
    assert group.fetch(None, -1).error_code == 0
    assert group.fetch("ann", epoch + 1).error_code == ErrorCode.STALE_MEMBER_EPOCH
    assert group.fetch("bob", epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_offsets_of_what_members_read_stay_and_the_group_while_it_has_members(
    client: RawClient, group: Group
) -> None:
    """Rows 67 and 75."""
    epoch = group.join("ann").member_epoch
    group.commit("ann", epoch)
    partition = messages.OffsetDeleteRequestPartition(partition_index=0)
    topics = [messages.OffsetDeleteRequestTopic(name=group.topic.name, partitions=[partition])]
    delete = messages.OffsetDeleteRequest(group_id=group.name, topics=topics)

    def delete_group() -> int:
        (result,) = client.call(
            DELETE_GROUPS, 2, messages.DeleteGroupsRequest(groups_names=[group.name])
        ).results
        return int(result.error_code)

    (topic,) = client.call(OFFSET_DELETE, 0, delete).topics
    assert topic.partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert delete_group() == ErrorCode.NON_EMPTY_GROUP
    group.beat("ann", LEAVES)
    (topic,) = client.call(OFFSET_DELETE, 0, delete).topics
    assert topic.partitions[0].error_code == 0
    assert delete_group() == 0


def test_a_crash_of_the_coordinator_leaves_everybody_where_they_were(
    broker: BrokerUnderTest | GivenBroker, connect: Callable[[], RawClient], group: Group
) -> None:
    """Row 75: epochs, partitions and a static member that is away are in the log."""
    group.join("ann")
    group.join("bob", instance_id="static")
    group.settle("ann", "bob")
    had, epochs = dict(group.owned), dict(group.epochs)
    group.beat("bob", GOES_AWAY, instance_id="static")

    broker.restart()
    group.client = connect()
    group.join("eve", instance_id="static")
    group.settle("ann", "eve")

    assert (group.owned["ann"], group.owned["eve"]) == (had["ann"], had["bob"])
    assert group.epochs["ann"] >= epochs["ann"]


def test_administrators_see_what_kind_of_group_it_is(client: RawClient, group: Group) -> None:
    """Row 75."""
    group.join("ann")

    described = group.described()
    (member,) = described.members
    (has,) = member.assignment.topic_partitions
    assert (described.group_state, described.assignor_name) == ("Stable", "uniform")
    assert described.group_epoch == described.assignment_epoch == member.member_epoch
    assert (has.topic_name, sorted(has.partitions)) == (group.topic.name, [0, 1, 2, 3])

    listed = client.call(LIST_GROUPS, 5, messages.ListGroupsRequest(types_filter=["consumer"])).groups
    assert [each.group_type for each in listed if each.group_id == group.name] == ["consumer"]
    asked = messages.DescribeGroupsRequest(groups=[group.name])
    (classic,) = client.call(DESCRIBE_GROUPS, 6, asked).groups
    assert (classic.group_state, classic.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)


def test_a_member_of_the_classic_protocol_is_let_in_and_told_apart(client: RawClient, group: Group) -> None:
    """Row 75: both protocols in one group while it migrates."""
    group.join("ann")
    subscription = bytes.fromhex("0000 00000001") + len(group.topic.name).to_bytes(2)
    metadata = subscription + group.topic.name.encode() + bytes.fromhex("ffffffff")
    join = messages.JoinGroupRequest(
        group_id=group.name,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[messages.JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )
    refused = client.call(JOIN_GROUP, 5, join)
    assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
    join.member_id = refused.member_id

    joined = client.call(JOIN_GROUP, 5, join)

    assert (joined.error_code, joined.protocol_name) == (0, "range")
    assert sorted(each.member_type for each in group.described().members) == [0, 1]
