"""AlterConfigs (key 33), versions 0-2: replace all settings of topics and brokers.

The older request: a resource has afterwards what the request names and nothing else, so two that alter
different settings at once undo each other. IncrementalAlterConfigs replaced it for that reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import OverrideEdits, Refusal, Resource, ResourceType, replacement
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage


def answer(
    broker: Broker, request: messages.AlterConfigsRequest, _context: Context
) -> messages.AlterConfigsResponse:
    """Replace the settings, and tell what became of each resource."""
    requests, refusals = read_replacements(broker.cluster.image, request.resources)
    outcomes = broker.cluster.change_overrides(requests, validate_only=request.validate_only)
    return messages.AlterConfigsResponse(
        responses=[
            messages.AlterConfigsResponseAlterConfigsResourceResponse(
                error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.message,
                resource_type=kind,
                resource_name=name,
            )
            for (kind, name), refusal in (*refusals.items(), *outcomes.items())
        ]
    )


def read_replacements(
    image: MetadataImage, asked: Iterable[messages.AlterConfigsRequestAlterConfigsResource]
) -> tuple[list[OverrideEdits], dict[tuple[int, str], Refusal]]:
    """Read each resource's new settings as edits of those that it has."""
    requests: list[OverrideEdits] = []
    refusals: dict[tuple[int, str], Refusal] = {}
    for each in asked:
        try:
            resource = Resource(ResourceType(each.resource_type), each.resource_name)
        except ValueError:
            refusals[each.resource_type, each.resource_name] = Refusal(
                ErrorCode.INVALID_REQUEST, f"{each.resource_type} is not a type of resource"
            )
        else:
            settings = [(config.name, config.value) for config in each.configs]
            requests.append(replacement(image, resource, settings))
    return requests, refusals


HANDLER = Handler(api_key=33, min_version=0, max_version=2, answer=answer)
