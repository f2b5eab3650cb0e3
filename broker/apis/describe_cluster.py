"""DescribeCluster, versions 0 to 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.authorized import CLUSTER_OPERATIONS, NOT_ASKED
from barnabas.broker.call import Call
from barnabas.coordination.controller.describe_cluster import describe_cluster
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    answer = describe_cluster(
        node.image,
        request,
        call.version,
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        listener=call.connection.listener,
        authorized_operations=CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED,
    )
    for broker in answer.brokers:
        if broker.broker_id == node.node_id:
            broker.host, broker.port = node.address_for(call.connection)
    return answer
