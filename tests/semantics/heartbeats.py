"""A group that the broker assigns for, and members of it that say just what a test has them say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.process.raw_client import RawClient

from .asking import Topic, eventually

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN_GROUP, DESCRIBE_GROUPS, LIST_GROUPS = 8, 9, 10, 11, 15, 16
OFFSET_DELETE, DELETE_GROUPS, HEARTBEAT, DESCRIBE = 47, 42, 68, 69
JOINS, LEAVES, GOES_AWAY = 0, -1, -2
NOT_READY = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Group:
    """A group, and members of it that speak for themselves."""

    def __init__(self, client: RawClient, name: str, topic: Topic) -> None:
        self.client = client
        self.name = name
        self.topic = topic
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, set[int]] = {}

    def beat(
        self, member: str, epoch: int | None = None, *, owned: Iterable[int] | None = None, **fields: Any
    ) -> Any:
        """Send a heartbeat, in the epoch that the member was told last."""
        if owned is not None:
            partitions = list(owned)
            fields["topic_partitions"] = (
                [
                    messages.ConsumerGroupHeartbeatRequestTopicPartitions(
                        topic_id=self.topic.id, partitions=partitions
                    )
                ]
                if partitions
                else []
            )
        request = messages.ConsumerGroupHeartbeatRequest(
            group_id=self.name,
            member_id=member,
            member_epoch=self.epochs.get(member, 0) if epoch is None else epoch,
            **fields,
        )
        reply = self.client.call(HEARTBEAT, 1, request)
        if not reply.error_code:
            self.epochs[member] = reply.member_epoch
            if reply.assignment is not None:
                self.owned[member] = {
                    index for each in reply.assignment.topic_partitions for index in each.partitions
                }
        return reply

    def join(self, member: str, **fields: Any) -> Any:
        """Join, or join again; waits for the coordinator."""
        how = {
            "owned": (),
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": [self.topic.name],
            **fields,
        }
        replies: list[Any] = []

        def is_answered() -> bool:
            replies.append(self.beat(member, JOINS, **how))
            if replies[-1].error_code not in NOT_READY:
                return True
            # Kafka begins with its coordinators once somebody looks for one.
            self.client.call(
                FIND_COORDINATOR, 4, messages.FindCoordinatorRequest(coordinator_keys=[self.name])
            )
            return False

        eventually(is_answered, f"{self.name} has a coordinator")
        return replies[-1]

    def settle(self, *members: str) -> None:
        """Let members report, as consumers do, until all have their part and it is told to be so."""

        def is_settled() -> bool:
            for member in members:
                assert not self.beat(member, owned=self.owned[member]).error_code
            return self.described().group_state == "Stable"

        eventually(is_settled, f"{self.name} is stable")

    def described(self) -> Any:
        request = messages.ConsumerGroupDescribeRequest(group_ids=[self.name])
        (described,) = self.client.call(DESCRIBE, 1, request).groups
        return described

    def commit(self, member: str, epoch: int, *partitions: int, version: int = 9) -> list[int]:
        request = messages.OffsetCommitRequest(
            group_id=self.name,
            member_id=member,
            generation_id_or_member_epoch=epoch,
            topics=[
                messages.OffsetCommitRequestTopic(
                    name=self.topic.name,
                    topic_id=self.topic.id,
                    partitions=[
                        messages.OffsetCommitRequestPartition(
                            partition_index=index, committed_offset=1, committed_metadata="note"
                        )
                        for index in partitions or (0,)
                    ],
                )
            ],
        )
        (answered,) = self.client.call(OFFSET_COMMIT, version, request).topics
        return [each.error_code for each in answered.partitions]

    def fetch(self, member: str | None, epoch: int) -> Any:
        wanted = messages.OffsetFetchRequestTopics(name=self.topic.name, partition_indexes=[0, 1])
        group = messages.OffsetFetchRequestGroup(
            group_id=self.name, member_id=member, member_epoch=epoch, topics=[wanted]
        )
        (fetched,) = self.client.call(OFFSET_FETCH, 9, messages.OffsetFetchRequest(groups=[group])).groups
        return fetched
