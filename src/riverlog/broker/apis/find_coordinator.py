"""FindCoordinator (key 10), versions 0-6: which broker decides for a group or a transactional id.

- A group's coordinator is the leader of its partition of `__consumer_offsets`, a transactional id's that of
  its partition of `__transaction_state`. These topics are created when somebody asks for the first time.
  They are there, with their logs, when the answer leaves.
- Versions 0-3 ask for one key, later ones for many. Version 0 can only mean a group.
- Brokers are told at the address of the listener that the request came in on.
- Any other type of key (share groups have one) is refused as invalid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

GROUP, TRANSACTION = 0, 1

FIRST_VERSION_WITH_MANY_KEYS = 4

NOWHERE = (-1, "", -1)


def answer(
    broker: Broker, request: messages.FindCoordinatorRequest, context: Context
) -> messages.FindCoordinatorResponse:
    """Name this broker, once it is ready to be the coordinator."""
    error_code = _prepare(broker, request.key_type)
    node_id, host, port = NOWHERE
    if not error_code:
        node = broker.cluster.image.brokers.get(broker.node_id)
        endpoint = node.endpoint(context.connection.listener_name) if node is not None else None
        if endpoint is None:
            error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        else:
            node_id, host, port = broker.node_id, endpoint.host, endpoint.port
    text = ErrorCode(error_code).text if error_code else None
    if context.api_version < FIRST_VERSION_WITH_MANY_KEYS:
        return messages.FindCoordinatorResponse(
            error_code=error_code, error_message=text, node_id=node_id, host=host, port=port
        )
    return messages.FindCoordinatorResponse(
        coordinators=[
            messages.FindCoordinatorResponseCoordinator(
                key=key, node_id=node_id, host=host, port=port, error_code=error_code, error_message=text
            )
            for key in request.coordinator_keys
        ]
    )


def _prepare(broker: Broker, key_type: int) -> int:
    """Make ready to coordinate; gives why that cannot be."""
    if key_type == GROUP:
        return broker.groups.prepare()
    return broker.transactions.prepare() if key_type == TRANSACTION else ErrorCode.INVALID_REQUEST


HANDLER = Handler(api_key=10, min_version=0, max_version=6, answer=answer)
