"""ListConfigResources (key 74), versions 0-1: what has settings.

Version 0 asks for the subscriptions to client metrics, of which there are none. Version 1 names the types
of resources; none named means all. A type that has no settings here is refused as a whole (KIP-1142).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import Resource, ResourceType
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage


def answer(
    broker: Broker, request: messages.ListConfigResourcesRequest, context: Context
) -> messages.ListConfigResourcesResponse:
    """List the resources of the types asked for."""
    types = request.resource_types if context.api_version > 0 else [ResourceType.CLIENT_METRICS]
    if any(kind not in ResourceType.__members__.values() for kind in types):
        return messages.ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return messages.ListConfigResourcesResponse(
        config_resources=[
            messages.ConfigResource(resource_name=resource.name, resource_type=resource.type)
            for resource in resources(broker.cluster.image, types or list(ResourceType))
        ]
    )


def resources(image: MetadataImage, types: Collection[int]) -> list[Resource]:
    """List topics and brokers, and of other types what has settings of its own."""
    found = [Resource(ResourceType.TOPIC, name) for name in image.topics]
    found += [Resource(ResourceType.BROKER, str(broker_id)) for broker_id in image.brokers]
    found += [
        resource
        for resource in image.overrides
        if resource.type not in (ResourceType.TOPIC, ResourceType.BROKER)
    ]
    return [resource for resource in found if resource.type in types]


HANDLER = Handler(api_key=74, min_version=0, max_version=1, answer=answer)
