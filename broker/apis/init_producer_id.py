"""InitProducerId, versions 0 to 6: a number for an idempotent producer.

A producer that has one and asks again keeps nothing: without a transactional id each answer is a new number, epoch 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node

NONE = -1


async def handle(node: Node, _call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id == "":
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a transactional id is empty")
    if request.transactional_id is not None:
        # Its coordinator is where a client goes first, and there is none yet (find_coordinator.py).
        raise KafkaError(ErrorCode.NOT_COORDINATOR, "transactions are not here yet")
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a producer has both an id and an epoch, or neither")
    return InitProducerIdResponse(producer_id=await node.producer_ids.next())


def refused(_call: Call, _request: InitProducerIdRequest, error: KafkaError) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error.code, producer_epoch=-1)
