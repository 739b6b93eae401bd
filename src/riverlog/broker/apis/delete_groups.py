"""DeleteGroups (key 42), versions 0-2: remove groups without members, with all that they have committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


async def answer(
    broker: Broker, request: messages.DeleteGroupsRequest, _context: Context
) -> messages.DeleteGroupsResponse:
    """Delete each group, once."""
    error_codes = await broker.groups.delete_groups(dict.fromkeys(request.groups_names))
    return messages.DeleteGroupsResponse(
        results=[
            messages.DeletableGroupResult(group_id=group_id, error_code=error_code)
            for group_id, error_code in error_codes.items()
        ]
    )


HANDLER = Handler(api_key=42, min_version=0, max_version=2, answer=answer)
