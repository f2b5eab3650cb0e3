"""AllocateProducerIds, version 0: a broker gets numbers for producers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.producer_ids import allocate_producer_ids
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, _call: Call, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
    return await node.controller.decide(lambda controller, _now_ms: allocate_producer_ids(controller, request))


def refused(_call: Call, _request: AllocateProducerIdsRequest, error: KafkaError) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(error_code=error.code)
