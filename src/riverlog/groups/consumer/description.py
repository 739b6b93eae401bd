"""A group as administrators are told of it: ConsumerGroupDescribe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

from riverlog.protocol import messages

if TYPE_CHECKING:
    from riverlog.groups.consumer.group import ConsumerGroup
    from riverlog.groups.surroundings import Surroundings, Topic


class MemberType(IntEnum):
    """Which protocol a member speaks."""

    CLASSIC = 0
    CONSUMER = 1


def describe(
    group: ConsumerGroup, surroundings: Surroundings
) -> messages.ConsumerGroupDescribeResponseDescribedGroup:
    """Tell all about a group."""
    topics = surroundings.topics.topics_by_id
    assignor = max(group.assignors, key=group.assignors.__getitem__, default=None)
    return messages.ConsumerGroupDescribeResponseDescribedGroup(
        group_id=group.group_id,
        group_state=str(group.state),
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor or surroundings.consumer.group_consumer_assignors[0],
        members=[_member(group, member_id, topics) for member_id in group.members],
    )


def _member(
    group: ConsumerGroup, member_id: str, topics: Mapping[bytes, Topic]
) -> messages.ConsumerGroupDescribeResponseMember:
    member, standing = group.members[member_id], group.standing(member_id)
    has: dict[bytes, list[int]] = {}
    for held in (standing.assigned, standing.revoking):
        for topic_id, epochs in held.items():
            has.setdefault(topic_id, []).extend(epochs)
    return messages.ConsumerGroupDescribeResponseMember(
        member_id=member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=standing.epoch,
        client_id=member.client.client_id,
        client_host=member.client.host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.pattern,
        assignment=_assignment(has, topics),
        target_assignment=_assignment(group.target(member_id), topics),
        member_type=MemberType.CONSUMER if member.classic is None else MemberType.CLASSIC,
    )


def _assignment(
    partitions: Mapping[bytes, Iterable[int]], topics: Mapping[bytes, Topic]
) -> messages.ConsumerGroupDescribeResponseAssignment:
    """Tell partitions, of those topics that still exist."""
    return messages.ConsumerGroupDescribeResponseAssignment(
        topic_partitions=[
            messages.ConsumerGroupDescribeResponseTopicPartitions(
                topic_id=topic_id, topic_name=topics[topic_id].name, partitions=sorted(each)
            )
            for topic_id, each in partitions.items()
            if topic_id in topics
        ]
    )
