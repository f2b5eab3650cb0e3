"""AlterConfigs, versions 0 to 2, of a controller: by brokers that pass it on, and by who asks the controller itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.apis.alter_configs import refused as refused
from barnabas.broker.call import Call
from barnabas.coordination.controller.alter_configs import alter_configs
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse:
    return await node.controller.decide(
        lambda controller, _now_ms: alter_configs(controller, request, at_broker=False, forwarded=call.is_forwarded)
    )
