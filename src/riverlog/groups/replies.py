"""The answers of the group APIs: how each says yes, and how each says no.

Every message here has one shape per API, whoever sends it: the request's own decision, a rebalance that
completes long after it, or the shell when the log refuses the records behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.groups.group import Group
    from riverlog.groups.records import CommittedOffset

NO_MEMBER_ID = ""


class FetchedOffset(NamedTuple):
    """What is committed for one partition; None if nothing is."""

    partition: int
    committed: CommittedOffset | None
    error_code: int = ErrorCode.NONE


class CommitReply(NamedTuple):
    """The answer to a commit: an error code for each offset, in the order in which they were given."""

    error_codes: list[int]


class OffsetFetchReply(NamedTuple):
    """The answer to the question what a group has committed, topic by topic."""

    error_code: int
    topics: list[tuple[str, list[FetchedOffset]]]


class OffsetDeleteReply(NamedTuple):
    """The answer to a deletion of offsets: for all of it, or for each partition in the order given."""

    error_code: int
    partition_error_codes: list[int]


class DeleteGroupsReply(NamedTuple):
    """The answer to a deletion of groups, by group id."""

    error_codes: dict[str, int]


def joined(group: Group, member_id: str) -> messages.JoinGroupResponse:
    """Tell a member of the generation it is in; the leader also learns who else is, and with what."""
    is_leader = member_id == group.leader_id
    return messages.JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member_id,
        members=everybody(group) if is_leader else [],
    )


def everybody(group: Group) -> list[messages.JoinGroupResponseMember]:
    """List the members with what they told of themselves, for the leader to assign by."""
    return [
        messages.JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=member.subscription(group.protocol_name),
        )
        for member in group.members.values()
    ]


def not_joined(error_code: int, member_id: str) -> messages.JoinGroupResponse:
    """Refuse a join."""
    return messages.JoinGroupResponse(error_code=error_code, member_id=member_id, protocol_name=None)


def synced(group: Group, assignment: bytes) -> messages.SyncGroupResponse:
    """Give a member its assignment."""
    return messages.SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=assignment
    )


def not_synced(error_code: int) -> messages.SyncGroupResponse:
    """Refuse an assignment."""
    return messages.SyncGroupResponse(error_code=error_code)


def refused_by_log(answer: Any, log_error: int) -> Any:
    """Turn an answer into the error that it becomes because the log did not take its records.

    The errors of a log mean nothing to a group's member: it is told to look for the coordinator again,
    to come back later, or that this can never be stored.
    """
    if isinstance(answer, CommitReply):
        code = _for_members(log_error, too_large=ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
        return CommitReply([other or code for other in answer.error_codes])
    code = _for_members(log_error, too_large=ErrorCode.UNKNOWN_SERVER_ERROR)
    if isinstance(answer, OffsetFetchReply):
        return OffsetFetchReply(code, [])
    if isinstance(answer, OffsetDeleteReply):
        return OffsetDeleteReply(answer.error_code or code, [])
    if isinstance(answer, DeleteGroupsReply):
        return DeleteGroupsReply({group_id: other or code for group_id, other in answer.error_codes.items()})
    if answer.error_code:
        return answer
    if isinstance(answer, messages.JoinGroupResponse):
        return not_joined(code, answer.member_id)
    return type(answer)(error_code=code)


def _for_members(log_error: int, *, too_large: ErrorCode) -> ErrorCode:
    if log_error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR):
        return ErrorCode.NOT_COORDINATOR
    if log_error in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        return too_large
    if log_error in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
    ):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode(log_error)
