"""AssignReplicasToDirs, version 0: a broker says in which of its directories it has put replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.replica_directories import assign_replicas_to_directories
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, _call: Call, request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse:
    return await node.controller.decide(lambda controller, _now_ms: assign_replicas_to_directories(controller, request))


def refused(_call: Call, _request: AssignReplicasToDirsRequest, error: KafkaError) -> AssignReplicasToDirsResponse:
    return AssignReplicasToDirsResponse(error_code=error.code)
