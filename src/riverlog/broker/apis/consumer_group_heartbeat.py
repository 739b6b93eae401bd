"""ConsumerGroupHeartbeat (key 68), versions 0-1: all that members do in groups that the broker assigns for.

- Epoch 0 joins, -1 leaves, -2 leaves for a while; see `riverlog.groups.consumer.heartbeats`.
- From version 1 on members name themselves, and may read topics by regular expression.
- Where `group.coordinator.rebalance.protocols` leaves this kind of group out, error 35.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.broker.requester import requester
from riverlog.groups import CONSUMER_KIND
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer(
    broker: Broker, request: messages.ConsumerGroupHeartbeatRequest, context: Context
) -> messages.ConsumerGroupHeartbeatResponse | Awaitable[messages.ConsumerGroupHeartbeatResponse]:
    """Take the heartbeat. Most have no news, and are answered without a task of their own."""
    if CONSUMER_KIND not in broker.settings.groups.group_coordinator_rebalance_protocols:
        return messages.ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    answered = broker.groups.consumer_heartbeat(request, context.api_version, requester(context))
    return answered.result() if answered.done() else answered


HANDLER = Handler(api_key=68, min_version=0, max_version=1, answer=answer)
