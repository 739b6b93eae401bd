"""DescribeClientQuotas (key 48), versions 0-1: limits set for users, clients and addresses.

A filter names types of entities, each with a name, with "the default" or with "whatever it is". An entity
fits if it has all of them; with `strict`, if it has no others. Filters that mean nothing are
refused as in Kafka, so that a mistake is not taken for an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import ENTITY_TYPES, Refusal
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import QuotaEntity

EXACT, DEFAULT, ANY = 0, 1, 2
IP = "ip"


def answer(
    broker: Broker, request: messages.DescribeClientQuotasRequest, _context: Context
) -> messages.DescribeClientQuotasResponse:
    """Tell the limits of the entities that fit, or why the filter means nothing."""
    refusal = fault(request.components)
    if refusal is not None:
        return messages.DescribeClientQuotasResponse(
            error_code=refusal.error_code, error_message=refusal.message, entries=None
        )
    return messages.DescribeClientQuotasResponse(
        error_message=None,
        entries=[
            messages.DescribeClientQuotasResponseEntryData(
                entity=[
                    messages.DescribeClientQuotasResponseEntityData(entity_type=entity_type, entity_name=name)
                    for entity_type, name in entity
                ],
                values=[messages.ValueData(key=key, value=value) for key, value in sorted(limits.items())],
            )
            for entity, limits in broker.cluster.image.client_quotas.items()
            if fits(entity, request.components, is_strict=request.strict)
        ],
    )


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
        if component.match_type not in (EXACT, DEFAULT, ANY):
            return Refusal(ErrorCode.INVALID_REQUEST, f"{component.match_type} is not a way to match")
        if (component.match is not None) != (component.match_type == EXACT):
            return Refusal(ErrorCode.INVALID_REQUEST, "a name goes with an exact match, and with no other")
        seen.add(entity_type)
    if IP in seen and len(seen) > 1:
        return Refusal(ErrorCode.INVALID_REQUEST, "no entity has both an address and a user or client")
    return None


def fits(entity: QuotaEntity, components: Sequence[messages.ComponentData], *, is_strict: bool) -> bool:
    """Say whether a filter without fault asks for an entity."""
    names = dict(entity)
    if is_strict and len(names) != len(components):
        return False
    return all(
        component.entity_type in names and _matches(component, names[component.entity_type])
        for component in components
    )


def _matches(component: messages.ComponentData, name: str | None) -> bool:
    if component.match_type == EXACT:
        return name == component.match
    return component.match_type == ANY or name is None


HANDLER = Handler(api_key=48, min_version=0, max_version=1, answer=answer)
