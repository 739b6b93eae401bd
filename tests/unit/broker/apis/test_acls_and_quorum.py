"""DescribeAcls, CreateAcls, DeleteAcls without an authorizer, and DescribeQuorum."""

from __future__ import annotations

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import PORT, AskedBroker


@pytest.mark.parametrize("version", [1, 2, 3])
def test_without_an_authorizer_permissions_are_refused_one_by_one(asked: AskedBroker, version: int) -> None:
    acl = messages.AclCreation(
        resource_type=2, resource_name="a", principal="User:alice", host="*", operation=3, permission_type=3
    )
    described = asked.ask(messages.DescribeAclsRequest(), version)
    created = asked.ask(messages.CreateAclsRequest(creations=[acl, acl]), version)
    deleted = asked.ask(messages.DeleteAclsRequest(filters=[messages.DeleteAclsFilter()] * 3), version)

    assert (described.error_code, described.resources) == (ErrorCode.SECURITY_DISABLED, [])
    assert [each.error_code for each in created.results] == [ErrorCode.SECURITY_DISABLED] * 2
    assert [each.error_code for each in deleted.filter_results] == [ErrorCode.SECURITY_DISABLED] * 3


def quorum(asked: AskedBroker, topic: str, index: int, version: int = 2) -> messages.DescribeQuorumResponse:
    partition = messages.DescribeQuorumRequestPartitionData(partition_index=index)
    answer: messages.DescribeQuorumResponse = asked.ask(
        messages.DescribeQuorumRequest(
            topics=[messages.DescribeQuorumRequestTopicData(topic_name=topic, partitions=[partition])]
        ),
        version,
    )
    return answer


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_controller_is_the_one_voter(asked: AskedBroker, version: int) -> None:
    answer = quorum(asked, "__cluster_metadata", 0, version)

    [partition] = answer.topics[0].partitions
    assert (answer.error_code, partition.error_code, partition.leader_id) == (0, 0, 1)
    assert [voter.replica_id for voter in partition.current_voters] == [1]
    assert partition.observers == []


def test_the_controller_is_reached_where_the_broker_is(asked: AskedBroker) -> None:
    [node] = quorum(asked, "__cluster_metadata", 0).nodes

    assert (node.node_id, [(each.name, each.port) for each in node.listeners]) == (1, [("PLAINTEXT", PORT)])


@pytest.mark.parametrize(
    ("topic", "index"), [("orders", 0), ("__cluster_metadata", 1), ("__cluster_metadata", -1)]
)
def test_other_partitions_have_no_quorum(asked: AskedBroker, topic: str, index: int) -> None:
    [partition] = quorum(asked, topic, index).topics[0].partitions

    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
