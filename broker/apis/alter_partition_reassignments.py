"""AlterPartitionReassignments, versions 0 and 1: other replicas for a partition, or (null) an end to such a change.

It is answered when the change has begun; ListPartitionReassignments tells when it is over. From version 1 on a client
may say that the number of replicas must stay as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.mutations import check_patience
from barnabas.coordination.controller.reassignments import alter_partition_reassignments
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(
    node: Node, _call: Call, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    if request.topics:
        check_patience(request.timeout_ms)
    return await node.controller.decide(lambda controller, _now_ms: alter_partition_reassignments(controller, request))


def refused(
    _call: Call, request: AlterPartitionReassignmentsRequest, error: KafkaError
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message or None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=one.partition_index, error_code=error.code, error_message=error.message or None
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
