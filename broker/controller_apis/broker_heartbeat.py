"""BrokerHeartbeat, versions 0 to 2: a broker lives, wants in, or wants to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.heartbeat import heartbeat
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, _call: Call, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
    return await node.controller.decide(lambda controller, now_ms: heartbeat(controller, request, now_ms=now_ms))


def refused(_call: Call, _request: BrokerHeartbeatRequest, error: KafkaError) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(error_code=error.code)
