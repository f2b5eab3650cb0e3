"""DescribeCluster, versions 1 and 2, of a controller, which names controllers. In version 0 nobody can say that this is
what he asks for, and a controller refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.authorized import CLUSTER_OPERATIONS, NOT_ASKED
from barnabas.broker.call import Call
from barnabas.coordination.controller.describe_cluster import CONTROLLERS, describe_cluster
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if not node.image.required_metadata_version.controller_registration:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Controllers are known from metadata.version 3.7-IV0 on.")
    return describe_cluster(
        node.image,
        request,
        call.version,
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        listener=call.connection.listener,
        asked=CONTROLLERS,
        authorized_operations=CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED,
    )


def refused(_call: Call, _request: DescribeClusterRequest, error: KafkaError) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=error.code, error_message=error.message)
