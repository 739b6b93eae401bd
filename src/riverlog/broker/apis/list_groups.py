"""ListGroups (key 16), versions 0-5: all groups; from 4 on those in some states, from 5 on of some types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.protocol import messages


def answer(
    broker: Broker, request: messages.ListGroupsRequest, _context: Context
) -> messages.ListGroupsResponse:
    """List them."""
    return broker.groups.list_groups(request.states_filter, request.types_filter)


HANDLER = Handler(api_key=16, min_version=0, max_version=5, answer=answer)
