"""AlterPartition, versions 2 and 3: a leader says who is in sync with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.alter_partition import alter_partition
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, call: Call, request: AlterPartitionRequest) -> AlterPartitionResponse:
    return await node.controller.decide(lambda controller, _now_ms: alter_partition(controller, request, call.version))


def refused(_call: Call, _request: AlterPartitionRequest, error: KafkaError) -> AlterPartitionResponse:
    return AlterPartitionResponse(error_code=error.code)
