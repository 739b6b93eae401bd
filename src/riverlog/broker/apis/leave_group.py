"""LeaveGroup (key 13), versions 0-5: members go without waiting for the end of their sessions.

Versions 0-2 name one member, whose error is the answer's. Later ones name many, each with an error of its
own, and can name a static member by its instance id alone, as administrators do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

FIRST_VERSION_WITH_MANY_MEMBERS = 3


async def answer(
    broker: Broker, request: messages.LeaveGroupRequest, context: Context
) -> messages.LeaveGroupResponse:
    """Let them go."""
    if context.api_version >= FIRST_VERSION_WITH_MANY_MEMBERS:
        return await broker.groups.leave(request)
    request.members = [messages.MemberIdentity(member_id=request.member_id)]
    response = await broker.groups.leave(request)
    error_code = response.error_code or response.members[0].error_code
    return messages.LeaveGroupResponse(error_code=error_code)


HANDLER = Handler(api_key=13, min_version=0, max_version=5, answer=answer)
