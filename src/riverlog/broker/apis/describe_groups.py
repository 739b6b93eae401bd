"""DescribeGroups (key 15), versions 0-6: a group's state, its members, and what they are assigned.

A group that is not there, or whose assignment the broker decides, is told as "Dead"; from version 6 on with
error 69 as well. What members told of themselves is only shown while the group is stable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.authorized_operations import NOT_ASKED, ON_GROUP
from riverlog.broker.handler import Handler
from riverlog.groups import DEAD
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

FIRST_VERSION_THAT_MISSES_GROUPS = 6


def answer(
    broker: Broker, request: messages.DescribeGroupsRequest, context: Context
) -> messages.DescribeGroupsResponse:
    """Describe each group asked for."""
    operations = ON_GROUP if request.include_authorized_operations else NOT_ASKED
    return messages.DescribeGroupsResponse(
        groups=[_describe(broker, group_id, operations, context.api_version) for group_id in request.groups]
    )


def _describe(
    broker: Broker, group_id: str, operations: int, version: int
) -> messages.DescribeGroupsResponseDescribedGroup:
    described = broker.groups.describe(group_id)
    if described is None:
        if version >= FIRST_VERSION_THAT_MISSES_GROUPS:
            return messages.DescribeGroupsResponseDescribedGroup(
                error_code=ErrorCode.GROUP_ID_NOT_FOUND,
                error_message=f"there is no group {group_id!r}",
                group_id=group_id,
                group_state=DEAD,
            )
        described = messages.DescribeGroupsResponseDescribedGroup(group_id=group_id, group_state=DEAD)
    elif isinstance(described, int):
        return messages.DescribeGroupsResponseDescribedGroup(
            error_code=described, error_message=ErrorCode(described).text, group_id=group_id
        )
    described.authorized_operations = operations
    return described


HANDLER = Handler(api_key=15, min_version=0, max_version=6, answer=answer)
