"""Members of groups as the protocol knows them: one connection each, every request by hand.

For what no client library lets itself be asked to do: fall silent, come late, speak for a generation that
is over, or speak an old version. Written with riverlog's own messages, which a test holds to Kafka's.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Iterable, Mapping
from typing import Any

from riverlog.protocol import messages, versions, wire
from riverlog.protocol.error_codes import ErrorCode

from .drivers import DEADLINE_S
from .faults import read_frame

KEYS = {api.name: api.key for api in versions.APIS.values()}
NEWEST = {api.name: api.max_version for api in versions.APIS.values()}


class Connection:
    """Sends requests and reads their answers, in order."""

    def __init__(self, bootstrap: str, client_id: str = "wire") -> None:
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), DEADLINE_S)
        self._client_id = client_id
        self._asked: list[tuple[int, int]] = []

    def close(self) -> None:
        self._socket.close()

    def send(self, request: messages.Message, version: int | None = None) -> None:
        name = type(request).__name__.removesuffix("Request")
        version = NEWEST[name] if version is None else version
        self._asked.append((KEYS[name], version))
        self._socket.sendall(wire.write_request(KEYS[name], version, 7, self._client_id, request))

    def receive(self) -> Any:
        key, version = self._asked.pop(0)
        frame = read_frame(self._socket)
        return wire.read_response(key, version, frame, 0, len(frame))[1]

    def call(self, request: messages.Message, version: int | None = None) -> Any:
        self.send(request, version)
        return self.receive()

    def has_answer(self) -> bool:
        """Whether something can be read right now."""
        return bool(select.select([self._socket], [], [], 0)[0])


def subscription(*topics: str, user_data: bytes = b"") -> bytes:
    """A consumer's subscription, version 0."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", len(user_data)) + user_data


class Member:
    """Somebody who is in a group, or wants to be."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        *,
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] | None = None,
        protocol_type: str = "consumer",
        session_timeout_ms: int = 10_000,
        rebalance_timeout_ms: int = 10_000,
        client_id: str = "wire",
    ) -> None:
        self.connection = Connection(bootstrap, client_id)
        self.group = group
        self.instance_id = instance_id
        self.protocols = dict(protocols or {"range": subscription("t")})
        self.protocol_type = protocol_type
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = ""
        self.generation = -1
        self.protocol: str | None = None
        self.leader = ""
        self.members: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"Member({self.member_id!r}, generation {self.generation})"

    def begin_join(self, version: int = 9) -> None:
        self.connection.send(
            messages.JoinGroupRequest(
                group_id=self.group,
                session_timeout_ms=self.session_timeout_ms,
                rebalance_timeout_ms=self.rebalance_timeout_ms,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                protocol_type=self.protocol_type,
                protocols=[
                    messages.JoinGroupRequestProtocol(name=name, metadata=metadata)
                    for name, metadata in self.protocols.items()
                ],
            ),
            version,
        )

    def finish_join(self) -> messages.JoinGroupResponse:
        response: messages.JoinGroupResponse = self.connection.receive()
        if response.member_id:
            self.member_id = response.member_id
        if not response.error_code:
            self.generation = response.generation_id
            self.protocol = response.protocol_name
            self.leader = response.leader
            self.members = {member.member_id: member.metadata for member in response.members}
        return response

    def get_id(self) -> None:
        """Take the first of the two steps in which dynamic members join."""
        self.begin_join()
        response = self.finish_join()
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED, response

    def join(self, version: int = 9) -> messages.JoinGroupResponse:
        """Join, in two steps if need be, and wait for the generation."""
        self.begin_join(version)
        response = self.finish_join()
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.begin_join(version)
            response = self.finish_join()
        return response

    @property
    def is_leader(self) -> bool:
        return self.member_id == self.leader

    def begin_sync(
        self,
        assignments: Mapping[str, bytes] | None = None,
        version: int = 5,
        *,
        protocol: str | None = None,
        generation: int | None = None,
    ) -> None:
        self.connection.send(
            messages.SyncGroupRequest(
                group_id=self.group,
                generation_id=self.generation if generation is None else generation,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                protocol_type=self.protocol_type,
                protocol_name=protocol or self.protocol,
                assignments=[
                    messages.SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                    for member_id, assignment in (assignments or {}).items()
                ],
            ),
            version,
        )

    def finish_sync(self) -> messages.SyncGroupResponse:
        response: messages.SyncGroupResponse = self.connection.receive()
        return response

    def sync(self, assignments: Mapping[str, bytes] | None = None, **how: Any) -> messages.SyncGroupResponse:
        self.begin_sync(assignments, **how)
        return self.finish_sync()

    def heartbeat(self, generation: int | None = None, connection: Connection | None = None) -> int:
        response: messages.HeartbeatResponse = (connection or self.connection).call(
            messages.HeartbeatRequest(
                group_id=self.group,
                generation_id=self.generation if generation is None else generation,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
            )
        )
        return response.error_code

    def leave(self) -> int:
        response: messages.LeaveGroupResponse = self.connection.call(
            messages.LeaveGroupRequest(
                group_id=self.group,
                members=[
                    messages.MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
                ],
            )
        )
        return response.error_code or response.members[0].error_code

    def commit(
        self,
        topic: str,
        offset: int,
        *,
        partition: int = 0,
        generation: int | None = None,
        version: int = 9,
        metadata: str | None = "",
        connection: Connection | None = None,
    ) -> int:
        return commit(
            connection or self.connection,
            self.group,
            topic,
            offset,
            partition=partition,
            generation=self.generation if generation is None else generation,
            member_id=self.member_id,
            instance_id=self.instance_id,
            version=version,
            metadata=metadata,
        )


def commit(
    connection: Connection,
    group: str,
    topic: str,
    offset: int,
    *,
    partition: int = 0,
    generation: int = -1,
    member_id: str = "",
    instance_id: str | None = None,
    version: int = 9,
    metadata: str | None = "",
    leader_epoch: int = -1,
) -> int:
    """Commit for one partition, by name; gives the error code."""
    response: messages.OffsetCommitResponse = connection.call(
        messages.OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=[
                messages.OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        messages.OffsetCommitRequestPartition(
                            partition_index=partition,
                            committed_offset=offset,
                            committed_leader_epoch=leader_epoch,
                            committed_metadata=metadata,
                        )
                    ],
                )
            ],
        ),
        version,
    )
    return response.topics[0].partitions[0].error_code


def committed(connection: Connection, group: str) -> dict[tuple[str, int], int]:
    """Everything that a group has committed."""
    response: messages.OffsetFetchResponse = connection.call(
        messages.OffsetFetchRequest(groups=[messages.OffsetFetchRequestGroup(group_id=group, topics=None)]), 9
    )
    (answer,) = response.groups
    assert answer.error_code == 0, answer
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in answer.topics
        for partition in topic.partitions
    }


def describe(connection: Connection, group: str) -> messages.DescribeGroupsResponseDescribedGroup:
    response: messages.DescribeGroupsResponse = connection.call(
        messages.DescribeGroupsRequest(groups=[group]), 5
    )
    return response.groups[0]


def join_all(members: Iterable[Member]) -> Member:
    """Let members join, again and again until all are in one generation; gives the leader.

    Who is a member already joins when it is told to.
    """
    members = list(members)
    waiting = [member for member in members if member.generation < 0]
    for member in waiting:
        if member.instance_id is None and not member.member_id:
            member.get_id()
    for member in waiting:
        member.begin_join()
    deadline = time.monotonic() + DEADLINE_S
    while waiting or len({member.generation for member in members}) > 1:
        assert time.monotonic() < deadline, f"{members} are not in one generation"
        for member in members:
            if member not in waiting:
                if member.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS:
                    member.begin_join()
                    waiting.append(member)
            elif member.connection.has_answer():
                response = member.finish_join()
                assert response.error_code == 0, response
                waiting.remove(member)
    (leader,) = [member for member in members if member.is_leader]
    return leader


def settle(*members: Member) -> Member:
    """Let members join together and give each its own id as its assignment; gives the leader."""
    leader = join_all(members)
    assign(members, leader)
    return leader


def assign(members: Iterable[Member], leader: Member) -> None:
    """Let the leader give each member its own id as its assignment."""
    members = list(members)
    leader.begin_sync({member.member_id: member.member_id.encode() for member in members})
    for member in members:
        if member is not leader:
            member.begin_sync()
    for member in members:
        response = member.finish_sync()
        assert response.error_code == 0, response
        assert response.assignment == member.member_id.encode()
