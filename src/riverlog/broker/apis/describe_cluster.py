"""DescribeCluster (key 60), versions 0-2: the brokers, the controller and the cluster's id.

What a client can reach here are brokers. Who asks for controllers, which have addresses of their own in
Apache Kafka, is told that this is the wrong place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.authorized_operations import NOT_ASKED, ON_CLUSTER
from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage

BROKERS, CONTROLLERS = 1, 2


def answer(
    broker: Broker, request: messages.DescribeClusterRequest, context: Context
) -> messages.DescribeClusterResponse:
    """Describe the cluster as seen through the listener that the request came in on."""
    operations = ON_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED
    if request.endpoint_type != BROKERS:
        return wrong_endpoint(request.endpoint_type)
    return describe(broker.cluster.image, context.connection.listener_name, operations)


def describe(image: MetadataImage, listener: str, operations: int) -> messages.DescribeClusterResponse:
    """Tell the brokers that can be reached through a listener, by id."""
    return messages.DescribeClusterResponse(
        endpoint_type=BROKERS,
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        brokers=[
            messages.DescribeClusterBroker(
                broker_id=broker.broker_id,
                host=endpoint.host,
                port=endpoint.port,
                rack=broker.rack,
                is_fenced=False,
            )
            for _, broker in sorted(image.brokers.items())
            if (endpoint := broker.endpoint(listener)) is not None
        ],
        cluster_authorized_operations=operations,
    )


def wrong_endpoint(endpoint_type: int) -> messages.DescribeClusterResponse:
    """Refuse to describe anything but brokers."""
    if endpoint_type == CONTROLLERS:
        code, text = ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a broker's address, not a controller's"
    else:
        code, text = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"there are no endpoints of type {endpoint_type}"
    return messages.DescribeClusterResponse(error_code=code, error_message=text, endpoint_type=BROKERS)


HANDLER = Handler(api_key=60, min_version=0, max_version=2, answer=answer)
