"""SyncGroup (key 14), versions 0-5: ask for one's assignment; the leader brings everybody's.

Answered when the leader has assigned; the connection's later requests wait for that. From version 5 on
both sides name the protocol, and a member that took part in another one is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

FIRST_VERSION_WITH_PROTOCOLS = 5


async def answer(
    broker: Broker, request: messages.SyncGroupRequest, context: Context
) -> messages.SyncGroupResponse:
    """Wait for the assignment."""
    if context.api_version >= FIRST_VERSION_WITH_PROTOCOLS and None in (
        request.protocol_type,
        request.protocol_name,
    ):
        return messages.SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return await broker.groups.sync(request)


HANDLER = Handler(api_key=14, min_version=0, max_version=5, answer=answer)
