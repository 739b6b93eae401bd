"""Heartbeat (key 12), versions 0-4: a member is alive; the answer says whether it has to join again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer(
    broker: Broker, request: messages.HeartbeatRequest, _context: Context
) -> messages.HeartbeatResponse:
    """Take the sign of life."""
    return messages.HeartbeatResponse(
        error_code=broker.groups.heartbeat(
            request.group_id, request.generation_id, request.member_id, request.group_instance_id
        )
    )


HANDLER = Handler(api_key=12, min_version=0, max_version=4, answer=answer)
