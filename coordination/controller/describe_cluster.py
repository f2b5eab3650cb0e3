"""DescribeCluster (0-2): the cluster's id, who controls it, and its nodes, as one listener shows them.

A broker lists brokers, a controller controllers; each refuses to speak for the other. To a client a broker names any
broker as the controller, since whoever is asked passes on what is the controller's.
"""

from __future__ import annotations

from barnabas.coordination.cluster.image import ClusterImage
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

__all__ = ["BROKERS", "CONTROLLERS", "describe_cluster"]

BROKERS, CONTROLLERS = 1, 2
"""What DescribeCluster calls endpoint types."""

NO_AUTHORIZED_OPERATIONS = -(2**31)


def describe_cluster(
    image: ClusterImage,
    request: DescribeClusterRequest,
    version: int,
    *,
    cluster_id: str,
    controller_id: int,
    listener: str,
    asked: int = BROKERS,
    authorized_operations: int = NO_AUTHORIZED_OPERATIONS,
) -> DescribeClusterResponse:
    """`listener` is the one that the request came in on; `asked` says as what this node was asked."""
    if request.endpoint_type not in (BROKERS, CONTROLLERS):
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE if version else ErrorCode.INVALID_REQUEST
        return DescribeClusterResponse(
            error_code=code, error_message=f"There is no endpoint type {request.endpoint_type}."
        )
    if request.endpoint_type != asked:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if version else ErrorCode.INVALID_REQUEST
        other = "a controller" if asked == BROKERS else "a broker"
        return DescribeClusterResponse(error_code=code, error_message=f"Ask {other} for that.")
    if asked == BROKERS:
        nodes = _brokers(image, listener, include_fenced=request.include_fenced_brokers)
    else:
        nodes = _controllers(image, listener)
    known = any(node.broker_id == controller_id for node in nodes)
    return DescribeClusterResponse(
        endpoint_type=asked,
        cluster_id=cluster_id,
        controller_id=controller_id if known else -1,
        brokers=nodes,
        cluster_authorized_operations=authorized_operations,
    )


def _brokers(image: ClusterImage, listener: str, *, include_fenced: bool) -> list[DescribeClusterBroker]:
    return [
        DescribeClusterBroker(
            broker_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack, is_fenced=broker.fenced
        )
        for _, broker in sorted(image.brokers.items())
        for endpoint in broker.endpoints
        if endpoint.name == listener and (include_fenced or not broker.fenced)
    ]


def _controllers(image: ClusterImage, listener: str) -> list[DescribeClusterBroker]:
    return [
        DescribeClusterBroker(broker_id=controller.id, host=endpoint.host, port=endpoint.port)
        for _, controller in sorted(image.controllers.items())
        for endpoint in controller.endpoints
        if endpoint.name == listener
    ]
