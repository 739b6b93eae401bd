"""JoinGroup (key 11), versions 0-9: become a member of a group, or take part in its next generation.

- Answered when everybody has joined; the connection's later requests wait for that.
- From version 4 on, a dynamic member first gets an id (error 79) and joins with it again.
- From version 9 on, a static member that led the group and comes back is told not to assign.
- Only versions 7 and up can say that there is no protocol; the older ones say "".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.broker.requester import requester
from riverlog.protocol import messages

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

FIRST_VERSION_WITH_NULL_PROTOCOLS = 7


async def answer(
    broker: Broker, request: messages.JoinGroupRequest, context: Context
) -> messages.JoinGroupResponse:
    """Wait for the group's next generation."""
    response = await broker.groups.join(request, context.api_version, requester(context))
    if response.protocol_name is None and context.api_version < FIRST_VERSION_WITH_NULL_PROTOCOLS:
        response.protocol_name = ""
    return response


HANDLER = Handler(api_key=11, min_version=0, max_version=9, answer=answer)
