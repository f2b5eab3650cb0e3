"""ListPartitionReassignments, version 0: partitions whose replicas are changing, of all topics (null) or some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.reassignments import list_partition_reassignments
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(
    node: Node, _call: Call, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    return await node.controller.decide(
        lambda controller, _now_ms: Outcome(reply=list_partition_reassignments(controller, request))
    )


def refused(
    _call: Call, _request: ListPartitionReassignmentsRequest, error: KafkaError
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message or None)
