"""UnregisterBroker, version 0: a broker that will not come back is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.unregister_broker import unregister_broker
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, _call: Call, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    return await node.controller.decide(lambda controller, _now_ms: unregister_broker(controller, request))


def refused(_call: Call, _request: UnregisterBrokerRequest, error: KafkaError) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(error_code=error.code, error_message=error.message or None)
