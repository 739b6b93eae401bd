"""ListPartitionReassignments (key 46), version 0: replicas on the move. Here none ever is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer(
    _broker: Broker, _request: messages.ListPartitionReassignmentsRequest, _context: Context
) -> messages.ListPartitionReassignmentsResponse:
    """List nothing, whatever is asked for: Kafka too leaves out what is not moving, or not there."""
    return messages.ListPartitionReassignmentsResponse(error_message=None)


HANDLER = Handler(api_key=46, min_version=0, max_version=0, answer=answer)
