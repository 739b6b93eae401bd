"""DescribeClientQuotas (key 48), versions 0-1: limits set for users, clients and addresses.

None can be set, so no filter matches any. Filters that mean nothing are refused as in Kafka, so that a
mistake is not taken for an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import Refusal
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

ENTITY_TYPES = frozenset({"user", "client-id", "ip"})
EXACT, DEFAULT, SPECIFIED = 0, 1, 2


def answer(
    _broker: Broker, request: messages.DescribeClientQuotasRequest, _context: Context
) -> messages.DescribeClientQuotasResponse:
    """Tell that no limits are set, or why the filter means nothing."""
    refusal = fault(request.components)
    if refusal is not None:
        return messages.DescribeClientQuotasResponse(
            error_code=refusal.error_code, error_message=refusal.message, entries=None
        )
    return messages.DescribeClientQuotasResponse(error_message=None, entries=[])


def fault(components: Iterable[messages.ComponentData]) -> Refusal | None:
    """Say what is wrong with a filter, or None."""
    seen: set[str] = set()
    for component in components:
        entity_type = component.entity_type
        if not entity_type or entity_type in seen:
            return Refusal(
                ErrorCode.INVALID_REQUEST, f"the entity type {entity_type!r} is empty or given twice"
            )
        if entity_type not in ENTITY_TYPES:
            return Refusal(ErrorCode.UNSUPPORTED_VERSION, f"there are no entities of type {entity_type!r}")
        if component.match_type not in (EXACT, DEFAULT, SPECIFIED):
            return Refusal(ErrorCode.INVALID_REQUEST, f"{component.match_type} is not a way to match")
        if (component.match is not None) != (component.match_type == EXACT):
            return Refusal(ErrorCode.INVALID_REQUEST, "a name goes with an exact match, and with no other")
        seen.add(entity_type)
    return None


HANDLER = Handler(api_key=48, min_version=0, max_version=1, answer=answer)
