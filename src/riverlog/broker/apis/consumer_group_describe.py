"""ConsumerGroupDescribe (key 69), versions 0-1: groups that the broker assigns for, and what members have.

A group that is not there, or is one of the classic protocol, has error 69: clients then ask with
DescribeGroups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.authorized_operations import NOT_ASKED, ON_GROUP
from riverlog.broker.handler import Handler
from riverlog.groups import CONSUMER_KIND
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer(
    broker: Broker, request: messages.ConsumerGroupDescribeRequest, _context: Context
) -> messages.ConsumerGroupDescribeResponse:
    """Describe each group asked for, once."""
    operations = ON_GROUP if request.include_authorized_operations else NOT_ASKED
    return messages.ConsumerGroupDescribeResponse(
        groups=[_describe(broker, group_id, operations) for group_id in dict.fromkeys(request.group_ids)]
    )


def _describe(
    broker: Broker, group_id: str, operations: int
) -> messages.ConsumerGroupDescribeResponseDescribedGroup:
    described: messages.ConsumerGroupDescribeResponseDescribedGroup | int | None
    if CONSUMER_KIND not in broker.settings.groups.group_coordinator_rebalance_protocols:
        described = ErrorCode.UNSUPPORTED_VERSION
    elif not group_id:
        described = ErrorCode.INVALID_GROUP_ID
    else:
        described = broker.groups.describe_consumer_group(group_id)
    if described is None:
        is_absent = broker.groups.describe(group_id) is None
        return messages.ConsumerGroupDescribeResponseDescribedGroup(
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=(
                f"there is no group {group_id!r}" if is_absent else f"{group_id!r} is of the classic protocol"
            ),
            group_id=group_id,
        )
    if isinstance(described, int):
        return messages.ConsumerGroupDescribeResponseDescribedGroup(
            error_code=described, error_message=ErrorCode(described).text, group_id=group_id
        )
    described.authorized_operations = operations
    return described


HANDLER = Handler(api_key=69, min_version=0, max_version=1, answer=answer)
