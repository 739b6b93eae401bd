"""IncrementalAlterConfigs (key 44), versions 0-1: edit single settings of topics and brokers.

SET, DELETE, and for lists APPEND and SUBTRACT. All edits of a resource are done or none; each resource is
answered for itself, once, and refused if it is named twice. A change is in force when the answer leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import Edit, EditKind, OverrideEdits, Refusal, Resource, ResourceType
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

AskedResource = messages.IncrementalAlterConfigsRequestAlterConfigsResource


def answer(
    broker: Broker, request: messages.IncrementalAlterConfigsRequest, _context: Context
) -> messages.IncrementalAlterConfigsResponse:
    """Edit the settings, and tell what became of each resource."""
    requests, refusals = read_edits(request.resources)
    outcomes = broker.cluster.change_overrides(requests, validate_only=request.validate_only)
    return messages.IncrementalAlterConfigsResponse(
        responses=[
            messages.IncrementalAlterConfigsResponseAlterConfigsResourceResponse(
                error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.message,
                resource_type=kind,
                resource_name=name,
            )
            for (kind, name), refusal in (*refusals.items(), *outcomes.items())
        ]
    )


def read_edits(
    asked: Iterable[AskedResource],
) -> tuple[list[OverrideEdits], dict[tuple[int, str], Refusal]]:
    """Read the edits of each resource; refuse what the protocol has no meaning for."""
    requests: list[OverrideEdits] = []
    refusals: dict[tuple[int, str], Refusal] = {}
    for each in asked:
        try:
            resource = Resource(ResourceType(each.resource_type), each.resource_name)
            edits = [
                Edit(config.name, EditKind(config.config_operation), config.value) for config in each.configs
            ]
        except ValueError as error:
            refusal = Refusal(ErrorCode.INVALID_REQUEST, f"the request names something unknown: {error}")
            refusals[each.resource_type, each.resource_name] = refusal
        else:
            requests.append(OverrideEdits(resource, edits))
    return requests, refusals


HANDLER = Handler(api_key=44, min_version=0, max_version=1, answer=answer)
